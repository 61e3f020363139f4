"""A round that follows one in which nothing moved: decided as that one was, without asking anybody, where nothing can help now.

Who waits was refused by all the actions. They would say the same again as long as room, queues, claims and those who wait are
as they were. What may differ: pods that hold a node are now bound, or run; words in the status of a PodGroup or a queue;
time, until the moment at which it matters. Then only the PodGroups that changed are closed anew. A policy with a plugin or an action
that may answer otherwise for such a difference (`Plugin.steady`), as all that evict do, has every round decided in full.

Whatever may differ is named here; all else must be equal, fields that are added to a snapshot later included.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.decisions import READY, Amounts, Decisions, Event, GroupUpdate, QueueUpdate
from vcray.core.groups import LAST_WORDS
from vcray.core.hooks import Close
from vcray.core.policy import Policy, offers
from vcray.core.same import same
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, WAITING_STATUS, JobTable, Phase, QueueTable, Status, TaskTable

_STARTING: Final = (Status.BINDING, Status.BOUND, Status.RUNNING)

_OF_THE_ROUND: Final = frozenset({"generation", "now", "tasks", "jobs", "queues"})
_OF_A_START: Final = frozenset({"status", "started", "scheduled"})
_WORDS: Final = frozenset({"status", "resource_version"})
_SUMS: Final = frozenset({"allocated", "resource_version"})

_NOBODY: Final[Int] = np.zeros(0, np.int64)

T = TypeVar("T", TaskTable, JobTable)


@dataclass(frozen=True, slots=True)
class LastRound:
    """A round that moved nothing, by a policy all of which is steady: what it was given, and what it said."""

    policy: Policy
    snapshot: Snapshot
    decisions: Decisions


@dataclass(frozen=True, slots=True)
class Changes:
    """Jobs (rows) that differ from the round before, or were to be written. `close`: none of their pods waits, so they are closed
    anew; `as_told`: they wait, and their status says by now what the round before had to say."""

    close: Int
    as_told: Int


def repeatable(policy: Policy, snapshot: Snapshot, decisions: Decisions) -> LastRound | None:
    """What the next round may go by; None where this one moved something, or where the policy does not allow it."""
    did = decisions
    moved = did.commits or did.evictions or did.pipelined or did.lifts or did.left_out or did.ran
    return None if moved or not _is_steady(policy) else LastRound(policy, snapshot, decisions)


def _is_steady(policy: Policy) -> bool:
    plugins = (recipe.plugin for tier in policy.tiers for recipe in tier)
    return all(action.steady for action in policy.actions) and all(plugin.steady for plugin in plugins)


def changes(last: LastRound, policy: Policy, snapshot: Snapshot) -> Changes | None:
    """What differs from the round before; None when it may help somebody who waits, or change what is said of them."""
    before, wakes_at = last.snapshot, last.decisions.wakes_at
    if policy is not last.policy or snapshot.now < before.now:  # the clock was set back
        return None
    if wakes_at is not None and snapshot.now >= wakes_at:
        return None
    if not (
        same(before, snapshot, _OF_THE_ROUND)
        and same(before.tasks, snapshot.tasks, _OF_A_START)
        and same(before.jobs, snapshot.jobs, _WORDS)
        and same(before.queues, snapshot.queues, _SUMS)
    ):
        return None
    started = _started(before.tasks, snapshot.tasks)
    return None if started is None else _sorted_out(last, snapshot, started)


def _started(before: TaskTable, tasks: TaskTable) -> Int | None:
    """Jobs (rows) of pods that are now nearer to running, or further; None when a pod did anything else."""
    if before is tasks:
        return _NOBODY
    moved: Bool = before.status != tasks.status
    moved |= (before.started != tasks.started) | (before.scheduled != tasks.scheduled)
    rows = np.flatnonzero(moved)
    if not (np.isin(before.status[rows], _STARTING) & np.isin(tasks.status[rows], _STARTING)).all():
        return None
    found: Int = np.unique(tasks.job[rows]).astype(np.int64)
    return found


def _sorted_out(last: LastRound, snapshot: Snapshot, started: Int) -> Changes | None:
    old, jobs = last.snapshot.jobs, snapshot.jobs
    said = {update.job: update.status for update in last.decisions.groups}
    touched = np.union1d(started, np.array([*_rewritten(old, jobs), *_among(jobs, said)], np.int64))
    if not len(touched):
        return Changes(_NOBODY, _NOBODY)
    # Shares and budgets of queues go by phases: another one may let a group in, or keep it out.
    if any(old.status[row].phase != jobs.status[row].phase for row in touched.tolist()):
        return None
    waits = _waiting(snapshot)
    # Why its pods wait counts the pods that run: the words of a job that waits would be others now.
    if waits[started].any():
        return None
    as_told = touched[waits[touched]]
    # A group that waits is not closed anew, since only the actions know why; so there must be nothing left to write.
    for row in as_told.tolist():
        if jobs.status[row] != said.get(jobs.names[row], old.status[row]):
            return None
    return Changes(touched[~waits[touched]], as_told)


def _rewritten(old: JobTable, jobs: JobTable) -> list[int]:
    """Rows whose PodGroup was written since. Python objects have no columns to compare: a loop, 0.1 us a group."""
    if old is jobs:
        return []
    columns = (old.status, jobs.status, old.resource_version, jobs.resource_version)
    return [
        row
        for row, (a, b, v, w) in enumerate(zip(*columns, strict=True))
        if v != w or (a is not b and a != b)
    ]


def _among(jobs: JobTable, names: Container[str]) -> list[int]:
    return [row for row, name in enumerate(jobs.names) if name in names] if names else []


def _waiting(snapshot: Snapshot) -> Bool:
    """(J,) Jobs with a pod that has no node yet, and those that are not let in: actions have a say in them."""
    waits = np.isin([status.phase for status in snapshot.jobs.status], (Phase.EMPTY, Phase.PENDING))
    tasks = snapshot.tasks
    waits[tasks.job[np.isin(tasks.status, WAITING_STATUS)]] = True
    return waits


def repeated(
    last: LastRound,
    snapshot: Snapshot,
    found: Changes,
    groups: Iterable[GroupUpdate],
    events: Iterable[Event],
) -> Decisions:
    """The decisions of the round before, with `groups` and `events` for the jobs that were closed anew.

    What is said again is the very same tuples: `actors/novelty` passes over them unread."""
    return replace(
        last.decisions,
        generation=snapshot.generation,
        groups=tuple(groups),
        events=_events(last.decisions.events, snapshot.jobs, found, events),
        queues=_queues(last.decisions.queues, last.snapshot.queues, snapshot.queues),
    )


def _events(
    before: tuple[Event, ...], jobs: JobTable, found: Changes, events: Iterable[Event]
) -> tuple[Event, ...]:
    """Events of the round before and of now: those of groups that are closed anew are replaced, and that a group is ready is
    not said again once that is written."""
    closed = {jobs.names[row] for row in found.close.tolist()}
    as_told = {jobs.names[row] for row in found.as_told.tolist()}
    if not closed and not as_told:
        return before
    kept = [
        event
        for event in before
        if (event.kind, event.type, event.reason) not in LAST_WORDS
        or (event.name not in closed and (event.reason != READY or event.name not in as_told))
    ]
    for event in events:
        insort(kept, event, key=Event.order)
    return tuple(kept)


def _queues(said: tuple[QueueUpdate, ...], before: QueueTable, queues: QueueTable) -> tuple[QueueUpdate, ...]:
    """Queues whose status does not say yet what the round before found."""
    holds = {update.queue: update.allocated for update in said}
    updates = []
    for row, name in enumerate(queues.names):
        held = holds.get(name, before.allocated[row])
        if held is None:
            continue
        update = QueueUpdate(name, queues.resource_version[row], _as_found(held))
        if not update.is_said(queues.allocated[row]):
            updates.append(update)
    return tuple(sorted(updates, key=lambda update: update.queue))


def _as_found(recorded: Amounts) -> Amounts:
    """What a status says in the form in which a round would find it: cpu and memory always, of all else what is held."""
    held = {name: amount for name, amount in recorded if amount}
    return tuple(sorted({"cpu": 0, "memory": 0, **held}.items()))


def closers(policy: Policy) -> Policy:
    """The policy with nothing but the plugins that have last words."""
    kept = (tuple(each for each in tier if offers(each.plugin, Close)) for tier in policy.tiers)
    return replace(policy, actions=(), tiers=tuple(kept))


def only(snapshot: Snapshot, jobs: Int) -> Snapshot:
    """The snapshot with these jobs and their pods alone, for the rules by which PodGroups are closed."""
    row_of = np.full(len(snapshot.jobs), MISSING, np.int64)
    row_of[jobs] = np.arange(len(jobs))
    tasks = _rows(snapshot.tasks, np.flatnonzero(row_of[snapshot.tasks.job] != MISSING))
    own = row_of[tasks.job].astype(tasks.job.dtype)
    return replace(snapshot, jobs=_rows(snapshot.jobs, jobs), tasks=replace(tasks, job=own))


def _rows(table: T, rows: Int) -> T:
    """Some rows of a table; the last axis of each column is the table's."""
    chosen = rows.tolist()
    parts: dict[str, Any] = {}
    for each in fields(table):
        column = getattr(table, each.name)
        if isinstance(column, np.ndarray):
            parts[each.name] = column[..., rows]
        elif column:
            parts[each.name] = tuple(column[row] for row in chosen)
    return replace(table, **parts)
