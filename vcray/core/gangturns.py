"""The turns of `gangpreempt` and `gangreclaim`: one attempt for each starving job, queue by queue."""

from __future__ import annotations

from pydantic import Field

from vcray.core.claimants import Claimants, close_claims, losers
from vcray.core.ganghunt import GangHunt
from vcray.core.plugin import Args
from vcray.core.session import Session
from vcray.core.victims import ClaimKind


class GangArgs(Args):
    """`most`: HyperNodes looked at for a job, below 1 counts as 8; `whole`: may gangs be broken?"""

    most: int = Field(8, alias="maxDomains")
    whole: bool = Field(True, alias="allowWholeBundle")


def run_gangs(session: Session, kind: ClaimKind, args: GangArgs) -> None:
    """One attempt for each starving job; `gangreclaim` passes queues over that are overused."""
    claimants = Claimants(session, best_effort=False)
    if not claimants.jobs:
        return
    hunt = GangHunt(session, kind, args.most if args.most > 0 else 8, args.whole)
    turns = claimants.turns
    while (queue := turns.pop_queue()) is not None:
        if kind is ClaimKind.GANG_RECLAIM and session.chains.queue_overused(session.view, queue):
            continue
        job = turns.pop_job(queue)
        if job is None:
            continue
        mark = session.ledger.checkpoint()
        tasks = claimants.tasks(job)
        if tasks and claimants.may_evict(job) and hunt.attempt(job, tasks):
            close_claims(session, job, mark, kind.value)
            turns.fell(losers(session, mark))
        turns.push_queue(queue)
