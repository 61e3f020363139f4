"""What the coordinator draws from a snapshot and its decisions before they go to the binder."""

from __future__ import annotations

from dataclasses import replace

from vcray.actors.messages import Execute, GangLimits
from vcray.core.decisions import Decisions
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Status


def in_flight(snapshot: Snapshot) -> tuple[str, ...]:
    """Jobs with a pod whose binding or deletion is under way: too early to judge them."""
    tasks = snapshot.tasks
    moving = ((tasks.status == Status.BINDING) | (tasks.status == Status.RELEASING)) & (tasks.job != MISSING)
    return tuple(sorted({snapshot.jobs.names[row] for row in tasks.job[moving]}))


def without(decisions: Decisions, left: frozenset[str]) -> Decisions:
    """Leave out jobs that recovery is still at work on."""
    if not left:
        return decisions
    return replace(
        decisions,
        commits=tuple(commit for commit in decisions.commits if commit.job not in left),
        groups=tuple(group for group in decisions.groups if group.job not in left),
    )


def is_something(order: Execute) -> bool:
    """Is there anything to carry out?"""
    decisions = order.decisions
    return bool(order.shards) or decisions != Decisions(decisions.generation, pipelined=decisions.pipelined)


def limits_of(snapshot: Snapshot, decisions: Decisions) -> tuple[GangLimits, ...]:
    """What the PodGroups of the committed jobs said when it was decided."""
    if not decisions.commits:
        return ()
    rows = {name: row for row, name in enumerate(snapshot.jobs.names)}
    return tuple(
        GangLimits(
            commit.job,
            int(snapshot.jobs.min_available[rows[commit.job]]),
            {snapshot.roles[role]: minimum for role, minimum in snapshot.jobs.role_minimum[rows[commit.job]]},
        )
        for commit in decisions.commits
    )
