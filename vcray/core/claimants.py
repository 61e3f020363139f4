"""Jobs that may take from others in an action: starving ones, with their pending pods in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vcray.core.order import Turns, Worksheet
from vcray.core.session import Session
from vcray.core.tables import MISSING, Phase, Status
from vcray.core.view import View


class Claimants:
    """Starving, valid, admitted jobs with pending ungated tasks. `turns`: who is next; `sheet`: the tasks of each.

    `accepts`: which jobs may take part, None for all; `best_effort`: do pods that request nothing take part?"""

    def __init__(
        self, session: Session, accepts: Callable[[int], bool] | None = None, best_effort: bool = True
    ) -> None:
        self.session = session
        view, chains = session.view, session.chains
        jobs, tasks = view.snapshot.jobs, view.snapshot.tasks
        open_jobs = (jobs.queue != MISSING) & (view.jobs.phase > Phase.PENDING)
        wanted = (view.status == Status.PENDING) & ~tasks.gated & open_jobs[tasks.job]
        rows = np.flatnonzero(wanted)
        if not best_effort:
            rows = rows[~view.best_effort[tasks.shape[rows]]]
        chosen = [
            job
            for job in np.unique(tasks.job[rows]).tolist()
            if chains.job_starving(view, job)
            and (accepts is None or accepts(job))
            and chains.job_valid(view, job) is None
        ]
        mine = np.zeros(len(jobs), dtype=bool)
        mine[chosen] = True
        self.jobs: list[int] = chosen
        self.sheet = Worksheet(view, chains, rows[mine[tasks.job[rows]]])
        self.turns = Turns(view, chains, chosen, np.unique(jobs.queue[chosen]).tolist())

    def tasks(self, job: int) -> list[int]:
        """The pending tasks of a job, in order."""
        tasks: list[int] = self.sheet.remaining(job).tolist()
        return tasks

    def may_evict(self, job: int) -> bool:
        """May all of its pending pods take part in an eviction?"""
        return all(may_evict(self.session, task) for task in self.tasks(job))


def may_evict(session: Session, task: int) -> bool:
    """Not with preemptionPolicy Never, and not while something is on its way out of the node that is nominated: most likely
    it makes the room that was claimed, and where a filter still sees it the pod only looks as if it had none.

    A node that has been cordoned or tainted meanwhile is not waited for, as in kube-scheduler."""
    return not _waits(session, task) and not never_preempts(session, task)


def _waits(session: Session, task: int) -> bool:
    view = session.view
    table = view.snapshot.tasks
    node = int(table.nominated[task])
    if node == MISSING or not view.snapshot.nodes.releasing[:, node].any():
        return False
    return session.placer.allows(int(table.job[task]), view.shapes[int(table.shape[task])], node)


def never_preempts(session: Session, task: int) -> bool:
    """Does its pod or its group's class say preemptionPolicy Never?"""
    snapshot = session.view.snapshot
    table = snapshot.tasks
    own = snapshot.pod_facts[int(table.facts[task])].never_preempts
    return own or bool(snapshot.jobs.never_preempts[int(table.job[task])])


def close_claims(session: Session, job: int, mark: int, reason: str) -> None:
    """The claims of a job stay if it, and each of its sub-groups that they are for, can start on its promises; else all of
    them are undone.

    Promises alone, for which nobody goes, are left to an `allocate` that is still to come: it would pass promised pods over."""
    ledger = session.ledger
    if ledger.checkpoint() == mark:
        return
    fits = "allocate" in session.to_come and not ledger.evicted_since(mark)
    if (
        fits
        or not session.chains.job_pipelined(session.view, job)
        or not _parts_can_start(session, job, mark)
    ):
        ledger.rollback(mark)
        return
    ledger.keep(mark)
    if ledger.evicted_since(mark):
        session.meter.transactions[reason] += 1


def _parts_can_start(session: Session, job: int, mark: int) -> bool:
    """Allocate places a sub-group whole or not at all."""
    view, chains = session.view, session.chains
    parts = view.subjobs.of_job.get(job)
    if parts is None or not parts.grouped:
        return True
    promised = set(session.ledger.promised_since(mark))
    return all(
        chains.parts.pipelined(view, sub)
        for sub in parts.subjobs
        if promised.intersection(sub.tasks.tolist())
    )


def losers(session: Session, mark: int) -> list[int]:
    """Jobs that lost pods above a mark."""
    job = session.view.snapshot.tasks.job
    return [int(job[task]) for task in session.ledger.evicted_since(mark)]


def stays_near(view: View, job: int) -> bool:
    """Is a topology stated of the job or of one of its sub-groups?"""
    jobs = view.snapshot.jobs
    return jobs.closeness[job] is not None or any(
        policy.closeness is not None for policy in jobs.subgroups[job]
    )


def must_stay_near(view: View, job: int) -> bool:
    """Is a hard one, of a tier that is known? Claims of `reclaim` look at one pod at a time, so they could evict where the job
    may not go; a tier that nobody knows restricts nothing."""
    jobs = view.snapshot.jobs
    stated = (jobs.closeness[job], *(policy.closeness for policy in jobs.subgroups[job]))
    return any(
        closeness is not None
        and not closeness.soft
        and (closeness.tier is not None or closeness.tier_name in view.hypernodes.tier_names)
        for closeness in stated
    )
