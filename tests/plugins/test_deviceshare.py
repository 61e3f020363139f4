"""Slices of cards: what fits, which card, what is written. Numbers are Volcano's."""

from __future__ import annotations

import json

import pytest

from tests.builders import node, pod, podgroup
from tests.plugins.cardworlds import (
    IDS,
    MIG_CONFIG,
    cards_of,
    config_map,
    placed,
    policy,
    vgpu_node,
    vgpu_pod,
    world,
)
from vcray.api.meta import JsonObject
from vcray.core.session import open_session


@pytest.mark.parametrize(("order", "card"), [("binpack", "n1-0"), ("spread", "n1-0"), ("", "n1-1")])
def test_one_slice_goes_to_the_first_card_of_the_policys_order(order: str, card: str) -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250))
    assert cards_of(given, policy(SchedulePolicy=order)) == {"p": f"{card},NVIDIA,250,0:"}


@pytest.mark.parametrize(("order", "score"), [("binpack", 25.0), ("spread", 0.0), ("", 0.0)])
def test_a_node_scores_its_cards_with_the_pod_on_them(order: str, score: float) -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250))
    session = open_session(given, policy(SchedulePolicy=order, ScheduleWeight=1))
    shape = session.view.shapes[0]
    keys = session.placer.class_of(0, shape).group(False).key
    assert keys[0] >> 40 == score


def test_bindings_tell_the_device_plugin_all_that_it_reads() -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250))
    ids = "n1-1,NVIDIA,250,0:"
    assert placed(given, policy())["p"][1] == {
        "volcano.sh/vgpu-node": "n1",
        "volcano.sh/vgpu-time": "1790000000",
        "volcano.sh/vgpu-ids-new": ids,
        "volcano.sh/devices-to-allocate": ids,
        "volcano.sh/bind-phase": "allocating",
        "volcano.sh/bind-time": "1790000000",
    }


def test_binpack_fills_a_card_and_spread_takes_the_least_shared() -> None:
    given = world(vgpu_node(), *(vgpu_pod(f"p{i}", 250, created=i) for i in range(4)))
    packed = [ids.partition(",")[0] for ids in cards_of(given, policy(SchedulePolicy="binpack")).values()]
    spread = [ids.partition(",")[0] for ids in cards_of(given, policy(SchedulePolicy="spread")).values()]
    assert sorted(packed) == ["n1-0"] * 4
    assert sorted(spread) == ["n1-0", "n1-0", "n1-1", "n1-1"]


def test_a_card_takes_no_more_than_its_memory_cores_and_slots() -> None:
    for pods, fits in (
        ([vgpu_pod(f"p{i}", 400) for i in range(4)], 2),
        ([vgpu_pod(f"p{i}", 1, cores=40) for i in range(4)], 2),
        ([vgpu_pod(f"p{i}", 1) for i in range(14)], 10),
    ):
        assert len(placed(world(vgpu_node(cards=1), *pods), policy())) == fits


def test_all_cores_want_an_empty_card_and_no_cores_want_one_with_some_left() -> None:
    given = world(vgpu_node(cards=1), vgpu_pod("a", 10), vgpu_pod("b", 10, cores=100))
    assert len(placed(given, policy())) == 1
    given = world(
        vgpu_node(cards=1), vgpu_pod("a", 10, cores=60), vgpu_pod("b", 10, cores=40), vgpu_pod("c", 10)
    )
    assert set(placed(given, policy())) == {"a", "b"}


def test_memory_left_out_is_a_whole_card_and_a_percentage_goes_before_an_amount() -> None:
    given = world(vgpu_node(cards=3), vgpu_pod("a", number=1), vgpu_pod("b", 900, 1, percent=20))
    found = cards_of(given, policy())
    assert found["a"].endswith(",NVIDIA,1000,0:")
    assert found["b"].endswith(",NVIDIA,200,0:")


def test_several_containers_get_cards_one_after_the_other() -> None:
    limits = {"volcano.sh/vgpu-number": "2", "volcano.sh/vgpu-memory": "600"}
    containers = [
        {"name": "a", "resources": {"limits": limits}},
        {"name": "none"},
        {"name": "b", "resources": {"limits": {"volcano.sh/vgpu-memory": "300"}}},
    ]
    sidecar = {
        "name": "s",
        "restartPolicy": "Always",
        "resources": {"limits": {"volcano.sh/vgpu-memory": "100"}},
    }
    given = world(
        vgpu_node(cards=2), vgpu_pod("p", spec={"containers": containers, "initContainers": [sidecar]})
    )
    assert cards_of(given, policy()) == {
        "p": "n1-1,NVIDIA,100,0:;n1-1,NVIDIA,600,0:n1-0,NVIDIA,600,0:;n1-1,NVIDIA,300,0:"
    }


