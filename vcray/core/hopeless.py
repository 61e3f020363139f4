"""What is known of gangs with a topology that found no HyperNode: an equal one fails alike in the same state, without a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcray.core.ledger import Undone
from vcray.core.session import Session
from vcray.core.subjobs import Parts
from vcray.core.tables import Status


@dataclass(frozen=True, slots=True)
class Failure:
    """What the failed search left behind, by place in the gang's task order: sentences, and seats that were undone."""

    texts: tuple[tuple[int, str], ...]
    seats: tuple[tuple[int, Undone], ...]


def signature(session: Session, parts: Parts, queue: int, tasks: Sequence[int]) -> object | None:
    """Two jobs with equal ones come to the same end; None for a job that is not like others: grouped, started, or with roles.

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
    if (table.nominated[rows] >= 0).any():
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
