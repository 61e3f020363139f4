"""Stated shares: limits flat and level by level, the order of queues, admission over all queues above."""

from __future__ import annotations

import pytest

from tests.builders import GPU, node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.core.hooks import Vote
from vcray.core.meter import UNLIMITED
from vcray.core.space import CPU, MEMORY, PODS
from vcray.plugins.capacity import Capacity

TREE = {"enableHierarchy": True}
GI = 2**30


def running(group: str, count: int, queue: str, **request: object) -> list[JsonObject]:
    """A group whose pods all hold n1."""
    pods = [pod(f"{group}-{i}", group=group, node="n1", **request) for i in range(count)]  # type: ignore[arg-type]
    return [podgroup(group, count, queue=queue, phase="Running"), *pods]


def waiting(group: str, count: int, queue: str, **request: object) -> list[JsonObject]:
    pods = [pod(f"{group}-{i}", group=group, **request) for i in range(count)]  # type: ignore[arg-type]
    return [podgroup(group, count, queue=queue), *pods]


# ---- limits ----


def test_a_flat_queue_may_hold_what_is_not_guaranteed_to_others() -> None:
    world = World(node("n1", cpu=10), queue("a", guarantee={"cpu": 4}), queue("b"))
    plugin = world.plugin(Capacity)
    assert plugin.real_[world.queue("a")][CPU] == 10_000
    assert plugin.real_[world.queue("b")][CPU] == 6_000


def test_a_flat_capability_caps_what_a_queue_may_hold_and_deserves() -> None:
    world = World(node("n1", cpu=10), queue("a", capability={"cpu": 3}, deserved={"cpu": 5}))
    plugin = world.plugin(Capacity)
    assert plugin.real_[world.queue("a")][CPU] == 3_000
    assert plugin.limits_.deserved[CPU, world.queue("a")] == 3_000


def test_a_child_may_hold_what_its_parent_may_and_did_not_guarantee_to_siblings() -> None:
    world = World(
        node("n1", cpu=100),
        queue("root"),
        queue("dept", parent="root", capability={"cpu": 10}),
        queue("a", parent="dept", guarantee={"cpu": 3}),
        queue("b", parent="dept", guarantee={"cpu": 2}, capability={"cpu": 6}),
    )
    plugin = world.plugin(Capacity, TREE)
    assert plugin.real_[world.queue("a")][CPU] == 8_000
    assert plugin.real_[world.queue("b")][CPU] == 6_000
    assert plugin.limits_.guarantee[CPU, world.queue("root")] == 0


def test_root_deserves_and_guarantees_what_its_children_do_together() -> None:
    world = World(
        node("n1", cpu=10),
        queue("root", deserved={"cpu": 1}),
        queue("a", parent="root", deserved={"cpu": 3}, guarantee={"cpu": 4}),
        queue("b", parent="root", deserved={"cpu": 2}),
    )
    limits = world.plugin(Capacity, TREE).limits_
    assert limits.deserved[CPU, world.queue("root")] == 6_000
    assert limits.guarantee[CPU, world.queue("root")] == 4_000


def test_root_is_limited_by_what_its_capability_names_alone() -> None:
    world = World(node("n1", cpu=10), queue("root", capability={"cpu": 4}), queue("a", parent="root"))
    plugin = world.plugin(Capacity, TREE)
    assert plugin.real_[world.queue("a")][CPU] == 4_000
    assert plugin.real_[world.queue("a")][MEMORY] == UNLIMITED


# ---- shares and order ----


def test_a_share_is_the_largest_part_held_of_anything_deserved() -> None:
    world = World(
        node("n1", cpu=10, memory=32),
        queue("q", deserved={"cpu": 4, "memory": "8Gi"}),
        *running("j", 2, "q", cpu=1, memory=4),
    )
    plugin = world.plugin(Capacity)
    assert plugin.shares_.of(world.queue("q")) == 1.0


def test_a_queue_that_deserves_nothing_has_share_one() -> None:
    world = World(node("n1", cpu=10), queue("q"), queue("empty", deserved={"pods": 5}))
    plugin = world.plugin(Capacity)
    assert plugin.shares_.of(world.queue("q")) == plugin.shares_.of(world.queue("empty")) == 1.0


def test_pods_count_in_a_share_only_where_they_are_listed() -> None:
    listed = World(
        node("n1", cpu=9), queue("q", deserved={"cpu": 8, "pods": 2}), *running("j", 1, "q", cpu=1)
    )
    assert listed.plugin(Capacity).shares_.of(listed.queue("q")) == 0.5
    bare = World(node("n1", cpu=9), queue("q", deserved={"cpu": 8}), *running("j", 1, "q", cpu=1))
    assert bare.plugin(Capacity).shares_.of(bare.queue("q")) == 0.125


