"""A round that follows one in which nothing moved: decided as that one was, without asking anybody, where nothing can help now.

Who waits was refused by all the actions. They would say the same again as long as room, queues, claims and those who wait are
as they were. What may differ: pods that hold a node are now bound, or run; words in the status of a PodGroup or a queue;
time, until the moment at which it matters. Then only the PodGroups that changed are closed anew. A policy with a plugin or an action
that may answer otherwise for such a difference (`steady`), as all that evict do, has every round decided in full.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.decisions import READY, Decisions, Event, GroupUpdate, QueueUpdate
from vcray.core.hooks import Close
from vcray.core.policy import Policy, offers
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, JobTable, Phase, Status, TaskTable

HOLDING: Final = (Status.BINDING, Status.BOUND, Status.RUNNING)
WAITING: Final = (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)

_OF_THE_ROUND: Final = frozenset({"generation", "now", "tasks", "jobs", "queues"})
_OF_A_START: Final = frozenset({"status", "started", "scheduled"})
_WORDS: Final = frozenset({"status", "resource_version"})
_SUMS: Final = frozenset({"allocated", "resource_version"})

_NOBODY: Final[Int] = np.zeros(0, np.int64)

T = TypeVar("T", TaskTable, JobTable)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a round that moved nothing was given, and what it said."""

    policy: Policy
    snapshot: Snapshot
    decisions: Decisions


@dataclass(frozen=True, slots=True)
class News:
    """Rows of the jobs whose PodGroups say something else now: to be closed anew, or in the words of the round before."""

    closing: Int
    told: Int


def settled(policy: Policy, snapshot: Snapshot, decisions: Decisions) -> Settled | None:
    """What the next round may go by; None where this one moved something, or where the policy does not allow it."""
    did = decisions
    moved = did.commits or did.evictions or did.pipelined or did.lifts or did.left_out or did.ran
    return None if moved or not _steady(policy) else Settled(policy, snapshot, decisions)


def _steady(policy: Policy) -> bool:
    """Do all plugins and actions do the same again while nothing differs but what `Plugin.steady` names?"""
    plugins = (recipe.plugin for tier in policy.tiers for recipe in tier)
    return all(action.steady for action in policy.actions) and all(plugin.steady for plugin in plugins)


def news(last: Settled, policy: Policy, snapshot: Snapshot) -> News | None:
    """What differs from the round before; None when it may help somebody who waits."""
    before, wakes_at = last.snapshot, last.decisions.wakes_at
    if policy is not last.policy or (wakes_at is not None and snapshot.now >= wakes_at):
        return None
    if not (
        alike(before, snapshot, _OF_THE_ROUND)
        and alike(before.tasks, snapshot.tasks, _OF_A_START)
        and alike(before.jobs, snapshot.jobs, _WORDS)
        and alike(before.queues, snapshot.queues, _SUMS)
    ):
        return None
    started = _started(before.tasks, snapshot.tasks)
    return None if started is None else _news(last, snapshot, started)


def _started(before: TaskTable, tasks: TaskTable) -> Int | None:
    """Jobs (rows) of pods that went on to hold their node otherwise; None when a pod did anything else."""
    if before is tasks:
        return _NOBODY
    moved: Bool = before.status != tasks.status
    moved |= (before.started != tasks.started) | (before.scheduled != tasks.scheduled)
    rows = np.flatnonzero(moved)
    if not (np.isin(before.status[rows], HOLDING) & np.isin(tasks.status[rows], HOLDING)).all():
        return None
    found: Int = np.unique(tasks.job[rows]).astype(np.int64)
    return found


def _news(last: Settled, snapshot: Snapshot, started: Int) -> News | None:
    old, jobs = last.snapshot.jobs, snapshot.jobs
    said = {update.job: update for update in last.decisions.groups}
    touched = np.union1d(started, np.array([*_rewritten(old, jobs), *_among(jobs, said)], np.int64))
    if not len(touched):
        return News(_NOBODY, _NOBODY)
    if any(old.status[row].phase != jobs.status[row].phase for row in touched.tolist()):
        return None
    waits = np.zeros(len(jobs), dtype=np.bool_)
    waits[snapshot.tasks.job[np.isin(snapshot.tasks.status, WAITING)]] = True
    waits |= np.array([status.phase <= Phase.PENDING for status in jobs.status], dtype=np.bool_)
    if waits[started].any():
        return None
    told = touched[waits[touched]]
    for row in told.tolist():
        update = said.get(jobs.names[row])
        if jobs.status[row] != (old.status[row] if update is None else update.status):
            return None
    return News(touched[~waits[touched]], told)


def _rewritten(old: JobTable, jobs: JobTable) -> list[int]:
    """Rows whose PodGroup was written since."""
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


def repeated(
    last: Settled, snapshot: Snapshot, found: News, groups: Iterable[GroupUpdate], events: Iterable[Event]
) -> Decisions:
    """The decisions of the round before, with `groups` and `events` for the jobs that were closed anew."""
    return replace(
        last.decisions,
        generation=snapshot.generation,
        groups=tuple(groups),
        events=_events(last.decisions.events, snapshot.jobs, found, events),
        queues=_queues(last, snapshot),
    )


def _events(
    before: tuple[Event, ...], jobs: JobTable, found: News, events: Iterable[Event]
) -> tuple[Event, ...]:
    """Events of the round before and of now: those of groups that are closed anew are replaced, and that a group is ready is
    not said again once that is written."""
    closed = {jobs.names[row] for row in found.closing.tolist()}
    told = {jobs.names[row] for row in found.told.tolist()}
    if not closed and not told:
        return before
    kept = [
        event
        for event in before
        if event.kind != "PodGroup"
        or (event.name not in closed and (event.reason != READY or event.name not in told))
    ]
    for event in events:
        insort(kept, event, key=Event.order)
    return tuple(kept)


def _queues(last: Settled, snapshot: Snapshot) -> tuple[QueueUpdate, ...]:
    """Queues whose status does not say yet what the round before found."""
    said = {update.queue: update.allocated for update in last.decisions.queues}
    table, before = snapshot.queues, last.snapshot.queues
    updates = []
    for row, name in enumerate(table.names):
        held = said.get(name, before.allocated[row])
        if held is None:
            continue
        update = QueueUpdate(name, table.resource_version[row], held)
        if not update.is_said(table.allocated[row]):
            updates.append(update)
    return tuple(sorted(updates, key=lambda update: update.queue))


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


def alike(a: object, b: object, but: frozenset[str] = frozenset()) -> bool:
    """Do two values hold the same? Tables, mappings and arrays are looked into; `but`: fields that may differ."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple) and any(isinstance(item, np.ndarray) for item in a[:1]):
        return len(a) == len(b) and all(map(alike, a, b))
    if is_dataclass(a):
        names = (each.name for each in fields(a) if each.name not in but)
        return all(alike(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(value, b[key]) for key, value in a.items())
    return bool(a == b)
