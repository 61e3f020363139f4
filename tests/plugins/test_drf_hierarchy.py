"""Hierarchical drf: branches by share and weight, what is saturated, and who may take back from whom."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.plugins.drf import Drf

TREE = {"enableHierarchy": True}


def branch(name: str, path: str, weights: str = "") -> JsonObject:
    notes = {"volcano.sh/hierarchy": path}
    if weights:
        notes["volcano.sh/hierarchy-weights"] = weights
    return queue(name, annotations=notes)


def job(name: str, queue: str, runs: int = 0, waits: int = 0, cpu: float = 1) -> list[JsonObject]:
    pods = [pod(f"{name}-r{i}", group=name, cpu=cpu, node="n1") for i in range(runs)]
    pods += [pod(f"{name}-w{i}", group=name, cpu=cpu) for i in range(waits)]
    return [podgroup(name, 1, queue=queue, phase="Running" if runs else "Inqueue"), *pods]


def ten(*parts: JsonObject | list[JsonObject]) -> World:
    return World(node("n1", cpu=10, pods=10_000, memory=10_000), *parts)


def key(world: World, plugin: Drf, name: str) -> tuple[float, ...]:
    return tuple(plugin.queue_order(world.view, world.queue(name)))


def order(world: World, plugin: Drf, *names: str) -> list[str]:
    return sorted(names, key=lambda name: key(world, plugin, name))


def test_a_greedy_child_is_scaled_down_to_the_least_of_those_that_want_more() -> None:
    world = ten(branch("q", "root/q"), job("x", "q", runs=4, waits=4), job("y", "q", runs=2, waits=2))
    assert key(world, world.plugin(Drf, TREE), "q") == (0.0, pytest.approx(0.4))


def test_a_saturated_child_counts_whole() -> None:
    world = ten(branch("q", "root/q"), job("x", "q", runs=4, waits=4), job("y", "q", runs=2))
    assert key(world, world.plugin(Drf, TREE), "q") == (0.0, pytest.approx(0.6))


def test_a_branch_whose_jobs_have_all_they_ask_for_is_saturated() -> None:
    world = ten(branch("q", "root/q"), job("x", "q", runs=4), job("y", "q", runs=2))
    assert key(world, world.plugin(Drf, TREE), "q") == (1.0, pytest.approx(0.6))


def test_a_job_that_holds_nothing_is_never_saturated() -> None:
    world = ten(branch("q", "root/q"), job("x", "q", runs=4), job("y", "q", waits=2))
    assert key(world, world.plugin(Drf, TREE), "q")[0] == 0.0


def test_a_full_cluster_saturates_those_that_ask_for_what_is_gone() -> None:
    world = ten(
        branch("q", "root/q"), branch("p", "root/p"), job("x", "q", runs=6, waits=6), job("y", "p", runs=4)
    )
    assert key(world, world.plugin(Drf, TREE), "q")[0] == 1.0


def test_branches_go_by_share_over_weight() -> None:
    world = ten(
        branch("a", "root/a", "1/4"),
        branch("b", "root/b", "1/1"),
        job("ja", "a", runs=4, waits=9),
        job("jb", "b", runs=2, waits=9),
    )
    assert order(world, world.plugin(Drf, TREE), "a", "b") == ["a", "b"]


def test_branches_are_compared_before_what_is_below_them() -> None:
    world = ten(
        branch("dev", "root/eng/dev"),
        branch("ops", "root/eng/ops"),
        branch("sci", "root/sci/all"),
        job("jd", "dev", runs=4, waits=9),
        job("jo", "ops", runs=1, waits=9),
        job("js", "sci", runs=1, waits=9),
    )
    plugin = world.plugin(Drf, TREE)
    assert order(world, plugin, "dev", "ops", "sci") == ["sci", "ops", "dev"]
    for number in range(4):
        world.place(f"js-w{number}", "n1")
    assert order(world, plugin, "dev", "ops", "sci") == ["ops", "dev", "sci"]


def test_weights_below_one_missing_or_unreadable_count_as_one() -> None:
    for weights in ("1/0.2", "1/many", ""):
        world = ten(branch("a", "root/a", weights), job("j", "a", runs=2, waits=1))
        assert key(world, world.plugin(Drf, TREE), "a")[1] == pytest.approx(0.2)


def test_a_queue_without_a_place_counts_as_a_branch_of_its_own() -> None:
    world = ten(
        queue("bare"),
        branch("a", "root/a"),
        job("jb", "bare", runs=3, waits=1),
        job("ja", "a", runs=1, waits=1),
    )
    assert order(world, world.plugin(Drf, TREE), "bare", "a") == ["a", "bare"]


def test_without_the_flag_queues_are_not_ordered() -> None:
    world = ten(branch("a", "root/a"), job("ja", "a", runs=1, waits=1))
    plugin = world.plugin(Drf)
    assert key(world, plugin, "a") == ()
    assert plugin.reclaimable(world.view, asking(world, "ja-w0"), victims(world, [])) is None


@pytest.mark.parametrize("seed", range(10))
def test_keys_follow_the_ledger_exactly_and_rollback_restores_them(seed: int) -> None:
    rng = random.Random(seed)
    names = ["dev", "ops", "sci", "bare"]
    world = ten(
        branch("dev", "root/eng/dev", "1/2/3"),
        branch("ops", "root/eng/ops", "1/2/1"),
        branch("sci", "root/sci"),
        queue("bare"),
        *[job(f"j{i}", rng.choice(names), runs=rng.randrange(2), waits=3, cpu=0.5) for i in range(8)],
    )
    live = world.plugin(Drf, TREE)
    first = {name: key(world, live, name) for name in names}
    mark = world.ledger.checkpoint()
    waiting = [name for name in world.snapshot.tasks.names if "-w" in name]
    for name in rng.sample(waiting, 8):
        world.place(name, "n1")
        fresh = world.plugin(Drf, TREE)
        assert {n: key(world, live, n) for n in names} == {n: key(world, fresh, n) for n in names}
    world.ledger.rollback(mark)
    assert {name: key(world, live, name) for name in names} == first


# ---- taking back ----


def asking(world: World, name: str) -> Claim:
    task = world.task(name)
    of = int(world.snapshot.tasks.job[task])
    return Claim(
        ClaimKind.RECLAIM, of, int(world.snapshot.jobs.queue[of]), (task,), world.shape(name).request
    )


def victims(world: World, names: list[str]) -> Candidates:
    tasks = np.array([world.task(name) for name in names], dtype=np.int64)
    of = world.snapshot.tasks.job[tasks].astype(np.int64)
    request = np.array([world.shape(name).request for name in names], dtype=np.int64).T
    zeros = np.zeros(len(names), dtype=np.int64)
    return Candidates(tasks, zeros, of, world.snapshot.jobs.queue[of].astype(np.int64), zeros, request)


def taken(world: World, by: str, names: list[str]) -> list[bool]:
    mask = world.plugin(Drf, TREE).reclaimable(world.view, asking(world, by), victims(world, names))
    assert mask is not None
    return mask.tolist()  # type: ignore[no-any-return]


def full_cluster(mine: int) -> World:
    return ten(
        branch("one", "root/one", "100/50"),
        branch("two", "root/two", "100/50"),
        job("big", "one", runs=10 - mine),
        job("small", "two", runs=mine, waits=2),
    )


def test_a_branch_with_nothing_takes_from_one_that_fills_the_cluster() -> None:
    world = full_cluster(0)
    assert taken(world, "small-w0", ["big-r0", "big-r1"]) == [True, True]


def test_candidates_are_judged_alone() -> None:
    world = full_cluster(3)
    assert taken(world, "small-w0", [f"big-r{i}" for i in range(7)]) == [True] * 7


def test_a_branch_does_not_take_what_would_put_it_behind() -> None:
    world = full_cluster(5)
    assert taken(world, "small-w0", ["big-r0"]) == [False]