def order(world: World, plugin: Capacity, *names: str) -> list[str]:
    keys = {name: tuple(plugin.queue_order(world.view, world.queue(name))) for name in names}
    assert len({len(key) for key in keys.values()}) == 1
    return sorted(names, key=keys.__getitem__)


def test_queues_go_by_priority_then_share_then_whether_they_deserve_anything() -> None:
    world = World(
        node("n1", cpu=20),
        queue("none"),
        queue("full", deserved={"cpu": 2}),
        queue("half", deserved={"cpu": 4}),
        queue("high", priority=5),
        *running("jf", 2, "full", cpu=1),
        *running("jh", 2, "half", cpu=1),
    )
    assert order(world, world.plugin(Capacity), "none", "full", "half", "high") == [
        "high",
        "half",
        "full",
        "none",
    ]


def branches() -> World:
    """a holds 0.2 of what it deserves and b 0.3; a's leaf x 0.9 and b's leaf y 0.1."""
    return World(
        node("n1", cpu=100),
        queue("root"),
        queue("a", parent="root", deserved={"cpu": 45}),
        queue("b", parent="root", deserved={"cpu": 10}),
        queue("x", parent="a", deserved={"cpu": 10}),
        queue("y", parent="b", deserved={"cpu": 10}),
        queue("z", parent="b", deserved={"cpu": 10}),
        *running("jx", 9, "x", cpu=1),
        *running("jy", 1, "y", cpu=1),
        *running("jz", 2, "z", cpu=1),
        *waiting("more", 8, "x", cpu=1),
    )


def test_branches_are_compared_before_leaves_by_shares_of_the_sessions_start() -> None:
    world = branches()
    plugin = world.plugin(Capacity, TREE)
    assert order(world, plugin, "x", "y", "z") == ["x", "y", "z"]
    for number in range(8):
        world.place(f"more-{number}", "n1")
    assert order(world, plugin, "x", "y", "z") == ["x", "y", "z"]


def test_leaves_of_one_parent_follow_live_shares() -> None:
    world = World(
        node("n1", cpu=100),
        queue("root"),
        queue("a", parent="root"),
        queue("x", parent="a", deserved={"cpu": 10}),
        queue("y", parent="a", deserved={"cpu": 10}),
        *running("jy", 1, "y", cpu=1),
        *waiting("more", 2, "x", cpu=1),
    )
    plugin = world.plugin(Capacity, TREE)
    assert order(world, plugin, "x", "y") == ["x", "y"]
    for number in range(2):
        world.place(f"more-{number}", "n1")
    assert order(world, plugin, "x", "y") == ["y", "x"]


def test_leaves_go_before_queues_with_queues_below() -> None:
    world = World(
        node("n1", cpu=10),
        queue("root"),
        queue("a", parent="root"),
        queue("x", parent="a"),
        queue("z", parent="root"),
    )
    assert order(world, world.plugin(Capacity, TREE), "a", "z", "x")[-1] == "a"


# ---- allocation ----


def test_a_queue_takes_what_it_and_all_above_it_may_hold() -> None:
    world = World(
        node("n1", cpu=100),
        queue("root"),
        queue("dept", parent="root", capability={"cpu": 5}),
        queue("x", parent="dept", capability={"cpu": 4}),
        queue("y", parent="dept"),
        *waiting("jx", 8, "x", cpu=1),
        *waiting("jy", 8, "y", cpu=1),
    )
    plugin, shape = world.plugin(Capacity, TREE), world.shape("jx-0")
    assert plugin.queue_allows(world.view, world.queue("x"), shape, 8) == 4
    assert plugin.queue_allows(world.view, world.queue("y"), shape, 8) == 5
    for number in range(3):
        world.place(f"jy-{number}", "n1")
    assert plugin.queue_allows(world.view, world.queue("x"), shape, 8) == 2
    mark = world.ledger.checkpoint()
    world.place("jx-0", "n1")
    assert plugin.queue_allows(world.view, world.queue("y"), shape, 8) == 1
    world.ledger.rollback(mark)
    assert plugin.queue_allows(world.view, world.queue("y"), shape, 8) == 2