def test_type_and_card_rules_of_the_pod_hold() -> None:
    nodes = [vgpu_node("n1", kind="NVIDIA-A30"), vgpu_node("n2", kind="NVIDIA-H100")]
    notes = {"nvidia.com/use-gputype": "a100,h100"}
    assert placed(world(*nodes, vgpu_pod("p", 1, annotations=notes)), policy())["p"][0] == "n2"
    notes = {"nvidia.com/nouse-gputype": "H100"}
    assert placed(world(*nodes, vgpu_pod("p", 1, annotations=notes)), policy())["p"][0] == "n1"
    notes = {"volcano.sh/vgpu-use-gpuuuid": "n2-0"}
    assert cards_of(world(*nodes, vgpu_pod("p", 1, annotations=notes)), policy())["p"].startswith("n2-0,")
    notes = {"volcano.sh/vgpu-nouse-gpuuuid": "n1-0,n1-1,n2-1"}
    assert cards_of(world(*nodes, vgpu_pod("p", 1, annotations=notes)), policy())["p"].startswith("n2-0,")


def test_pods_of_one_group_keep_apart_when_they_say_so() -> None:
    notes = {"volcano.sh/vgpu-podgroup-policy": "spread"}
    pods = [vgpu_pod(f"p{i}", 10, group="g", annotations=notes) for i in range(3)]
    found = cards_of(
        world(vgpu_node(), podgroup("g", 1, phase="Inqueue"), *pods, vgpu_pod("q", 10)), policy()
    )
    assert len({ids for name, ids in found.items() if name != "q"}) == 2
    assert len(found) == 3


def test_pods_of_an_exclusive_rule_share_no_card_and_others_do() -> None:
    rules = [{"app": "serve"}]
    pods = [vgpu_pod(f"p{i}", 10, labels={"app": "serve"}) for i in range(3)]
    found = cards_of(world(vgpu_node(), *pods, vgpu_pod("q", 10)), policy(GPUExclusiveRules=rules))
    assert len(found) == 3
    assert "q" in found


def test_a_pod_that_runs_holds_its_card_whoever_placed_it() -> None:
    notes = {IDS: "n1-0,NVIDIA,700,0:"}
    foreign = vgpu_pod("f", 700, scheduler="other", node="n1", annotations=notes)
    given = world(vgpu_node(cards=1), foreign, vgpu_pod("p", 400), vgpu_pod("q", 300))
    assert set(placed(given, policy())) == {"q"}


def test_what_pods_say_of_themselves_gives_nobody_more_room() -> None:
    for ids in (
        "n1-0,NVIDIA,-900,-50:",
        "n1-0,NVIDIA",
        ";;:",
        "n1-0[group9-99],NVIDIA,x,y:",
        "other,NVIDIA,1,1:",
    ):
        odd = vgpu_pod("r", 1, node="n1", annotations={IDS: ids})
        assert (
            len(placed(world(vgpu_node(cards=1), odd, vgpu_pod("p", 700), vgpu_pod("q", 700)), policy())) == 1
        )


def test_a_node_whose_device_plugin_is_gone_takes_nobody() -> None:
    bare = vgpu_node()
    bare["status"]["allocatable"]["volcano.sh/vgpu-cores"] = "0"  # type: ignore[index,call-overload]
    assert placed(world(bare, vgpu_pod("p", 10)), policy()) == {}


# ---- partitioned cards ----


def mig_node(name: str = "n1", cards: int = 1, **more: object) -> JsonObject:
    return vgpu_node(name, cards, 81920, "NVIDIA-A100-SXM4-80GB", "mig", **more)  # type: ignore[arg-type]


def test_the_smallest_instance_of_the_first_geometry_that_fits_is_taken() -> None:
    given = world(config_map(MIG_CONFIG), mig_node(), vgpu_pod("a", 8000), vgpu_pod("b", 15000))
    assert cards_of(given, policy()) == {"a": "n1-0[group1-0],NVIDIA,8000,0:"}
    given = world(config_map(MIG_CONFIG), mig_node(), vgpu_pod("b", 15000), vgpu_pod("c", 9000))
    assert cards_of(given, policy()) == {
        "b": "n1-0[group2-0],NVIDIA,15000,0:",
        "c": "n1-0[group2-3],NVIDIA,9000,0:",
    }


