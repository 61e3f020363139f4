"""Volcano's `preempt`: starving jobs take room from less valuable pods of their own queue.

First each starving job of a queue claims room for its tasks, one after the other, at the cost of other jobs: all of it stays
only if the job then has enough promises to start. Then its remaining tasks may push out less valuable tasks of the same job.
Who may go is for the plugins to say; how few go, and that the claimant then fits, for `vcray.core.hunt`.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from vcray.core.action import Action
from vcray.core.candidates import Pool
from vcray.core.claimants import Claimants, close_claims, losers, may_evict, stays_near
from vcray.core.dryrun import DryRuns, Limits
from vcray.core.hunt import Hunt, pool_tasks
from vcray.core.plugin import Args
from vcray.core.session import Session
from vcray.core.tables import Status
from vcray.core.victims import ClaimKind

VICTIMS = (Status.BOUND, Status.RUNNING)


class PreemptArgs(Args):
    """Keys and defaults are Volcano's. The cache of refusals and the number of workers have no effect: masks are kept per
    shape of pod, and nodes are judged together."""

    cache: bool = Field(True, alias="predicateErrorCacheEnable")
    dry_runs: bool = Field(False, alias="enableTopologyAwarePreemption")
    workers: int = Field(16, alias="topologyAwarePreemptWorkerNum")
    percentage: int = Field(10, alias="minCandidateNodesPercentage")
    least: int = Field(1, alias="minCandidateNodesAbsolute")
    most: int = Field(100, alias="maxCandidateNodesAbsolute")


class Preempt(Action):
    """Evicts within a queue, by priority or whatever the plugins go by."""

    args_model = PreemptArgs

    def run(self, session: Session) -> None:
        """Queue by queue: jobs against others, then tasks against their own job."""
        args, _ = PreemptArgs.read(self.arguments, self.name)  # type: ignore[arg-type]
        limits = Limits(args.percentage, args.least, args.most)
        hunt = DryRuns(session, limits) if args.dry_runs else Hunt(session, ClaimKind.PREEMPT, scored=True)
        claimants = Claimants(session, lambda job: not stays_near(session.view, job))
        if not claimants.jobs:
            return
        run = _Run(session, claimants, hunt)
        while (queue := claimants.turns.pop_queue()) is not None:
            run.queue(queue)


class _Run:
    """One run of the action."""

    def __init__(self, session: Session, claimants: Claimants, hunt: Hunt) -> None:
        self.session = session
        self.claimants = claimants
        self.hunt = hunt
        self.rows = pool_tasks(session, VICTIMS)

    def queue(self, queue: int) -> None:
        """All starving jobs of a queue, then the same jobs against themselves."""
        session = self.session
        table, jobs = session.view.snapshot.tasks, session.view.snapshot.jobs
        mine = self.rows[jobs.queue[table.job[self.rows]] == queue]
        pool = Pool(session.view, session.chains, session.ledger, mine)
        seen: list[int] = []
        while (job := self.claimants.turns.pop_job(queue)) is not None:
            self._against_others(job, pool)
            seen.append(job)
        for job in seen:
            self._against_itself(job)

    def _against_others(self, job: int, pool: Pool) -> None:
        session = self.session
        mark = session.ledger.checkpoint()
        for task in self.claimants.tasks(job):
            if not session.chains.job_starving(session.view, job):
                break
            if may_evict(session, task):
                self.hunt.claim(task, pool)
        close_claims(session, job, mark, self.hunt.reason)
        self.claimants.turns.fell(losers(session, mark))

    def _against_itself(self, job: int) -> None:
        session = self.session
        rows = session.view.tasks_of_job[job]
        pool: Pool | None = None
        for task in self.claimants.tasks(job):
            if session.view.status[task] != Status.PENDING:
                continue
            if pool is None:
                mine = rows[np.isin(rows, self.rows)]
                if not len(mine):
                    return
                pool = Pool(session.view, session.chains, session.ledger, mine)
            mark = session.ledger.checkpoint()
            if not may_evict(session, task) or not self.hunt.claim(task, pool, others=False):
                return
            session.ledger.keep(mark)
            session.meter.transactions[self.hunt.reason] += 1
