"""Which rounds repeat the one before, and which are decided in full."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.actions.backfill import Backfill
from vcray.actions.enqueue import Enqueue
from vcray.actions.preempt import Preempt
from vcray.bench.stuck import answered
from vcray.core.action import Action
from vcray.core.carry import Carry
from vcray.core.decisions import Event
from vcray.core.fence import users_of
from vcray.core.hooks import Closing
from vcray.core.meter import Meter
from vcray.core.policy import Policy, policy_of
from vcray.core.session import Session, decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Phase, Status
from vcray.core.view import View
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates
from vcray.plugins.sla import Sla

DEADLINE = 600
NOW = 1_700_000_000


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
    jobs = [Job("stuck", equal_pods("stuck", 2, cpu=1), created=NOW - 100), Job("runs", held)]
    return snapshot([Node("n1", 3)], jobs)


def with_status(world: Snapshot, pod: str, status: Status) -> Snapshot:
    column = world.tasks.status.copy()
    column[[name.endswith(pod) for name in world.tasks.names]] = status
    return replace(world, generation=world.generation + 1, tasks=replace(world.tasks, status=column))


def placed(world: Snapshot, pod: str) -> Snapshot:
    """Somebody else bound a pod that waits."""
    bound = with_status(world, pod, Status.BOUND)
    node = bound.tasks.node.copy()
    node[[name.endswith(pod) for name in bound.tasks.names]] = 0
    return replace(bound, tasks=replace(bound.tasks, node=node))


def written(world: Snapshot, job: str, **what: object) -> Snapshot:
    """Somebody else wrote the status of a PodGroup."""
    jobs = world.jobs
    rows = [name.endswith(job) for name in jobs.names]
    status = [replace(s, **what) if row else s for s, row in zip(jobs.status, rows, strict=True)]  # type: ignore[arg-type]
    version = [f"{v}+" if row else v for v, row in zip(jobs.resource_version, rows, strict=True)]
    return replace(
        world, generation=9, jobs=replace(jobs, status=tuple(status), resource_version=tuple(version))
    )


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
    "written by somebody else": lambda world: written(world, "runs", conditions=()),
    "written without a word changed": lambda world: written(world, "stuck"),
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
    "placed by another": lambda world: placed(world, "stuck-0"),
    "another phase": lambda world: written(world, "runs", phase=Phase.UNKNOWN),
    "words of somebody else about a gang that waits": lambda world: written(world, "stuck", conditions=()),
    "less room": with_less_room,
    "the clock set back": lambda world: replace(world, now=world.now - 2),
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


def test_another_policy_decides_in_full() -> None:
    world, carry = cluster(), Carry()
    told = answered(world, decide(world, policy(), carry))
    decide(told, policy(), carry)
    meter = Meter(time.perf_counter)
    decide(told, policy(), carry, meter=meter)

    assert not meter.repeats


def test_what_was_told_is_said_by_the_very_same_tuples() -> None:
    world, carry, by = cluster(), Carry(), policy()
    told = answered(world, decide(world, by, carry))
    whole = decide(told, by, carry)
    again = decide(replace(told, generation=9), by, carry)

    assert again.waiting is whole.waiting
    assert again.events is whole.events


class Fussy(Gang):
    """Does not do without the group that waits."""

    steady = True

    def close(self, view: View, closing: Closing) -> None:
        if not any(name.endswith("stuck") for name in view.snapshot.jobs.names):
            raise LookupError("where is it?")


def test_a_plugin_of_a_user_that_fails_there_is_asked_in_a_whole_round() -> None:
    by = policy(gang=Fussy)
    assert users_of(by)
    assert not repeats(lambda world: with_status(world, "runs-0", Status.BOUND), by)


class Remarks(Action):
    """Says something of every group, in every round."""

    steady = True

    def run(self, session: Session) -> None:
        jobs = session.view.snapshot.jobs
        for name, uid in zip(jobs.names, jobs.uids, strict=True):
            session.record.events.append(Event("PodGroup", name, uid, "Normal", "Seen", "a remark"))


def test_what_actions_say_of_groups_that_are_closed_anew_stays() -> None:
    by = policy()
    by = replace(by, actions=(*by.actions, Remarks({})))

    assert repeats(lambda world: with_status(world, "runs-0", Status.BOUND), by)


def test_a_queue_that_somebody_else_wrote_is_told_what_a_round_finds() -> None:
    def wrong(world: Snapshot) -> Snapshot:
        queues = world.queues
        return replace(world, generation=9, queues=replace(queues, allocated=((("cpu", 5),),)))

    empty = snapshot(
        [Node("n1", 1)], [Job("stuck", equal_pods("stuck", 2, cpu=1))], [Queue("default", allocated={})]
    )
    carry, by = Carry(), policy()
    told = answered(empty, decide(empty, by, carry))
    decide(told, by, carry)
    meter = Meter(time.perf_counter)

    assert decide(wrong(told), by, carry, meter=meter) == decide(wrong(told), by)
    assert meter.repeats


def test_being_steady_is_not_inherited() -> None:
    assert Gang.steady
    assert not Like.steady
