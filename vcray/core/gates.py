"""Queue admission by a scheduling gate: a pod that asked for it gets its gate removed once its queue has room for it.

Such a pod carries the annotation and the gate of the same name. While it is gated it waits for nothing but its queue; from
the removal until it is placed its request is reserved there, so that nobody without the annotation takes the room meanwhile.
Share plugins read `reserved`. Pods with the annotation do not keep each other out: they would wait for one another for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vcray.api.names import QUEUE_ALLOCATION_GATE
from vcray.core.arrays import Int
from vcray.core.tables import MISSING, Phase, Status

if TYPE_CHECKING:
    from vcray.core.session import Session
    from vcray.core.view import Shape, View


def asked(shape: Shape) -> bool:
    """Did pods of this shape ask for admission by their queue?"""
    return (QUEUE_ALLOCATION_GATE, "true") in shape.spec.notes


class Gates:
    """The pods of a session that asked for it. `lifted`: task rows whose gates are to be removed, in order."""

    def __init__(self, view: View) -> None:
        self._view = view
        tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
        shapes = np.array([asked(shape) for shape in view.shapes], dtype=np.bool_)
        self._rows: Int = np.flatnonzero(shapes[tasks.shape]) if len(shapes) else np.zeros(0, np.int64)
        self._queue = jobs.queue[tasks.job[self._rows]]
        self._open = ~tasks.gated[self._rows]
        self._before = view.status[self._rows].copy()
        requests = [view.shapes[shape].request for shape in tasks.shape[self._rows].tolist()]
        self._requests: Int = np.array(requests, np.int64).reshape(len(requests), len(view.space))
        self.lifted: list[int] = []
        self._lifting = False

    def reserved(self, queue: int, shape: Shape) -> list[int] | None:
        """(R,) what is kept in a queue from a pod of the shape: for others that asked and are admitted and not placed, or
        were evicted in this session. None for nothing."""
        if not len(self._rows) or (asked(shape) and not self._lifting):
            return None
        status = self._view.status[self._rows]
        kept = (status == Status.PENDING) & self._open
        kept |= (status == Status.RELEASING) & (self._before != Status.RELEASING)
        kept &= self._queue == queue
        found: list[int] = self._requests[kept].sum(axis=0).tolist()
        return found

    def lift(self, session: Session) -> None:
        """Choose whose gates go: in the order of queues, jobs and tasks, as long as the queue lets each in."""
        from vcray.core.order import Turns, Worksheet

        view, chains = session.view, session.chains
        tasks, jobs, facts = view.snapshot.tasks, view.snapshot.jobs, view.snapshot.pod_facts
        waits = (view.status == Status.PENDING) & tasks.gated
        waits &= ((jobs.queue != MISSING) & (view.jobs.phase > Phase.PENDING))[tasks.job]
        rows = np.flatnonzero(waits)
        rows = rows[np.array([each.queue_gated for each in facts], dtype=bool)[tasks.facts[rows]]]
        if not len(rows):
            return
        chosen = [job for job in np.unique(tasks.job[rows]).tolist() if chains.job_valid(view, job) is None]
        sheet = Worksheet(view, chains, rows)
        turns = Turns(view, chains, chosen, np.unique(jobs.queue[chosen]).tolist())
        place = {row: index for index, row in enumerate(self._rows.tolist())}
        self._lifting = True
        while (queue := turns.pop_queue()) is not None:
            if chains.queue_overused(view, queue):
                continue
            while (job := turns.pop_job(queue)) is not None:
                for task in sheet.remaining(job).tolist():
                    shape = view.shapes[int(tasks.shape[task])]
                    if chains.queue_allows(view, queue, shape, 1):
                        self.lifted.append(task)
                        self._open[place[task]] = True
        self._lifting = False
