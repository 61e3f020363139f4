"""Device configurations, holders of cards and layouts of cpus as the cache tells them."""

from __future__ import annotations

import pytest

from tests.plugins.cardworlds import IDS, MIG_CONFIG, config_map, placed, policy, vgpu_node, vgpu_pod, world
from tests.plugins.test_numa_aware import pinned, topology
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.details.cards import parse
from vcray.cache.store import Event
from vcray.core.cards import ASCEND_310P, DeviceConfig
from vcray.core.decisions import Bind, Commit
from vcray.core.recording import dump, load


def test_a_device_configuration_keeps_volcanos_defaults_for_what_it_does_not_say() -> None:
    config = parse(MIG_CONFIG)
    assert (config.vgpu.count, config.vgpu.percentage) == (
        "volcano.sh/vgpu-number",
        "volcano.sh/vgpu-memory-percentage",
    )
    assert [group.name for group in config.vgpu.geometries[0].groups] == ["group1", "group2", "group3"]
    assert config.chips == ()
    assert DeviceConfig().chips == (ASCEND_310P,)


def test_chips_are_read_as_a_list_and_in_hamis_wrapper() -> None:
    listed = parse(
        "vnpus: [{chipName: a, commonWord: A, templates: [{name: t2, memory: 2}, {name: t1, memory: 1}]}]"
    )
    wrapped = parse("vnpus: {hamiVnpuCore: true, configs: [{chipName: a, commonWord: A}]}")
    assert [template.name for template in listed.chips[0].templates] == ["t1", "t2"]
    assert (listed.soft_split, wrapped.soft_split, wrapped.chips[0].word) == (False, True, "A")


@pytest.mark.parametrize("text", ["- a", "a: [", "7"])
def test_a_configuration_that_cannot_be_read_is_refused_and_the_last_one_stays(text: str) -> None:
    cache = ClusterCache()
    cache.apply([Event("ADDED", "ConfigMap", config_map(MIG_CONFIG))])
    cache.apply([Event("MODIFIED", "ConfigMap", config_map(text))])
    table = cache.snapshot().details.cards
    assert table is not None
    assert table.config("kube-system", "volcano-vgpu-device-config") == parse(MIG_CONFIG)
    assert [kind for kind, _, _ in cache.merge.refused] == ["ConfigMap"]


def test_other_config_maps_leave_no_table() -> None:
    cache = ClusterCache()
    other = config_map("")
    other["data"] = {"x": "y"}
    cache.apply([Event("ADDED", "ConfigMap", other)])
    assert cache.snapshot().details.cards is None


def test_pods_that_hold_cards_are_told_whoever_placed_them() -> None:
    notes = {IDS: "n1-0,NVIDIA,10,0:"}
    given = world(
        vgpu_node(),
        vgpu_pod("f", 10, scheduler="other", node="n1", annotations=notes),
        vgpu_pod("t", 10, node="n1", annotations=notes, deleting=True),
        vgpu_pod("done", 10, node="n1", annotations=notes, phase="Succeeded"),
        vgpu_pod("waits", 10, annotations=notes),
        vgpu_pod("plain", 10, node="n1"),
    )
    assert [(each.pod, each.node, each.leaving) for each in given.details.holders or ()] == [
        ("default/f", "n1", False),
        ("default/t", "n1", True),
    ]


def test_a_binding_on_its_way_holds_its_cards_until_it_is_refused() -> None:
    cache = ClusterCache()
    for item in (vgpu_node(), vgpu_pod("p", 10)):
        cache.apply([Event("ADDED", str(item["kind"]), item)])
    uid = "uid-pod-default-p"
    notes = ((IDS, "n1-1,NVIDIA,10,0:"), ("volcano.sh/vgpu-time", "1"))
    cache.merge.assume([Commit("default/p", (Bind("default/p", uid, "n1", notes),), False)], 1.0)
    (holder,) = cache.snapshot().details.holders or ()
    assert dict(holder.notes)[IDS] == "n1-1,NVIDIA,10,0:"
    assert "volcano.sh/vgpu-time" not in dict(holder.notes)
    cache.merge.forget([uid])
    assert cache.snapshot().details.holders is None


def test_snapshots_with_cards_and_cpus_are_the_same_from_a_recording_and_from_other_shards() -> None:
    objects = [
        config_map(MIG_CONFIG),
        vgpu_node(version=1),
        topology("n1"),
        vgpu_pod("r", 10, node="n1", annotations={IDS: "n1-0,NVIDIA,10,0:"}, version=2),
        pinned("q", "4", on="n1", **{"vcray.io/pinned-cpus": "0-3"}),
        vgpu_pod("p", 10, version=3),
    ]
    objects[4]["metadata"]["resourceVersion"] = "4"  # type: ignore[index,call-overload]
    seen = []
    for pools in (1, 3):
        cache = ClusterCache(pools=pools)
        cache.apply(Event("ADDED", str(item["kind"]), item) for item in objects)
        seen.append(cache.snapshot(1.0, 7))
    assert canonical(seen[0]) == canonical(seen[1])
    assert load(dump(seen[0])).details == seen[0].details
    assert placed(load(dump(seen[0])), policy()) == placed(seen[0], policy())


def test_a_layout_that_cannot_be_read_is_refused() -> None:
    cache = ClusterCache()
    odd = topology("n2")
    odd["spec"]["cpuDetail"]["-1"] = {"numa": 0, "socket": 0, "core": 0}  # type: ignore[index,call-overload]
    cache.apply([Event("ADDED", "Numatopology", each) for each in (topology("n1", free="3-1"), odd)])
    assert cache.snapshot().details.numa is None
    assert [kind for kind, _, _ in cache.merge.refused] == ["Numatopology"] * 2
