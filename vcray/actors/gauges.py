"""Gauges that follow a round: what waits after it. Series of jobs that are gone are removed, not left behind."""

from __future__ import annotations

import numpy as np

from vcray.core.decisions import Decisions
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Status
from vcray.metrics import Metrics


class RoundGauges:
    """Remembers which jobs have a series."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._shown: set[str] = set()

    def show(self, snapshot: Snapshot, decisions: Decisions) -> None:
        """Pods per job that are still pending after the round; `job_id` is the PodGroup's name, as in Volcano."""
        tasks = snapshot.tasks
        pending = (tasks.status == Status.PENDING) & (tasks.job != MISSING)
        counts = np.bincount(tasks.job[pending], minlength=len(snapshot.jobs))
        left = {snapshot.jobs.names[row]: int(counts[row]) for row in np.flatnonzero(counts)}
        for commit in decisions.commits:
            left[commit.job] = left.get(commit.job, 0) - len(commit.binds)
        waiting: dict[str, int] = {}
        for job, count in left.items():
            if count > 0:
                name = job.partition("/")[2]
                waiting[name] = waiting.get(name, 0) + count
        for name in self._shown - set(waiting):
            self._metrics.unscheduled_tasks.remove(name)
        for name, count in waiting.items():
            self._metrics.unscheduled_tasks.labels(job_id=name).set(count)
        self._shown = set(waiting)
        self._metrics.unscheduled_jobs.set(len(waiting))
