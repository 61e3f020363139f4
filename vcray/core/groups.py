"""PodGroups at the end of a session: what plugins say of them, their phase, status and event.

Rules are Volcano's job updater's; the phases are a table of their own (`groupphases`).
Only groups that changed, or wait, cost more than a few array operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from operator import attrgetter

import numpy as np

from vcray.api.names import RELEASED
from vcray.core.arrays import Bool, Int
from vcray.core.decisions import READY, Event, GroupUpdate
from vcray.core.groupphases import phases
from vcray.core.ledger import Ledger
from vcray.core.reasons import group_sentence, origin_sentence
from vcray.core.record import Record
from vcray.core.tables import MISSING, READY_STATUS, STATUSES, Condition, GroupStatus, Phase, Status
from vcray.core.view import View

UNSCHEDULABLE = "Unschedulable"
SCHEDULABLE = "Schedulable"

RESTS = f"its PodGroup is released (annotation {RELEASED}); none of its pods is started"
"""Why pods of a group wait whose owner wants no room now."""

LAST_WORDS = frozenset({("PodGroup", "Warning", UNSCHEDULABLE), ("PodGroup", "Normal", READY)})
"""Kind, type and reason of the events that close a session; actions tell others of PodGroups."""

_PHASES = tuple(Phase)

_COUNTED = 4 * (STATUSES + 2)
"""Bytes of what is counted of a job: tasks by status, best-effort ones that wait, the minimum."""


class Collector:
    """What plugins may ask while they close, and the conditions they set (`vcray.core.hooks.Closing`)."""

    def __init__(self, view: View, ledger: Ledger, record: Record) -> None:
        self.view = view
        self.ledger = ledger
        self.record = record
        self.conditions: dict[int, dict[str, tuple[str, str]]] = {}
        """Job -> type -> reason and message."""
        self._since = datetime.fromtimestamp(int(view.snapshot.now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._sentences: dict[int, str] = {}
        self._made_of: dict[tuple[str, str, str, str], Condition] = {}
        self._heads: dict[tuple[object, ...], str] = {}
        self._undone: list[int] | None = None
        self._counted: bytes | None = None
        self._origins: dict[int, tuple[str, str]] | None = None

    def ready(self, job: int) -> bool:
        """Enough tasks hold a node, are done, or wait for backfill (Volcano's IsReady)."""
        count = self.view.jobs.count[:, job].tolist()
        held = sum(count[status] for status in READY_STATUS) + int(self.view.jobs.pending_best_effort[job])
        return bool(held >= int(self.view.snapshot.jobs.min_available[job]))

    def fit_error(self, job: int) -> str:
        """Why the job's pods do not all run, as one sentence; asked often, made once."""
        sentence = self._sentences.get(job)
        if sentence is None:
            released = self.view.snapshot.jobs.released[job]
            said = RESTS if released else self._counts(job) + origin_sentence(self._origin().get(job))
            sentence = self._sentences[job] = said
        return sentence

    def _counts(self, job: int) -> str:
        """The part of the sentence that counts; equal counts, as of gangs of one kind, give one text."""
        jobs, snapshot = self.view.jobs, self.view.snapshot
        if self._counted is None:
            told = np.vstack((jobs.count, jobs.pending_best_effort, snapshot.jobs.min_available))
            self._counted = told.T.astype(np.int32).tobytes()
        undone = self.undone(job)
        key = (self._counted[job * _COUNTED : (job + 1) * _COUNTED], undone)
        text = self._heads.get(key)
        if text is None:
            count, least = jobs.count[:, job].tolist(), int(snapshot.jobs.min_available[job])
            pending = {SCHEDULABLE: undone, UNSCHEDULABLE: count[Status.PENDING] - undone}
            statuses = {status: count[status] for status in Status}
            text = self._heads[key] = group_sentence(self.ready(job), statuses, least, pending)
        return text

    def undone(self, job: int) -> int:
        """Pending tasks whose last placement was an allocation that was rolled back."""
        if self._undone is None:
            view, undone = self.view, self.ledger.undone
            rows = np.array([t for t, last in undone.items() if last.status is Status.ALLOCATED], np.int64)
            rows = rows[view.status[rows] == Status.PENDING]
            self._undone = np.bincount(
                view.snapshot.tasks.job[rows], minlength=len(view.snapshot.jobs)
            ).tolist()
        return self._undone[job]

    def _origin(self) -> dict[int, tuple[str, str]]:
        """Name and reason of each job's first task, by name, that has a reason of its own."""
        if self._origins is None:
            tasks, refused = self.view.snapshot.tasks, self.record.refused
            first: dict[int, int] = {}
            for task, job in zip(refused, tasks.job[list(refused)].tolist(), strict=True):
                known = first.get(job)
                if known is None or tasks.names[task] < tasks.names[known]:
                    first[job] = task
            self._origins = {
                job: (tasks.names[task].partition("/")[2], refused[task]) for job, task in first.items()
            }
        return self._origins

    def condition(self, job: int, type: str, reason: str, message: str) -> None:
        """Set a PodGroup condition with status True in place of the one of that type."""
        self.conditions.setdefault(job, {})[type] = (reason, message)

    def merged(self, job: int) -> tuple[Condition, ...]:
        """Old and new conditions of a group by type, each in its place; a new type at the end.

        What was the last to become true, and is said again, has been so since then: all types stay True for ever, so the latest
        `since` tells which one holds, and from when on."""
        old, said = self.view.snapshot.jobs.status[job].conditions, self.conditions.get(job)
        if said is None:
            return old
        last = max((condition.since for condition in old), default="")
        since = {each.type: each.since for each in old if each.status == "True" and each.since == last}
        new = {type: self._made(type, *words, since.get(type) or self._since) for type, words in said.items()}
        if not old and len(new) == 1:
            return tuple(new.values())
        added = map(new.__getitem__, sorted(new.keys() - map(attrgetter("type"), old)))
        return (*[new.get(condition.type, condition) for condition in old], *added)

    def _made(self, type: str, reason: str, message: str, since: str) -> Condition:
        """The condition of this session; equal ones, as of gangs of one kind, are one object."""
        words = (type, reason, message, since)
        found = self._made_of.get(words)
        if found is None:
            found = Condition(type, "True", reason, message, self.view.session, since)
            self._made_of[words] = found
        return found


def say_missing_queues(view: View, collector: Collector) -> None:
    """A condition for each PodGroup whose queue is not there; plugins never hear of these."""
    jobs = view.snapshot.jobs
    for job in np.flatnonzero(jobs.queue == MISSING).tolist():
        collector.condition(job, UNSCHEDULABLE, "QueueNotFound", missing_queue(jobs.queue_names[job]))


def missing_queue(name: str) -> str:
    """What a PodGroup says whose queue is not there."""
    return f"queue '{name}' does not exist; create it or name another in spec.queue"


def close_groups(view: View, collector: Collector) -> tuple[tuple[GroupUpdate, ...], list[Event]]:
    """New statuses of the groups whose status changed, in name order, and events of those that wait or changed."""
    jobs, count = view.snapshot.jobs, view.jobs.count
    phase = _phases(view, collector)
    told = [(status.phase, status.running, status.succeeded, status.failed) for status in jobs.status]
    recorded = np.array(told, dtype=np.int64).reshape(-1, 4).T
    present = np.stack([phase, count[Status.RUNNING], count[Status.SUCCEEDED], count[Status.FAILED]])
    changed: Bool = (recorded != present).any(axis=0)
    news = [job for job, new in collector.conditions.items() if _says_more(new, jobs.status[job].conditions)]
    changed[news] = True
    numbers, running, succeeded, failed = present.tolist()
    updates = []
    for job in sorted(np.flatnonzero(changed).tolist(), key=jobs.names.__getitem__):
        status = GroupStatus(
            phase=_PHASES[numbers[job]],
            running=running[job],
            succeeded=succeeded[job],
            failed=failed[job],
            conditions=collector.merged(job),
        )
        updates.append(GroupUpdate(jobs.names[job], jobs.uids[job], jobs.resource_version[job], status))
    return tuple(updates), _events(view, collector, phase, changed)


def _phases(view: View, collector: Collector) -> Int:
    """(J,) Phase of each group; see `groupphases`."""
    stuck: Bool = np.zeros(len(view.snapshot.jobs), dtype=np.bool_)
    stuck[[job for job, new in collector.conditions.items() if UNSCHEDULABLE in new]] = True
    return phases(view, stuck)


def _says_more(new: Mapping[str, tuple[str, str]], old: tuple[Condition, ...]) -> bool:
    """Does any new condition differ from the old one of its type? Times and transitionIDs do not make a difference."""
    for type, (reason, message) in new.items():
        for known in old:
            if known.type == type:
                if known.status != "True" or known.reason != reason or known.message != message:
                    return True
                break
        else:
            return True
    return False


def _events(view: View, collector: Collector, phase: Int, changed: Bool) -> list[Event]:
    jobs, count = view.snapshot.jobs, view.jobs.count
    lost = jobs.queue == MISSING
    open_ = np.isin(phase, (Phase.UNKNOWN, Phase.PENDING, Phase.INQUEUE))
    told = np.flatnonzero(lost | open_ | changed).tolist()
    missing, waits = lost.tolist(), open_.tolist()
    pending, total = count[Status.PENDING].tolist(), count.sum(axis=0).tolist()
    events = []
    for job in told:
        name, uid = jobs.names[job], jobs.uids[job]
        if missing[job]:
            text = missing_queue(jobs.queue_names[job])
            events.append(Event("PodGroup", name, uid, "Warning", UNSCHEDULABLE, text))
        elif not waits[job]:
            events.append(Event("PodGroup", name, uid, "Normal", READY, "pod group is ready"))
        elif pending[job] or not collector.ready(job):
            text = f"{pending[job]}/{total[job]} tasks in gang unschedulable: {collector.fit_error(job)}"
            events.append(Event("PodGroup", name, uid, "Warning", UNSCHEDULABLE, text))
    return events