def test_a_card_without_pods_takes_any_geometry_that_can_still_be_made() -> None:
    given = world(config_map(MIG_CONFIG), mig_node(cards=2), vgpu_pod("a", 8000), vgpu_pod("b", 60000))
    assert cards_of(given, policy()) == {
        "a": "n1-1[group1-0],NVIDIA,8000,0:",
        "b": "n1-0[group3-0],NVIDIA,60000,0:",
    }


def test_the_geometry_of_a_card_is_that_of_the_pods_on_it() -> None:
    held = vgpu_pod("r", 15000, node="n1", annotations={IDS: "n1-0[group2-1],NVIDIA,15000,0:"})
    pods = [vgpu_pod(f"p{i}", 15000, created=i) for i in range(3)]
    found = cards_of(world(config_map(MIG_CONFIG), mig_node(), held, *pods), policy())
    assert sorted(found.values()) == ["n1-0[group2-0],NVIDIA,15000,0:", "n1-0[group2-2],NVIDIA,15000,0:"]


def test_a_pod_that_wants_partitions_stays_off_other_cards_and_the_reverse() -> None:
    nodes = [vgpu_node("n2"), mig_node()]
    for mode, wanted in (("mig", "n1"), ("hami-core", "n2")):
        notes = {"volcano.sh/vgpu-mode": mode}
        given = world(config_map(MIG_CONFIG), *nodes, vgpu_pod("p", 500, annotations=notes))
        assert placed(given, policy())["p"][0] == wanted


def test_cards_whose_geometry_nobody_told_are_shared_like_all_others() -> None:
    assert cards_of(world(mig_node(), vgpu_pod("a", 8000)), policy()) == {"a": "n1-0,NVIDIA,8000,0:"}


# ---- links ----


def test_cards_that_are_joined_go_together() -> None:
    scores = [
        {
            "uuid": f"n1-{i}",
            "score": {f"n1-{j}": "100" if {i, j} in ({0, 2}, {1, 3}) else "10" for j in range(4)},
        }
        for i in range(4)
    ]
    notes = {"hami.io/node-nvidia-score": json.dumps(scores)}
    given = world(vgpu_node(cards=4, notes=notes), vgpu_pod("p", 10, 2))
    assert cards_of(given, policy())["p"] in (
        "n1-3,NVIDIA,10,0:n1-1,NVIDIA,10,0:",
        "n1-2,NVIDIA,10,0:n1-0,NVIDIA,10,0:",
    )


def test_pods_with_several_whole_gpus_prefer_nodes_that_join_theirs() -> None:
    labels = [
        {"nvidia.com/gpu.product": "NVIDIA-A100-PCIE-40GB"},
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "feature.node.kubernetes.io/memory-numa": "true"},
        {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
    ]
    nodes = [node(f"n{i}", gpu=8, labels=each) for i, each in enumerate(labels)]
    session = open_session(world(*nodes, pod("p", group="p", gpu=4)), policy())
    (preference,) = session.placer.class_of(0, session.view.shapes[0]).preferences
    names = session.view.snapshot.nodes.names
    assert dict(zip(names, preference.raw.tolist(), strict=True)) == {"n0": 1, "n1": 2, "n2": 3}
    assert placed(session.view.snapshot, policy())["p"][0] == "n2"
    single = open_session(world(*nodes, pod("p", group="p", gpu=1)), policy())
    assert list(single.placer.class_of(0, single.view.shapes[0]).preferences) == []


# ---- MIG profiles by name ----


def profile_pod(name: str, profile: str, count: int = 1, created: int = 0) -> JsonObject:
    return pod(name, group=name, resources={f"nvidia.com/mig-{profile}": count}, created=created)


def test_a_profile_asked_for_by_name_is_made_where_the_geometry_still_can() -> None:
    given = world(
        config_map(MIG_CONFIG), mig_node(), profile_pod("a", "2g.20gb", 2), profile_pod("b", "1g.10gb", 1, 1)
    )
    assert cards_of(given, policy()) == {
        "a": "n1-0[group2-0],NVIDIA,20480,0:n1-0[group2-1],NVIDIA,20480,0:",
        "b": "n1-0[group2-3],NVIDIA,10240,0:",
    }


