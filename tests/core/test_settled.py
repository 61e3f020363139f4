"""Which rounds repeat the one before, and which are decided in full."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.actions.backfill import Backfill
from vcray.actions.enqueue import Enqueue
from vcray.actions.preempt import Preempt
from vcray.bench.stuck import answered
from vcray.core.carry import Carry
from vcray.core.meter import Meter
from vcray.core.policy import Policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Status
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates
from vcray.plugins.sla import Sla

DEADLINE = 600
NOW = 1_700_000_000
STUCK, RUNS = "ns/stuck", "ns/runs"


class Like(Gang):
    """A plugin of a user's that does what gang does, and says nothing of `steady`."""


class Steady(Gang):
    """The same, and says so."""

    steady = True


def policy(*, gang: type[Gang] = Gang, evicts: bool = False) -> Policy:
    actions = [Enqueue({}), Allocate({}), Backfill({}), *([Preempt({})] if evicts else [])]
    late = {"sla-waiting-time": f"{DEADLINE}s"}
    return policy_of(actions, [[(gang, {}), (Predicates, {}), (Sla, late)]])


def cluster() -> Snapshot:
    """A gang whose pods are being bound, and one that waits for room."""
    held = [Pod(f"runs-{row}", cpu=1, status=Status.BINDING, node="n1") for row in range(2)]
    jobs = [Job(STUCK, equal_pods("stuck", 2, cpu=1), created=NOW - 100), Job(RUNS, held)]
    return snapshot([Node("n1", 3)], jobs)


def with_status(world: Snapshot, pod: str, status: Status) -> Snapshot:
    column = world.tasks.status.copy()
    column[[name.endswith(pod) for name in world.tasks.names]] = status
    return replace(world, generation=world.generation + 1, tasks=replace(world.tasks, status=column))


def with_less_room(world: Snapshot) -> Snapshot:
    used = world.nodes.used + 1
    return replace(world, nodes=replace(world.nodes, used=used, requested=used, requested_floor=used[:2]))


def repeats(change: Callable[[Snapshot], Snapshot], by: Policy) -> bool:
    """Is the round after a change decided as the one before? It says the same as a whole one in either case."""
    world, carry = cluster(), Carry()
    told = answered(world, decide(world, by, carry))
    decide(told, by, carry)
    meter, changed = Meter(time.perf_counter), change(told)
    assert decide(changed, by, carry, meter=meter) == decide(changed, by)
    return meter.repeats


STARTS: dict[str, Callable[[Snapshot], Snapshot]] = {
    "nothing": lambda world: replace(world, generation=9, now=world.now + 1),
    "bound": lambda world: with_status(world, "runs-0", Status.BOUND),
    "running": lambda world: with_status(world, "runs-1", Status.RUNNING),
}


@pytest.mark.parametrize("change", STARTS.values(), ids=STARTS)
def test_a_round_in_which_pods_only_start_repeats_the_one_before(
    change: Callable[[Snapshot], Snapshot],
) -> None:
    assert repeats(change, policy())
    assert repeats(change, policy(gang=Steady))


@pytest.mark.parametrize("change", STARTS.values(), ids=STARTS)
def test_it_does_not_where_somebody_may_look_at_what_runs(change: Callable[[Snapshot], Snapshot]) -> None:
    assert not repeats(change, policy(evicts=True))
    assert not repeats(change, policy(gang=Like))


CURES: dict[str, Callable[[Snapshot], Snapshot]] = {
    "ended": lambda world: with_status(world, "runs-0", Status.SUCCEEDED),
    "leaving": lambda world: with_status(world, "runs-0", Status.RELEASING),
    "placed by another": lambda world: with_status(world, "stuck-0", Status.BOUND),
    "less room": with_less_room,
    "the hour": lambda world: replace(world, now=world.now + DEADLINE),
}


@pytest.mark.parametrize("change", CURES.values(), ids=CURES)
def test_it_does_not_where_the_change_may_matter(change: Callable[[Snapshot], Snapshot]) -> None:
    assert not repeats(change, policy())


def test_a_status_that_is_not_written_yet_is_asked_for_again() -> None:
    world, carry, by = cluster(), Carry(), policy()
    first = decide(world, by, carry)
    again = decide(replace(world, generation=9), by, carry)

    assert first.groups
    assert [update.job for update in again.groups] == [update.job for update in first.groups]


def test_a_round_that_placed_something_is_followed_by_a_whole_one() -> None:
    world, carry, by = snapshot([Node("n1", 4)], [Job("ns/a", equal_pods("a", 2, cpu=1))]), Carry(), policy()
    assert decide(world, by, carry).commits
    meter = Meter(time.perf_counter)
    decide(replace(world, generation=9), by, carry, meter=meter)

    assert not meter.repeats


def test_being_steady_is_not_inherited() -> None:
    assert Gang.steady
    assert not Like.steady
