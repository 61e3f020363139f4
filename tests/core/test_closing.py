"""What a session says when it closes: phases, conditions, events, queue sums."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core import stubs
from tests.core.world import GI, Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.decisions import Decisions, Event
from vcray.core.hooks import Closing
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, build_policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Condition, GroupStatus, Phase, Status
from vcray.core.view import View
from vcray.registry import discover

RUN, DONE, BAD, WAIT, END = (
    Status.RUNNING,
    Status.SUCCEEDED,
    Status.FAILED,
    Status.PENDING,
    Status.RELEASING,
)


def policy(*closers: type[Plugin[Args]]) -> Policy:
    return policy_of([Allocate({})], [[(stubs.Gang, {}), *((closer, {}) for closer in closers)]])


def real() -> Policy:
    return build_policy(load_scheduler_config(HELM_CONF), discover())


def members(*statuses: Status) -> list[Pod]:
    return [
        Pod(
            f"j-{i}",
            cpu=9 if status is WAIT else 0.1,
            status=status,
            node="n" if status in (RUN, END) else "",
        )
        for i, status in enumerate(statuses)
    ]


def phase_after(job: Job) -> Phase:
    decisions = decide(snapshot([Node("n")], [job]), policy())
    return decisions.groups[0].status.phase if decisions.groups else job.phase


@pytest.mark.parametrize(
    ("statuses", "least", "before", "after"),
    [
        ((RUN, RUN), 2, Phase.INQUEUE, Phase.RUNNING),
        ((RUN,), 2, Phase.RUNNING, Phase.PENDING),
        ((RUN,), 2, Phase.INQUEUE, Phase.INQUEUE),
        ((DONE, DONE), 2, Phase.RUNNING, Phase.COMPLETED),
        ((DONE, BAD), 2, Phase.RUNNING, Phase.COMPLETED),
        ((DONE, RUN), 1, Phase.RUNNING, Phase.RUNNING),
        ((DONE, WAIT), 1, Phase.RUNNING, Phase.RUNNING),
        ((END, RUN), 2, Phase.RUNNING, Phase.RUNNING),
        ((), 0, Phase.INQUEUE, Phase.COMPLETED),
        ((), 1, Phase.COMPLETED, Phase.COMPLETED),
        ((), 1, Phase.EMPTY, Phase.INQUEUE),
        ((WAIT,), 1, Phase.PENDING, Phase.INQUEUE),
    ],
)
def test_the_phase_follows_the_pods(
    statuses: tuple[Status, ...], least: int, before: Phase, after: Phase
) -> None:
    assert phase_after(Job("j", members(*statuses), least=least, phase=before)) is after


class Complain(Plugin[Args]):
    def close(self, view: View, closing: Closing) -> None:
        closing.condition(0, "Unschedulable", "NotEnoughResources", closing.fit_error(0))


def test_running_pods_of_an_unschedulable_group_make_it_unknown() -> None:
    job = Job("j", members(RUN, WAIT), least=2, phase=Phase.RUNNING)

    decisions = decide(snapshot([Node("n")], [job]), policy(Complain))

    status = decisions.groups[0].status
    assert status.phase is Phase.UNKNOWN
    assert status.conditions[0].transition
    assert status.conditions[0].since == "2023-11-14T22:13:20Z"


def settled(world: Snapshot, policy: Policy) -> tuple[Snapshot, Decisions]:
    """The world with the PodGroup statuses of a first round written back, and a second round on it."""
    first = decide(world, policy)
    statuses = {update.job: update.status for update in first.groups}
    jobs = replace(
        world.jobs,
        status=tuple(
            statuses.get(name, old) for name, old in zip(world.jobs.names, world.jobs.status, strict=True)
        ),
    )
    later = replace(world, jobs=jobs, generation=world.generation + 1, now=world.now + 60)
    return later, decide(later, policy)


def test_a_status_that_says_the_same_is_not_written_again() -> None:
    world = snapshot([Node("n")], [Job("j", members(RUN, WAIT), least=2), Job("k", members(), least=1)])

    _, again = settled(world, policy(Complain))

    assert again.groups == ()


def test_the_other_condition_stays_and_its_place_too() -> None:
    old = (
        Condition("Scheduled", "True", "ready", "", "t0", "s0"),
        Condition("Unschedulable", "True", "x", "y", "t0", "s0"),
    )
    status = GroupStatus(Phase.INQUEUE, 0, 0, 0, old)
    world = snapshot([Node("n")], [Job("j", members(WAIT), status=status)])

    (update,) = decide(world, policy(Complain)).groups

    assert [c.type for c in update.status.conditions] == ["Scheduled", "Unschedulable"]
    assert update.status.conditions[0] == old[0]
    assert update.status.conditions[1].reason == "NotEnoughResources"


def test_a_gang_that_waits_says_so_in_volcanos_words() -> None:
    world = snapshot([Node("n", 2)], [Job("j", equal_pods("j", 3, cpu=1))])

    decisions = decide(world, policy())

    sentence = (
        "3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; "
        "Pending: 1 Unschedulable, 2 Schedulable. "
        "Origin reason is j-2: 0/1 nodes are unavailable: 1 Insufficient cpu."
    )
    assert Event("PodGroup", "ns/j", "uid-j", "Warning", "Unschedulable", sentence) in decisions.events
    assert [c.reason for c in decisions.conditions] == ["Schedulable", "Schedulable", "Unschedulable"]


def test_a_gang_that_leaves_whole_is_not_called_unschedulable() -> None:
    decisions = decide(snapshot([Node("n")], [Job("j", equal_pods("j", 2, cpu=1))]), policy())

    assert decisions.events == ()
    assert decisions.conditions == ()


def test_a_group_that_starts_to_run_says_it_is_ready() -> None:
    decisions = decide(snapshot([Node("n")], [Job("j", members(RUN))]), policy())

    assert decisions.events == (
        Event("PodGroup", "ns/j", "uid-j", "Normal", "Scheduled", "pod group is ready"),
    )


def test_a_group_whose_queue_is_missing_says_which() -> None:
    world = snapshot([Node("n")], [Job("j", equal_pods("j", 1, cpu=1), queue="nope", phase=Phase.EMPTY)])

    later, again = settled(world, real())
    first = decide(world, real())

    sentence = "queue 'nope' does not exist; create it or name another in spec.queue"
    assert first.commits == ()
    assert first.groups[0].status.phase is Phase.PENDING
    assert [c.message for c in first.groups[0].status.conditions] == [sentence]
    assert first.events == (Event("PodGroup", "ns/j", "uid-j", "Warning", "Unschedulable", sentence),)
    assert again.groups == ()
    assert again.events == first.events
    assert later.generation == 2


def test_queue_sums_roll_up_and_are_written_when_they_move() -> None:
    held = {"cpu": 1000, "memory": GI, "pods": 1}
    queues = [
        Queue("root", allocated={"cpu": 0, "memory": 0}),
        Queue("dept", "root"),
        Queue("team", "dept"),
        Queue("same", "root", allocated={**held, "nvidia.com/gpu": 0}),
    ]
    jobs = [
        Job("j", [Pod("j-0", cpu=1, mem=1, status=RUN, node="n")], queue="team"),
        Job("k", [Pod("k-0", cpu=1, mem=1, status=RUN, node="n")], queue="same"),
        Job("r", [Pod("r-0", cpu=1, mem=1, status=RUN, node="n")], queue="root"),
    ]

    updates = {
        u.queue: dict(u.allocated) for u in decide(snapshot([Node("n")], jobs, queues), policy()).queues
    }

    assert set(updates) == {"root", "dept", "team"}
    assert updates["team"] == updates["dept"] == held
    assert updates["root"] == {name: 3 * amount for name, amount in held.items()}


def test_an_empty_queue_still_tells_cpu_and_memory() -> None:
    (update,) = decide(snapshot([Node("n")], [], [Queue("q", parent="gone")]), policy()).queues

    assert update.allocated == (("cpu", 0), ("memory", 0))


def test_promised_pods_are_not_in_a_queues_sum() -> None:
    jobs = [
        Job("old", [Pod("old-0", cpu=4, status=END, node="n")], least=0, phase=Phase.RUNNING),
        Job("j", equal_pods("j", 1, cpu=1)),
    ]

    decisions = decide(snapshot([Node("n", 4)], jobs), policy())

    assert decisions.pipelined == (("ns/j-0", "n"),)
    assert dict(decisions.queues[0].allocated)["cpu"] == 0
