"""Volcano's `priority`: the higher PriorityClass value first, among the tasks of a job and among jobs.

A job counts as starving, so it may take from others, while any of its tasks is neither ready nor promised a node. Within a
queue only less valuable pods may go: those of jobs of lower priority, in the same job tasks of lower priority. Where another
plugin of a later tier would give away a pod of a *higher* job, it is kept (volcano-sh/volcano#2612).
"""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from vcray.core.arrays import Bool, Int, IntLike
from vcray.core.plugin import Args, Plugin
from vcray.core.subjobs import SubJob
from vcray.core.tables import READY_STATUS, Status
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import View

_counts_promised = itemgetter(*READY_STATUS, Status.PIPELINED)


class Priority(Plugin[Args]):
    """Orders by `spec.priority` of pods and by the priority of a PodGroup's class."""

    steady = True
    vetoes = True
    ranks = True

    def task_order(self, view: View, tasks: Int) -> Int:
        """(k,) minus the priority of each task: higher first."""
        return -view.snapshot.tasks.priority[tasks].astype(np.int64)

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        """Minus the priority of the job(s): higher first."""
        if isinstance(jobs, np.ndarray):
            return -view.snapshot.jobs.priority[jobs].astype(np.int64)
        return -int(view.snapshot.jobs.priority[jobs])

    def subjob_order(self, view: View, subjob: SubJob) -> float:
        """Higher priority first: the highest of its tasks."""
        return -float(subjob.priority)

    def job_starving(self, view: View, job: int) -> bool:
        """Ready and promised tasks do not make up all tasks of the job."""
        count: list[int] = view.jobs.count[:, job].tolist()
        held: tuple[int, ...] = _counts_promised(count)
        return sum(held) < sum(count)

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """Lower priority than the claimant's; asked about winners of other tiers, not higher."""
        least = 0 if claim.again else 1
        jobs, tasks = view.snapshot.jobs, view.snapshot.tasks
        by_job = int(jobs.priority[claim.job]) - jobs.priority[candidates.job]
        by_task = int(tasks.priority[list(claim.tasks)].max()) - tasks.priority[candidates.task]
        lower: Bool = np.where(candidates.job == claim.job, by_task, by_job) >= least
        return lower

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """For `gangpreempt` lower priority than the claimant's job; `gangreclaim` goes by queues, not by priority."""
        if claim.kind is ClaimKind.GANG_RECLAIM:
            return np.ones(len(candidates), dtype=np.bool_)
        priority = view.snapshot.jobs.priority
        lower: Bool = priority[candidates.job] < int(priority[claim.job])
        return lower

    def claim_key(self, view: View, claim: Claim) -> object:
        """Priority of the job and of the task."""
        tasks = view.snapshot.tasks.priority[list(claim.tasks)]
        return int(view.snapshot.jobs.priority[claim.job]), int(tasks.max())
