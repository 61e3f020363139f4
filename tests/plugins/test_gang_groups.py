"""gang with sub-groups: when a part is ready, and how many parts a job needs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.world import Job, Node, Pod, snapshot
from vcray.core.hooks import Vote
from vcray.core.policy import policy_of
from vcray.core.session import Session, open_session
from vcray.core.tables import Status, SubGroupPolicy
from vcray.plugins.gang import Gang
from vcray.plugins.priority import Priority

RUNNING, PROMISED = Status.RUNNING, Status.PIPELINED


def pods(**groups: list[Status]) -> list[Pod]:
    """Pods by sub-group; those that hold a node are on n1."""
    return [
        Pod(
            f"{group}-{i}",
            cpu=1,
            status=status,
            node="n1" if status is RUNNING else "",
            labels={"part": group},
        )
        for group, statuses in groups.items()
        for i, status in enumerate(statuses)
    ]


def opened(members: list[Pod], size: int = 2, groups: int = 2, least: int = 0) -> Session:
    policy = SubGroupPolicy("p", (), ("part",), size, groups)
    world = snapshot([Node("n1", 64)], [Job("j", members, least=least, subgroups=(policy,))])
    return open_session(world, policy_of([], [[(Gang, {}), (Priority, {})]]))


def gang_of(session: Session) -> Gang:
    plugin = session.chains.plugins[0][0][0]
    assert isinstance(plugin, Gang)
    return plugin


W = Status.PENDING


@pytest.mark.parametrize(
    ("members", "ready", "pipelined"),
    [
        (pods(a=[RUNNING, RUNNING], b=[RUNNING, RUNNING]), True, Vote.PERMIT),
        (pods(a=[RUNNING, RUNNING], b=[RUNNING, W]), False, Vote.REJECT),
        (pods(a=[RUNNING, RUNNING], b=[RUNNING, PROMISED]), False, Vote.PERMIT),
        (pods(a=[RUNNING] * 4, b=[W, W]), False, Vote.REJECT),
    ],
    ids=["both whole", "one torn", "one promised", "many in one"],
)
def test_a_job_needs_enough_sub_groups_that_are_ready(
    members: list[Pod], ready: bool, pipelined: Vote
) -> None:
    session = opened(members)
    gang = gang_of(session)
    assert gang.job_ready(session.view, 0) is ready
    assert gang.job_pipelined(session.view, 0) is pipelined


def test_pods_count_in_all_too() -> None:
    session = opened(pods(a=[RUNNING, RUNNING], b=[RUNNING, RUNNING], c=[W]), least=5)
    assert not gang_of(session).job_ready(session.view, 0)


def test_a_job_with_too_few_sub_groups_is_not_valid() -> None:
    session = opened(pods(a=[W, W]))
    assert gang_of(session).job_valid(session.view, 0) == "Not enough sub-groups of pods for gang-scheduling"
    enough = opened(pods(a=[W], b=[W]))
    assert gang_of(enough).job_valid(enough.view, 0) is None


def test_a_part_is_ready_by_its_own_size_and_goes_behind_those_that_are_not() -> None:
    session = opened(pods(a=[RUNNING, RUNNING], b=[RUNNING, W], c=[W, PROMISED]))
    view, gang = session.view, gang_of(session)
    parts = view.subjobs.of_job[0].subjobs
    assert [gang.subjob_ready(view, sub) for sub in parts] == [True, False, False]
    assert [gang.subjob_need(view, sub, np.zeros(0, dtype=np.int64)) for sub in parts] == [1, 1, 2]
    assert [gang.subjob_pipelined(view, sub) for sub in parts] == [Vote.PERMIT, Vote.REJECT, Vote.REJECT]
    ordered = sorted(parts, key=lambda sub: session.chains.parts.key(view, sub))
    assert [sub.name for sub in ordered] == ["ns/j/p-b", "ns/j/p-c", "ns/j/p-a"]


def test_parts_of_higher_priority_go_first_when_priority_is_listed_first() -> None:
    members = pods(a=[W], b=[W])
    members[1].priority = 9
    policy = SubGroupPolicy("p", (), ("part",), 1, 0)
    world = snapshot([Node("n1")], [Job("j", members, subgroups=(policy,))])
    session = open_session(world, policy_of([], [[(Priority, {}), (Gang, {})]]))
    parts = session.view.subjobs.of_job[0].subjobs
    ordered = sorted(parts, key=lambda sub: session.chains.parts.key(session.view, sub))
    assert [sub.name for sub in ordered] == ["ns/j/p-b", "ns/j/p-a"]


def test_parts_are_ordered_by_their_first_value_as_a_number() -> None:
    members = [Pod(f"p{i}", cpu=1, labels={"part": str(i)}) for i in (10, 9, 2)]
    policy = SubGroupPolicy("p", (), ("part",), 1, 0)
    world = snapshot([Node("n1")], [Job("j", members, subgroups=(policy,))])
    session = open_session(world, policy_of([], [[(Gang, {})]]))
    parts = session.view.subjobs.of_job[0].subjobs
    ordered = sorted(parts, key=lambda sub: session.chains.parts.key(session.view, sub))
    assert [sub.name for sub in ordered] == ["ns/j/p-2", "ns/j/p-9", "ns/j/p-10"]