def test_a_profile_that_the_cards_geometry_cannot_make_any_more_is_refused() -> None:
    held = vgpu_pod("r", 15000, node="n1", annotations={IDS: "n1-0[group2-1],NVIDIA,15000,0:"})
    given = world(config_map(MIG_CONFIG), mig_node(), held, profile_pod("a", "7g.80gb"))
    assert cards_of(given, policy()) == {}
    given = world(config_map(MIG_CONFIG), mig_node(), held, profile_pod("a", "1g.10gb"))
    assert cards_of(given, policy()) == {"a": "n1-0[group2-3],NVIDIA,10240,0:"}


def test_a_profile_that_a_node_lists_is_its_own_device_plugins_business() -> None:
    listed = node("n2", resources={"nvidia.com/mig-1g.10gb": 1})
    given = world(config_map(MIG_CONFIG), listed, profile_pod("a", "1g.10gb"), profile_pod("b", "1g.10gb"))
    found = placed(given, policy())
    assert list(found.values()) == [("n2", {})]


# ---- unhealthy cards ----


def test_an_unhealthy_card_is_given_to_nobody() -> None:
    given = world(vgpu_node(ill={1}), vgpu_pod("p", 250))
    assert cards_of(given, policy()) == {"p": "n1-0,NVIDIA,250,0:"}
    assert cards_of(world(vgpu_node(ill={0, 1}), vgpu_pod("p", 250)), policy()) == {}
    assert cards_of(world(vgpu_node(ill={1}), vgpu_pod("p", 250, 2)), policy()) == {}


def test_who_is_on_a_card_that_falls_ill_keeps_it_in_the_ledger() -> None:
    held = vgpu_pod("r", 250, node="n1", annotations={IDS: "n1-1,NVIDIA,250,0:"})
    session = open_session(world(vgpu_node(ill={1}), held), policy())
    (figures,) = session.chains.cards
    assert [(card.card, card.memory) for card in figures(session.view)["n1"]] == [("n1-0", 0), ("n1-1", 250)]


def test_an_unhealthy_card_makes_no_instance_of_a_profile() -> None:
    given = world(config_map(MIG_CONFIG), mig_node(ill={0}), profile_pod("a", "1g.10gb"))
    assert cards_of(given, policy()) == {}


# ---- the lock of a node ----


def test_with_the_lock_a_node_hands_cards_to_one_group_at_a_time() -> None:
    pods = [
        vgpu_pod("a", 10),
        vgpu_pod("b", 10),
        vgpu_pod("g-0", 10, group="g"),
        vgpu_pod("g-1", 10, group="g"),
    ]
    group = podgroup("g", 2, created=-1)
    assert len(placed(world(vgpu_node(), group, *pods), policy())) == 4
    locked = placed(world(vgpu_node(), group, *pods), policy(VGPUEnable=True, NodeLockEnable=True))
    assert set(locked) == {"g-0", "g-1"}


def test_a_lock_ends_when_the_device_plugin_says_so_or_after_five_minutes() -> None:
    for phase, ago, taken in (("allocating", 10, False), ("success", 10, True), ("allocating", 301, True)):
        notes = {
            IDS: "n1-0,NVIDIA,10,0:",
            "volcano.sh/bind-phase": phase,
            "volcano.sh/bind-time": str(1_790_000_000 - ago),
        }
        given = world(vgpu_node(), vgpu_pod("r", 10, node="n1", annotations=notes), vgpu_pod("p", 10))
        assert bool(placed(given, policy(VGPUEnable=True, NodeLockEnable=True))) is taken
        assert placed(given, policy())


def test_a_node_that_could_not_give_cards_now_says_why() -> None:
    leaving = vgpu_pod("r", 900, node="n1", annotations={IDS: "n1-0,NVIDIA,900,0:"}, deleting=True)
    given = world(vgpu_node(cards=1), leaving, vgpu_pod("p", 100), vgpu_pod("q", 100), vgpu_pod("s", 100))
    session = open_session(given, policy(VGPUEnable=True, NodeLockEnable=True))
    tasks = session.view.snapshot.tasks
    row = tasks.names.index("default/p")
    job, shape = int(tasks.job[row]), session.view.shapes[int(tasks.shape[row])]
    assert session.placer.place(job, shape, [row]) == 1
    other = tasks.names.index("default/q")
    assert session.placer.place(int(tasks.job[other]), shape, [other]) == 0
    assert "1 node is locked while cards are handed over to another pod" in session.placer.explain(job, shape)
