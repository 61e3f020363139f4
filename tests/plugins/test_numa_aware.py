"""Cpus of NUMA nodes: what the kubelet's managers would do, and how nodes score by it."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.numa import CpuPlace, cpu_set, cpu_text
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.plugins.gang import Gang
from vcray.plugins.numa_aware import NumaAware
from vcray.plugins.numa_aware.layout import Layout
from vcray.plugins.numa_aware.policies import admit, best_hint

POLICY = policy_of([Allocate({})], [[(Gang, {}), (NumaAware, {})]])
DECISION, PINNED = "volcano.sh/topology-decision", "vcray.io/pinned-cpus"


def places(numas: int = 2, cores: int = 4, threads: int = 2) -> tuple[CpuPlace, ...]:
    """`cores` cores on each NUMA node (a socket each); the second threads come after all first ones."""
    count = numas * cores
    return tuple(
        CpuPlace(core + count * thread, core // cores, core // cores, core)
        for thread in range(threads)
        for core in range(count)
    )


def topology(
    name: str,
    free: str = "0-15",
    rule: str = "single-numa-node",
    manager: str = "static",
    reserved: str = "0",
) -> JsonObject:
    return {
        "kind": "Numatopology",
        "metadata": {"name": name},
        "spec": {
            "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": rule},
            "numares": {"cpu": {"allocatable": free, "capacity": 16}},
            "resReserved": {"cpu": reserved},
            "cpuDetail": {
                str(place.cpu): {"numa": place.numa, "socket": place.socket, "core": place.core}
                for place in places()
            },
        },
    }


def pinned(
    name: str, *cpus: str, policy: str | None = "single-numa-node", on: str | None = None, **more: object
) -> JsonObject:
    """A Guaranteed pod with a container for each number of cpus."""
    containers = [
        {
            "name": f"c{i}",
            "resources": {part: {"cpu": count, "memory": "1Gi"} for part in ("limits", "requests")},
        }
        for i, count in enumerate(cpus)
    ]
    notes = {**({} if policy is None else {"volcano.sh/numa-topology-policy": policy}), **more}
    return pod(name, group=name, annotations=notes, node=on, spec={"containers": containers})  # type: ignore[arg-type]


def world(*objects: JsonObject) -> Snapshot:
    groups = [
        podgroup(item["metadata"]["name"], 1, created=i)  # type: ignore[index,call-overload,arg-type]
        for i, item in enumerate(objects)
        if item["kind"] == "Pod"
    ]
    return snapshot_of([*objects, *groups, queue("default")], 1.0, 7)


def bound(snapshot: Snapshot) -> dict[str, tuple[str, dict[str, str]]]:
    return {
        bind.task.partition("/")[2]: (bind.node, dict(bind.notes))
        for commit in decide(snapshot, POLICY).commits
        for bind in commit.binds
    }


def test_cpusets_read_back_as_they_were() -> None:
    for text in ("", "0", "0-3,8", "1-8,21-28", "127"):
        assert cpu_text(cpu_set(text)) == text
    with pytest.raises(ValueError, match="no range"):
        cpu_set("3-1")


def test_whole_sockets_go_first_then_whole_cores_then_single_cpus() -> None:
    layout = Layout(places())
    everything = layout.all
    assert layout.take(everything, 8, everything) == cpu_set("0-3,8-11")
    assert layout.take(everything, 9, everything) == cpu_set("0-4,8-11")
    assert layout.take(everything, 2, everything) == cpu_set("0,8")
    assert layout.take(cpu_set("1-3,8-11"), 3, everything) == cpu_set("1,8-9")
    assert layout.take(cpu_set("1-3"), 4, everything) is None


def test_cpus_inside_the_hint_go_first() -> None:
    layout = Layout(places())
    assert layout.take(layout.all, 2, layout.numas[1]) == cpu_set("4,12")
    assert layout.take(cpu_set("0-3,4"), 3, layout.numas[1]) == cpu_set("0-1,4")


@pytest.mark.parametrize(
    ("policy", "count", "admitted"),
    [
        ("single-numa-node", 8, True), ("single-numa-node", 9, False),
        ("restricted", 9, True), ("best-effort", 9, True), ("best-effort", 17, False),
    ],
)  # fmt: skip
def test_a_policy_admits_what_its_numa_nodes_can_hold(policy: str, count: int, admitted: bool) -> None:
    layout = Layout(places())
    assert (admit(layout, policy, layout.all, [count * 1000]) is not None) is admitted


def test_restricted_refuses_what_one_node_could_hold_but_does_not_now() -> None:
    layout, free = Layout(places()), cpu_set("0-1,4-5,8-9,12-13")
    assert best_hint(layout, "restricted", free, 6) == (False, layout.all)
    assert admit(layout, "restricted", free, [6000]) is None
    assert admit(layout, "best-effort", free, [6000]) is not None
    assert admit(layout, "none", free, [6000]) is not None


def test_containers_take_their_cpus_one_after_the_other_and_parts_of_cpus_none() -> None:
    layout = Layout(places())
    assert admit(layout, "single-numa-node", layout.all, [6000, 2500, 6000]) == cpu_set("0-2,4-6,8-10,12-14")
    assert admit(layout, "single-numa-node", layout.all, [6000, 4000, 6000]) is None


def test_a_pod_goes_to_the_numa_node_that_has_room_and_says_so() -> None:
    given = world(node("n1", cpu=16), topology("n1", "0,4-7,12-15"), pinned("p", "6"))
    assert bound(given)["p"] == ("n1", {DECISION: '{"numa":{"1":{"cpu":"6"}}}', PINNED: "4-6,12-14"})


def test_cpus_that_were_given_count_until_the_exporter_lists_the_pod() -> None:
    running = pinned("r", "6", on="n1", **{PINNED: "4-6,12-14"})
    free = topology("n1", "0,4-7,12-15")
    assert bound(world(node("n1", cpu=16), free, running, pinned("p", "3"))) == {}
    free["spec"]["podAllocations"] = [  # type: ignore[index,call-overload]
        {
            "namespace": "default",
            "name": "r",
            "containerAllocations": [{"name": "c0", "allocations": {"cpu": "0-3,8-9"}}],
        }
    ]
    assert set(bound(world(node("n1", cpu=16), free, running, pinned("p", "3")))) == {"p"}


def test_reserved_cpus_are_for_nobody() -> None:
    given = world(node("n1", cpu=16), topology("n1", reserved="500m"), pinned("p", "8"))
    assert bound(given)["p"][1][PINNED] == "4-7,12-15"
    given = world(node("n1", cpu=16), topology("n1", "0-3,8-11", reserved="500m"), pinned("p", "8"))
    assert bound(given) == {}


def test_a_pod_with_a_policy_needs_a_static_manager_with_that_policy() -> None:
    nodes = [node(f"n{i}", cpu=16) for i in range(1, 5)]
    layouts = [topology("n1", rule="restricted"), topology("n2", manager="none"), topology("n3", free="")]
    assert bound(world(*nodes, *layouts, pinned("p", "2"))) == {}
    assert bound(world(*nodes, *layouts, topology("n4"), pinned("p", "2")))["p"][0] == "n4"


def test_a_pod_without_a_policy_is_simulated_under_the_nodes() -> None:
    given = world(node("n1", cpu=16), topology("n1"), pinned("p", "9", policy=None))
    assert bound(given) == {}
    given = world(node("n1", cpu=16), topology("n1", rule="none"), pinned("p", "9", policy=None))
    assert bound(given)["p"] == ("n1", {})


def test_burstable_pods_are_not_looked_at() -> None:
    loose = pod("p", group="p", cpu=9, annotations={"volcano.sh/numa-topology-policy": "single-numa-node"})
    assert bound(world(node("n1", cpu=16), topology("n1", free="0-3"), loose))["p"][0] == "n1"


def test_fewer_numa_nodes_score_higher_against_the_most_of_any_candidate() -> None:
    objects = [
        node("n1", cpu=16), topology("n1", "0-3,8-11", rule="best-effort"),
        node("n2", cpu=16), topology("n2", "0-1,4-5", rule="best-effort"),
        pinned("p", "4", policy="best-effort"), podgroup("p", 1),
    ]  # fmt: skip
    seen = World(*objects)
    plugin = seen.plugin(NumaAware)
    everywhere = seen.all_rows().index == seen.all_rows().index
    (term,) = plugin.domain_terms(seen.view, seen.shape("p"), everywhere)
    assert seen.by_node(term.raw) == {"n1": 1, "n2": 2}
    assert term.scale.value == "reversed max"
    assert bound(world(*objects[:5]))["p"][0] == "n1"


def test_an_evicted_pods_cpus_are_free_for_a_promise_and_come_back_with_a_rollback() -> None:
    running = pinned("r", "8", on="n1", **{PINNED: "0-3,8-11"})
    seen = World(
        node("n1", cpu=16),
        topology("n1", "4-7,12-13"),
        running,
        pinned("p", "8"),
        podgroup("p"),
        podgroup("r"),
    )
    plugin = seen.plugin(NumaAware)
    here, p, r = seen.node("n1"), seen.task("p"), seen.task("r")
    assert (
        plugin.reserve(seen.view, p, here, True)
        == "node(s) could not give the cpus that the topology policy wants"
    )
    undo = plugin.release(seen.view, r, here)
    assert isinstance(plugin.reserve(seen.view, p, here, False), str)
    promise = plugin.reserve(seen.view, p, here, True)
    assert not isinstance(promise, str)
    promise()
    undo()
    assert isinstance(plugin.reserve(seen.view, p, here, True), str)


def test_cpus_that_no_detail_tells_of_are_nobodys() -> None:
    given = world(node("n1", cpu=32), topology("n1", "0-2,16-31"), pinned("p", "4", policy=None))
    assert bound(given) == {}
