"""overcommit: how much of the cluster may be promised before pods exist, and to whom it counts."""

from __future__ import annotations

from tests.builders import node, pod, podgroup, priority_class
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.core.hooks import Vote
from vcray.plugins.overcommit import Overcommit


def group(name: str, cpu: str, phase: str = "Inqueue", **facts: object) -> JsonObject:
    return podgroup(name, 1, phase=phase, min_resources={"cpu": cpu}, **facts)  # type: ignore[arg-type]


def vote(world: World, name: str = "new", factor: float = 1.2) -> Vote:
    plugin = world.plugin(Overcommit, {"overcommit-factor": factor})
    return plugin.job_enqueueable(world.view, world.job(name)).vote


def busy(minimum: str) -> World:
    """10 cpu, 6 in use, 4 let in."""
    return World(
        node("n1", cpu=10),
        pod("there", node="n1", cpu=6),
        group("waiting", "4"),
        group("new", minimum, phase="Pending"),
    )


def test_the_budget_is_the_cluster_times_the_factor() -> None:
    assert vote(busy("2")) is Vote.PERMIT
    assert vote(busy("2001m")) is Vote.REJECT
    assert vote(busy("1"), factor=1.0) is Vote.REJECT
    assert vote(busy("2001m"), factor=2.0) is Vote.PERMIT
    assert vote(busy("2"), factor=0.5) is Vote.PERMIT, "a factor below 1 counts as 1.2"


def test_a_refusal_names_the_resources() -> None:
    world = World(
        node("n1", cpu=1, memory=1),
        podgroup("new", 1, phase="Pending", min_resources={"memory": "9Gi", "cpu": "9", "pods": "999"}),
    )
    answer = world.plugin(Overcommit).job_enqueueable(world.view, world.job("new"))
    assert answer.message == "resource in cluster is overused: overused cpu, overused memory"


def test_a_group_without_minimum_is_always_let_in() -> None:
    world = World(node("n1", cpu=1), podgroup("new", 9, phase="Pending"))
    assert vote(world) is Vote.PERMIT


def test_groups_let_in_earlier_in_the_session_hold_their_minimum() -> None:
    world = World(node("n1", cpu=10), group("a", "8", phase="Pending"), group("b", "8", phase="Pending"))
    plugin = world.plugin(Overcommit)
    assert plugin.job_enqueueable(world.view, world.job("b")).vote is Vote.PERMIT
    plugin.job_enqueued(world.view, world.job("a"))
    assert plugin.job_enqueueable(world.view, world.job("b")).vote is Vote.REJECT


def test_completed_groups_hold_nothing() -> None:
    done = [group(f"done{i}", "3", phase="Completed") for i in range(4)]
    assert vote(World(node("n1", cpu=4), done, group("new", "4", phase="Pending"))) is Vote.PERMIT


def test_a_started_group_holds_what_it_has_not_placed() -> None:
    world = World(
        node("n1", cpu=10),
        group("run", "8", phase="Running"),
        pod("r0", group="run", cpu=2, node="n1"),
        group("new", "5", phase="Pending"),
    )
    assert vote(world) is Vote.REJECT, "12 - 2 in use - 6 unplaced leaves 4"


def test_a_group_of_lower_priority_holds_nothing_against_a_higher_one() -> None:
    world = World(
        node("n1", cpu=10),
        priority_class("high", 100),
        priority_class("low", 1),
        group("crowd", "12", priority_class="low"),
        group("new", "12", phase="Pending", priority_class="high"),
        group("late", "12", phase="Pending", priority_class="low"),
    )
    assert vote(world) is Vote.PERMIT
    assert vote(world, "late") is Vote.REJECT


def test_a_crowd_that_waits_for_one_pool_holds_no_more_than_that_pool() -> None:
    crowd = [
        part
        for i in range(50)
        for part in (
            group(f"c{i}", "1"),
            pod(f"c{i}", group=f"c{i}", cpu=1, spec={"nodeSelector": {"pool": "a"}}),
        )
    ]
    world = World(
        node("n1", cpu=10, labels={"pool": "a"}),
        node("n2", cpu=10, labels={"pool": "b"}),
        pod("full", node="n1", cpu=10),
        crowd,
        group("new", "5", phase="Pending"),
        group("big", "13", phase="Pending"),
    )
    assert vote(world) is Vote.PERMIT, "24 - 10 in use - the 2 that pool a may still promise"
    assert vote(world, "big") is Vote.REJECT


def test_a_waiting_group_holds_its_whole_minimum_whatever_it_has_placed() -> None:
    def with_placed(cpu: int) -> World:
        return World(
            node("n1", cpu=10),
            group("old", "6"),
            [pod(f"old-{i}", group="old", cpu=1, node="n1") for i in range(cpu)],
            group("new", "3", phase="Pending"),
        )

    assert vote(with_placed(3)) is Vote.PERMIT, "12 - 3 in use - 6 held"
    assert vote(with_placed(4)) is Vote.REJECT


def test_what_gated_pods_ask_for_is_not_held() -> None:
    gated = [pod("old-0", group="old", cpu=6, gates=["wait.io/for"])]
    world = World(node("n1", cpu=10), group("old", "9"), gated, group("new", "9", phase="Pending"))
    assert vote(world) is Vote.PERMIT
