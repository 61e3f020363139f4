"""Room that evictions made is kept for those whom it was made for.

Volcano forgets a claim with its session: when the victims are gone, whoever comes first takes their room, and that may be the
victims' own successors, so that a queue takes and gives back for ever. Here a pending pod with `status.nominatedNodeName` holds
its claim as long as the node has, or will have, room for it: its job has a turn before all others, and the pod before others of its
job. Where priority decides who may take from whom, jobs of higher priority in the same queue still come first if the order of
jobs says so, as in kube-scheduler, where a nomination counts against pods of equal and lower priority only.

A gang may not start before the last of its victims is gone: filters see their slots and ports until then. What is kept for its
other pods is held for it meanwhile, unless the node that is being cleared has been cordoned or tainted: then nobody waits for it.
Whoever finds another idle node that is kept for nobody takes that.
"""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Int
from vcray.core.order import ascending_tasks
from vcray.core.place import Placer
from vcray.core.space import PODS
from vcray.core.tables import MISSING, Status


def nominees(placer: Placer) -> dict[int, int]:
    """Pending tasks that some room is kept for -> row of its node."""
    view, table = placer.view, placer.view.snapshot.tasks
    rows = np.flatnonzero((table.nominated != MISSING) & (view.status == Status.PENDING))
    return {task: int(table.nominated[task]) for task in rows.tolist() if has_room(placer, task)}


def has_room(placer: Placer, task: int) -> bool:
    """May the task go to the node that is nominated for it, and has that room for it, or will it have? None while cpu or memory
    are overcommitted."""
    view, table = placer.view, placer.view.snapshot.tasks
    node, shape = int(table.nominated[task]), view.shapes[int(table.shape[task])]
    room = view.nodes.future[:, node].copy()
    room[PODS:] = np.maximum(room[PODS:], 0)
    return bool((shape.request <= room).all()) and placer.allows(int(table.job[task]), shape, node)


class Kept:
    """Jobs among `jobs` with such pods among `tasks`. `waiting`: queue row -> those that still wait for them to be placed;
    `tasks`: job row -> those pods, in their order."""

    def __init__(self, placer: Placer, tasks: Int, jobs: list[int]) -> None:
        self.placer = placer
        view = self.view = placer.view
        self.waiting: dict[int, set[int]] = {}
        self.tasks: dict[int, list[int]] = {}
        table, job_table = view.snapshot.tasks, view.snapshot.jobs
        rows = tasks[table.nominated[tasks] != MISSING]
        for task in ascending_tasks(view, placer.chains, rows, table.job[rows]).tolist():
            if has_room(placer, task):
                self.tasks.setdefault(int(table.job[task]), []).append(task)
        for job in self.tasks.keys() & set(jobs):
            self.waiting.setdefault(int(job_table.queue[job]), set()).add(job)
        open_jobs = sorted(job for waiting in self.waiting.values() for job in waiting)
        self._open: Int = np.array([t for job in open_jobs for t in self.tasks[job]], dtype=np.int64)

    def first(self, jobs: list[int], ranks: bool) -> list[int]:
        """Those of `jobs` that come before the others: with places kept, and, if the valuable may take from the less valuable
        (`ranks`), more valuable ones of their queues."""
        table = self.view.snapshot.jobs
        least = {queue: int(table.priority[list(kept)].min()) for queue, kept in self.waiting.items()}
        queue_of, priority_of = table.queue, table.priority
        return [
            job
            for job in jobs
            if (queue := int(queue_of[job])) in least
            and (job in self.waiting[queue] or (ranks and int(priority_of[job]) > least[queue]))
        ]

    def waits(self, queue: int) -> bool:
        """Does a job of the queue still wait for what is kept for it?"""
        return bool(self.waiting[queue])

    def for_others(self, task: int) -> Int:
        """Nodes (rows) that are kept for pods other than this one, of jobs that still wait for them."""
        others = self._open[(self._open != task) & (self.view.status[self._open] == Status.PENDING)]
        return np.unique(self.view.snapshot.tasks.nominated[others])

    def had_turn(self, job: int, through: bool) -> None:
        """A turn of the job is over; `through`: it was its last of this round, so what is on its way out for it is promised."""
        waiting = self.waiting[int(self.view.snapshot.jobs.queue[job])]
        table, releasing = self.view.snapshot.tasks, self.view.nodes.releasing
        tasks = [task for task in self.tasks.get(job, ()) if self.view.status[task] == Status.PENDING]
        if through or not tasks:
            waiting.discard(job)
            self._open = self._open[table.job[self._open] != job]
        if not through or not tasks or not releasing[:, table.nominated[self.tasks[job]]].any():
            return
        for task in tasks:
            if has_room(self.placer, task):
                shape = self.view.shapes[int(table.shape[task])]
                self.placer.hold(job, shape, task, int(table.nominated[task]))
