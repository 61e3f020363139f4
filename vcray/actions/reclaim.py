"""Volcano's `reclaim`: starving jobs of a queue that is short take room from other queues that may give.

A queue that is overused takes nothing, and no pod takes what would carry its queue past what it deserves (`queue_preemptive`).
The claims of a job stay only if it can then start. What other queues must give is for the share plugins to say.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from vcray.core.action import Action
from vcray.core.candidates import Pool
from vcray.core.claimants import Claimants, close_claims, losers, may_evict, must_stay_near
from vcray.core.hunt import Hunt, pool_tasks
from vcray.core.plugin import Args
from vcray.core.session import Session
from vcray.core.tables import Status
from vcray.core.victims import ClaimKind


class ReclaimArgs(Args):
    """Volcano's cache of refusals by node and role is accepted, without effect: masks are kept per shape."""

    cache: bool = Field(True, alias="predicateErrorCacheEnable")


class Reclaim(Action):
    """Evicts across queues, by what queues deserve."""

    args_model = ReclaimArgs

    def run(self, session: Session) -> None:
        """One job a turn; queues are weighed again between."""
        claimants = Claimants(session, lambda job: not must_stay_near(session.view, job))
        if not claimants.jobs:
            return
        run = _Run(session, claimants)
        turns = claimants.turns
        while (queue := turns.pop_queue()) is not None:
            if session.chains.queue_overused(session.view, queue):
                continue
            job = turns.pop_job(queue)
            if job is None:
                continue
            run.job(job, queue)
            turns.push_queue(queue)


class _Run:
    """One run of the action."""

    def __init__(self, session: Session, claimants: Claimants) -> None:
        self.session = session
        self.claimants = claimants
        self.hunt = Hunt(session, ClaimKind.RECLAIM, scored=False)
        self.rows = pool_tasks(session, (Status.RUNNING,))
        self.pools: dict[int, Pool] = {}

    def job(self, job: int, queue: int) -> None:
        """All claims of a job, then keep or undo them."""
        session = self.session
        view, chains = session.view, session.chains
        table = view.snapshot.tasks
        pool = self._pool(queue)
        mark = session.ledger.checkpoint()
        for task in self.claimants.tasks(job):
            if not chains.job_starving(view, job):
                break
            request = view.shapes[int(table.shape[task])].request
            if may_evict(session, task) and chains.verdicts.queue_preemptive(view, queue, request):
                self.hunt.claim(task, pool)
        close_claims(session, job, mark, self.hunt.reason)
        self.claimants.turns.fell(losers(session, mark))

    def _pool(self, queue: int) -> Pool:
        """Running pods of other queues that are reclaimable."""
        pool = self.pools.get(queue)
        if pool is None:
            view = self.session.view
            owner = view.snapshot.jobs.queue[view.snapshot.tasks.job[self.rows]]
            give = view.snapshot.queues.reclaimable.copy()
            give[queue] = False
            rows = self.rows[np.flatnonzero(give[owner])]
            pool = self.pools[queue] = Pool(view, self.session.chains, self.session.ledger, rows)
        return pool