def test_a_group_in_a_queue_with_queues_below_it_waits() -> None:
    world = World(
        node("n1", cpu=8),
        queue("root"),
        queue("dept", parent="root"),
        queue("team", parent="dept"),
        *waiting("j", 1, "dept", cpu=1),
    )
    plugin = world.plugin(Capacity, TREE)
    assert plugin.queue_allows(world.view, world.queue("dept"), world.shape("j-0"), 1) == 0
    said = plugin.job_enqueueable(world.view, world.job("j")).message
    assert said == "queue dept takes no groups: only queues without queues below them do"


def test_a_limit_does_not_hinder_pods_that_do_not_ask_for_the_resource() -> None:
    world = World(
        node("n1", cpu=8, memory=32, gpu=4),
        queue("q", capability={"cpu": 8, GPU: 1}),
        *running("old", 1, "q", gpu=2),
        *waiting("new", 1, "q", cpu=1),
    )
    assert world.plugin(Capacity).queue_allows(world.view, world.queue("q"), world.shape("new-0"), 5) == 5


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_nothing(state: str) -> None:
    world = World(node("n1", cpu=8), queue("q", state=state), *waiting("j", 1, "q", cpu=1))
    plugin = world.plugin(Capacity)
    assert plugin.queue_allows(world.view, world.queue("q"), world.shape("j-0"), 1) == 0
    assert plugin.job_enqueueable(world.view, world.job("j")).vote is Vote.REJECT
    assert not plugin.queue_preemptive(world.view, world.queue("q"), world.shape("j-0").request)


def test_a_queue_above_that_is_closed_does_not_matter() -> None:
    world = World(
        node("n1", cpu=8),
        queue("root"),
        queue("dept", parent="root", state="Closed"),
        queue("q", parent="dept"),
        *waiting("j", 1, "q", cpu=1),
    )
    plugin = world.plugin(Capacity, TREE)
    assert plugin.queue_allows(world.view, world.queue("q"), world.shape("j-0"), 1) == 1


def misplaced() -> World:
    return World(
        node("n1", cpu=8),
        queue("root"),
        queue("good", parent="root"),
        queue("lost", parent="nowhere"),
        queue("below-lost", parent="lost"),
        queue("ring-a", parent="ring-b"),
        queue("ring-b", parent="ring-a"),
        *(
            part
            for name in ("good", "lost", "below-lost", "ring-a")
            for part in waiting(f"j-{name}", 1, name, cpu=1)
        ),
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lost", "the parent of queue lost does not exist"),
        ("below-lost", "the parent of queue lost does not exist"),
        ("ring-a", "the parents of queue ring-a form a cycle"),
    ],
)
def test_a_queue_without_a_place_in_the_tree_takes_nothing_and_says_why(name: str, why: str) -> None:
    world = misplaced()
    plugin = world.plugin(Capacity, TREE)
    shape = world.shape(f"j-{name}-0")
    assert plugin.queue_allows(world.view, world.queue(name), shape, 1) == 0
    answer = plugin.job_enqueueable(world.view, world.job(f"j-{name}"))
    assert answer.vote is Vote.REJECT
    assert answer.message == f"queue {name} takes no groups: {why}"


def test_queues_that_have_a_place_do_not_mind_others_that_have_none() -> None:
    world = misplaced()
    plugin = world.plugin(Capacity, TREE)
    assert plugin.queue_allows(world.view, world.queue("good"), world.shape("j-good-0"), 1) == 1


# ---- admission ----


def admitting(minimum: str, tree: bool) -> World:
    """The limit 10 of q, or of the queue above it; 6 held of which 2 elastic, 3 let in."""
    cap = {"cpu": 10}
    queues = (
        [queue("root"), queue("top", parent="root", capability=cap)]
        + [queue(name, parent="top") for name in ("q", "other")]
        if tree
        else [queue("q", capability=cap)]
    )
    return World(
        node("n1", cpu=100),
        *queues,
        podgroup("run", 1, queue="other" if tree else "q", phase="Running", min_resources={"cpu": "4"}),
        [pod(f"r{i}", group="run", cpu=1, node="n1") for i in range(6)],
        podgroup("let-in", 1, queue="other" if tree else "q", phase="Inqueue", min_resources={"cpu": "3"}),
        podgroup("new", 1, queue="q", phase="Pending", min_resources={"cpu": minimum}),
    )


