"""Volcano's `priority`: the higher PriorityClass value first, among the tasks of a job and among jobs.

A job counts as starving, so it may take from others, while any of its tasks is neither ready nor promised a node.
Its say on victims belongs to the actions that evict.
"""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Int, IntLike
from vcray.core.plugin import Args, Plugin
from vcray.core.tables import READY_STATUS, Status
from vcray.core.view import View


class Priority(Plugin[Args]):
    """Orders by `spec.priority` of pods and by the priority of a PodGroup's class."""

    def task_order(self, view: View, tasks: Int) -> Int:
        """(k,) minus the priority of each task: higher first."""
        return -view.snapshot.tasks.priority[tasks].astype(np.int64)

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        """Minus the priority of the job(s): higher first."""
        if isinstance(jobs, np.ndarray):
            return -view.snapshot.jobs.priority[jobs].astype(np.int64)
        return -int(view.snapshot.jobs.priority[jobs])

    def job_starving(self, view: View, job: int) -> bool:
        """Ready and promised tasks do not make up all tasks of the job."""
        count: list[int] = view.jobs.count[:, job].tolist()
        return sum(count[s] for s in READY_STATUS) + count[Status.PIPELINED] < sum(count)
