"""What is known of gangs that found no room: an equal one fails alike in the same state, without a search.

Those with a topology go by `signature`, asked of each before its search; those without by `Alike`, made once an action, since
thousands of them may wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vcray.core.ledger import Undone
from vcray.core.order import Worksheet
from vcray.core.place import Refusal
from vcray.core.session import Session
from vcray.core.subjobs import Parts
from vcray.core.tables import MISSING, Status
from vcray.core.turn import Turn


@dataclass(frozen=True, slots=True)
class Failure:
    """What the failed search left behind, by place in the gang's task order: sentences, and seats that were undone."""

    texts: tuple[tuple[int, str], ...]
    seats: tuple[tuple[int, Undone], ...]


def signature(session: Session, parts: Parts, queue: int, tasks: Sequence[int]) -> object | None:
    """Two jobs with equal ones come to the same end; None for a job that is not like others: grouped, started, tried before in the
    session, with roles, or scored by itself.

    Holds while the ledger is in the same state, which is part of it."""
    view = session.view
    jobs, table = view.snapshot.jobs, view.snapshot.tasks
    job = parts.job
    if parts.grouped or len(parts.subjobs) != 1 or len(tasks) != len(view.tasks_of_job[job]):
        return None
    if int(view.jobs.count[Status.PENDING, job]) != len(tasks) or jobs.role_minimum[job]:
        return None
    rows = list(tasks)
    shapes = table.shape[rows]
    if (table.nominated[rows] >= 0).any() or session.chains.parts.apart(view, job):
        return None
    tried = (session.ledger.undone, session.record.refused)
    if any(task in before for before in tried for task in rows):
        return None
    return (
        session.ledger.version,
        queue,
        shapes.tobytes(),
        tuple(session.placer.class_of(job, view.shapes[row]) for row in dict.fromkeys(shapes.tolist())),
        tuple(bool(role) for role in table.role[rows].tolist()),
        int(jobs.min_available[job]),
        parts.limit,
        parts.near,
        jobs.min_resources[:, job].tobytes(),
        jobs.min_resources_named[:, job].tobytes(),
    )


def take_down(session: Session, tasks: Sequence[int]) -> Failure | None:
    """What a failed search left behind; None when it says something of one gang alone."""
    refused, undone = session.record.refused, session.ledger.undone
    texts = tuple((place, refused[task]) for place, task in enumerate(tasks) if task in refused)
    if any(text.startswith("Task ") for _, text in texts):
        return None
    return Failure(texts, tuple((place, undone[task]) for place, task in enumerate(tasks) if task in undone))


def repeat(session: Session, failure: Failure, tasks: Sequence[int]) -> None:
    """Leave the same behind for an equal gang."""
    session.record.refused.update((tasks[place], text) for place, text in failure.texts)
    session.ledger.undone.update((tasks[place], seat) for place, seat in failure.seats)


class Kind(NamedTuple):
    """All that the turn of a job reads of it whose tasks are all pending, equal and on the worksheet."""

    queue: int
    shape: int
    role: int
    tasks: int
    least: int
    minimums: tuple[tuple[int, int], ...]


class _Company:
    """Jobs of one kind. `refusal`: how one of them was refused; `refused`: how many of its tasks behind the seats were;
    `by_shape`: is each of the others refused like it for sure?"""

    __slots__ = ("by_shape", "kind", "refusal", "refused")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.refusal: Refusal | None = None
        self.refused = 0
        self.by_shape = False


class Alike:
    """Jobs without parts that are told by their `Kind` alone: of each kind one refusal tells all others.

    Readiness must follow from counts and minimums (`Plugin.by_counts`), else no job is like another. A job is until its first
    turn in the action; then its tasks may have moved, or have been refused. Kinds are looked for once a job was known to fail."""

    def __init__(self, session: Session, worksheet: Worksheet) -> None:
        self._session = session
        self._worksheet = worksheet
        self._company: dict[int, _Company] = {}
        self._looked = not session.chains.by_counts

    def repeats(self, job: int) -> bool:
        """True when one like the job was refused in this very state: then all is left behind that its turn would have left."""
        company = self._company.get(job)
        if company is None or company.refusal is None:
            return False
        session, kind, refusal = self._session, company.kind, company.refusal
        if refusal.version != session.ledger.version:
            return False
        shape = session.view.shapes[kind.shape]
        if not company.by_shape and session.placer.refusal(job, shape, refusal.queue) is not refusal:
            return False
        placed = len(refusal.seats)
        if refusal.queue != MISSING:
            session.ledger.suppose_undone(self._worksheet.run(job, placed), refusal.seats)
            self._worksheet.pop(job, kind.tasks)
            return True
        tasks = self._worksheet.run(job, placed + company.refused)
        self._worksheet.pop(job, len(tasks))
        if placed:
            session.ledger.suppose_undone(tasks, refusal.seats)
        for task in tasks[placed:]:
            session.record.refused[task] = refusal.text
        if kind.role:
            session.record.failed_roles.setdefault(job, set()).add(kind.role)
        return True

    def known_to_fail(self, turn: Turn) -> bool:
        """The turn's own answer, kept for those that are like its job."""
        company = self._company.pop(turn.job, None)
        refusal = turn.known_to_fail()
        if refusal is None:
            return False
        if company is not None:
            kind = company.kind
            refused = kind.tasks - self._worksheet.left(turn.job) - len(refusal.seats)
            # Of a role all behind the first that failed say so by name, so that no other gang can repeat it.
            if refusal.queue != MISSING or refused == 1 or not kind.role:
                company.refusal, company.refused = refusal, refused
                shape = self._session.view.shapes[kind.shape]
                company.by_shape = self._session.placer.tells_by_shape(turn.job, shape)
        elif not self._looked:
            self._look()
        return True

    def _look(self) -> None:
        self._looked = True
        companies: dict[Kind, _Company] = {}
        for job, kind in _kinds(self._session, self._worksheet):
            if kind not in companies:
                companies[kind] = _Company(kind)
            self._company[job] = companies[kind]


def _kinds(session: Session, worksheet: Worksheet) -> Iterator[tuple[int, Kind]]:
    """Jobs that are told by their kind. One that had a turn, or of which a task was refused earlier in the session, is not."""
    view, record = session.view, session.record
    table, count = view.snapshot, view.jobs.count
    jobs = len(table.jobs)
    first, end = np.array(worksheet.next[:jobs]), np.array(worksheet.end[:jobs])
    fresh = first < end  # false for jobs with parts: these are units of their own, behind the jobs
    fresh[table.tasks.job[list(record.refused)]] = False
    rows = np.flatnonzero(fresh)
    first, end = first[rows], end[rows]
    task, left = worksheet.tasks_array[first], end - first
    same = np.array(worksheet.run_end, dtype=np.int64)[first] == end
    same &= (left == count[Status.PENDING, rows]) & (left == count[:, rows].sum(axis=0))
    same &= table.tasks.nominated[task] == MISSING
    rows, task, left = rows[same], task[same], left[same]
    columns = (
        table.jobs.queue[rows],
        table.tasks.shape[task],
        table.tasks.role[task],
        left,
        table.jobs.min_available[rows],
    )
    minimums = map(table.jobs.role_minimum.__getitem__, rows.tolist())
    kinds = map(Kind, *(column.tolist() for column in columns), minimums)
    return zip(rows.tolist(), kinds, strict=True)