@pytest.mark.parametrize("tree", [False, True], ids=["flat", "tree"])
def test_a_group_is_let_in_as_long_as_its_minimum_fits_all_levels(tree: bool) -> None:
    fits, over = admitting("3", tree), admitting("3001m", tree)
    flags = {"enableHierarchy": tree}
    assert fits.plugin(Capacity, flags).job_enqueueable(fits.view, fits.job("new")).vote is Vote.PERMIT
    answer = over.plugin(Capacity, flags).job_enqueueable(over.view, over.job("new"))
    assert answer.vote is Vote.REJECT
    assert answer.message == "queue resource quota insufficient: insufficient cpu"


@pytest.mark.parametrize("tree", [False, True], ids=["flat", "tree"])
def test_a_group_that_was_let_in_holds_its_minimum_at_every_level(tree: bool) -> None:
    world = admitting("2", tree)
    plugin, job = world.plugin(Capacity, {"enableHierarchy": tree}), world.job("new")
    plugin.job_enqueued(world.view, job)
    assert plugin.job_enqueueable(world.view, job).vote is Vote.REJECT


# ---- claims ----


def claiming() -> World:
    return World(
        node("n1", cpu=100, memory=400, gpu=8),
        queue("q", deserved={"cpu": 4, "memory": "8Gi"}, capability={"cpu": 10}),
        *running("j", 4, "q", cpu=1, memory=0.5),
        *waiting("new", 1, "q", cpu=1, memory=1, gpu=1),
    )


def test_a_queue_may_claim_while_it_is_below_what_it_deserves_of_one_thing_it_asks_for() -> None:
    world = claiming()
    plugin = world.plugin(Capacity)
    assert plugin.queue_preemptive(world.view, world.queue("q"), world.shape("new-0").request)


def test_a_queue_may_not_claim_beyond_what_it_may_hold() -> None:
    world = claiming()
    request = world.shape("new-0").request.copy()
    request[CPU] = 6_001
    assert not world.plugin(Capacity).queue_preemptive(world.view, world.queue("q"), request)


def test_a_queue_may_not_claim_for_a_request_of_nothing() -> None:
    world = claiming()
    request = world.shape("new-0").request * 0
    request[PODS] = 1
    assert not world.plugin(Capacity).queue_preemptive(world.view, world.queue("q"), request)


def test_with_a_level_a_queue_above_may_carry_the_claim() -> None:
    world = World(
        node("n1", cpu=100),
        queue("root"),
        queue("dept", parent="root", deserved={"cpu": 10}),
        queue("q", parent="dept", deserved={"cpu": 1}),
        *running("j", 1, "q", cpu=1),
        *waiting("new", 1, "q", cpu=1),
    )
    request, row = world.shape("new-0").request, world.queue("q")
    assert not world.plugin(Capacity, TREE).queue_preemptive(world.view, row, request)
    levels = {**TREE, "ancestorReclaimLevel": 1}
    assert world.plugin(Capacity, levels).queue_preemptive(world.view, row, request)


def test_guarantees_of_queues_without_groups_are_kept_back() -> None:
    for tree in (False, True):
        world = World(
            node("n1", cpu=10),
            queue("root", capability={"cpu": 10}),
            queue("idle", parent="root", guarantee={"cpu": 4}),
            queue("q", parent="root"),
            *waiting("j", 9, "q", cpu=1),
        )
        plugin = world.plugin(Capacity, {"enableHierarchy": tree})
        assert plugin.queue_allows(world.view, world.queue("q"), world.shape("j-0"), 9) == 6


def test_a_queue_over_what_it_deserves_is_not_dropped_and_takes_what_it_may_hold() -> None:
    world = World(node("n1", cpu=10), queue("q", deserved={"cpu": 1}), *waiting("j", 9, "q", cpu=1))
    plugin = world.plugin(Capacity)
    assert not hasattr(plugin, "queue_overused")
    assert plugin.queue_allows(world.view, world.queue("q"), world.shape("j-0"), 9) == 9


def test_figures_of_a_queue_tell_limits_and_what_it_holds_beyond_its_share() -> None:
    world = World(
        node("n1", cpu=10),
        queue("root"),
        queue("dept", parent="root", capability={"cpu": 8}, deserved={"cpu": 2}),
        queue("q", parent="dept", deserved={"cpu": 2}),
        *running("j", 3, "q", cpu=1),
        *waiting("more", 1, "q", cpu=1),
    )
    plugin = world.plugin(Capacity, TREE)
    for name in ("q", "dept"):
        told = plugin.queue_figures(world.view, world.queue(name))
        vectors = (told.allocated, told.request, told.real_capacity)
        assert [int(vector[CPU]) for vector in vectors if vector is not None] == [3000, 4000, 8000]
        assert (told.share, told.overused) == (1.5, True)
