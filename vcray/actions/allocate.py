"""Volcano's `allocate` for jobs without sub-groups: gangs first whole, then one task a turn.

A turn pops the first queue and its first job. Until the job is ready its tasks go as one batch, afterwards one a turn, so
that queues and jobs are weighed again between. What a turn takes off the worksheet is gone for the round, placed or not.
A gang that comes out neither ready nor promised is undone; one that is only promised keeps its room for the round.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from pydantic import Field

from vcray.core.action import Action
from vcray.core.order import Turns, Worksheet
from vcray.core.place import Refusal, nominated_node
from vcray.core.plugin import Args
from vcray.core.reasons import role_failed
from vcray.core.session import Session
from vcray.core.tables import MISSING, READY_STATUS, STATUSES, Phase, Status

BEST_EFFORT = STATUSES
"""Place of the pending best-effort tasks in a role's counts."""


class AllocateArgs(Args):
    """Volcano's cache of refusals by node and role is accepted, without effect: masks are kept per shape."""

    cache: bool = Field(True, alias="predicateErrorCacheEnable")


class Allocate(Action):
    """Gives nodes to pending tasks that request something."""

    args_model = AllocateArgs

    def run(self, session: Session) -> None:
        """Until every queue is dropped: overused, or without jobs that have tasks left."""
        worksheet, turns = self._build(session)
        while (queue := turns.pop_queue()) is not None:
            if session.chains.queue_overused(session.view, queue):
                continue
            job = turns.pop_job(queue)
            if job is None:
                continue
            if _Turn(session, worksheet, job, queue).run():
                turns.push_job(job)
            turns.push_queue(queue)

    @staticmethod
    def _build(session: Session) -> tuple[Worksheet, Turns]:
        view, chains = session.view, session.chains
        jobs, tasks = view.snapshot.jobs, view.snapshot.tasks
        phase = view.jobs.phase
        owned = jobs.queue != MISSING
        if not session.policy.has_action("enqueue"):
            phase[owned & (phase <= Phase.PENDING)] = Phase.INQUEUE
        best_effort = np.array([shape.best_effort for shape in view.shapes], dtype=bool)
        wanted = (view.status == Status.PENDING) & ~tasks.gated
        wanted &= (owned & (phase > Phase.PENDING))[tasks.job]
        rows = np.flatnonzero(wanted)
        rows = rows[~best_effort[tasks.shape[rows]]]
        candidates = np.unique(tasks.job[rows]).tolist()
        chosen = [job for job in candidates if chains.job_valid(view, job) is None]
        worksheet = Worksheet(view, chains, rows)
        queues = np.unique(jobs.queue[chosen]).tolist()
        return worksheet, Turns(view, chains, chosen, queues)


class _Turn:
    """One job's turn."""

    def __init__(self, session: Session, worksheet: Worksheet, job: int, queue: int) -> None:
        self.session = session
        self.view = session.view
        self.worksheet = worksheet
        self.job = job
        self.queue = queue

    def run(self) -> bool:
        """Place, then commit, keep or undo; True when the job has tasks left and may come again."""
        session, job = self.session, self.job
        if session.watch is not None:
            session.watch("turn", job)
        mark = session.ledger.checkpoint()
        ready = not self._known_to_fail() and self._place(mark)
        if ready or session.chains.job_ready(self.view, job):
            session.ledger.commit(job, session.ledger.allocated_since(mark))
            if session.watch is not None:
                session.watch("commit", job)
            return self.worksheet.left(job) > 0
        if not session.chains.job_pipelined(self.view, job):
            session.ledger.rollback(mark)
        return False

    def _known_to_fail(self) -> bool:
        """True when an equal gang has just failed in this very state: then this one is refused alike, without trying.

        Only for a gang of one shape whose promises could not be kept either."""
        session, sheet, job, chains = self.session, self.worksheet, self.job, self.session.chains
        table = self.view.snapshot.tasks
        first = sheet.run(job, 1)[0]
        shape, role = self.view.shapes[int(table.shape[first])], int(table.role[first])
        refusal = session.placer.refusal(job, shape)
        if refusal is None or not sheet.is_one_run(job) or table.nominated[first] != MISSING:
            return False
        if role in session.record.roles_failed(job):
            return False
        run = sheet.run(job, chains.gang_need(self.view, job, sheet.remaining(job)))
        placed = len(refusal.seats)
        if len(run) <= placed or chains.queue_allows(self.view, self.queue, shape, len(run)) < len(run):
            return False
        if chains.job_ready(self.view, job) or chains.job_pipelined(self.view, job):
            return False
        session.ledger.suppose_undone(run, refusal.seats)
        sheet.pop(job, placed)
        if self._refused(refusal.text, role) and sheet.left(job):
            self._skip_role(sheet.run(job, sheet.left(job)), role)
            sheet.pop(job, sheet.left(job))
        return True

    def _place(self, mark: int) -> bool:
        """Take tasks off the worksheet until the job is ready after a placement (True), or none are left."""
        session, sheet, job = self.session, self.worksheet, self.job
        table, placer, ledger = self.view.snapshot.tasks, session.placer, session.ledger
        version = ledger.version
        while sheet.left(job):
            need = session.chains.gang_need(self.view, job, sheet.remaining(job))
            run = sheet.run(job, max(need, 1))
            first = run[0]
            shape = self.view.shapes[int(table.shape[first])]
            allowed = session.chains.queue_allows(self.view, self.queue, shape, len(run))
            if not allowed:
                sheet.pop(job, sheet.run_left(job))
                continue
            run = run[:allowed]
            role = int(table.role[first])
            if role in session.record.roles_failed(job):
                self._skip_role(sheet.run(job, sheet.left(job)), role)
                sheet.pop(job, sheet.run_left(job))
                continue
            node = nominated_node(self.view, first)
            if node != MISSING and placer.place_at(job, shape, first, node):
                placed, run = 1, run[:1]
            else:
                untouched = ledger.version == version
                placed = placer.place(job, shape, run)
            sheet.pop(job, placed)
            if placed and session.chains.job_ready(self.view, job):
                return True
            if placed < len(run):
                text = placer.explain(job, shape)
                if untouched:
                    seats = tuple(ledger.seats_since(mark))
                    placer.remember(job, shape, Refusal(version, seats, text))
                if not self._refused(text, role):
                    return False
        return False

    def _skip_role(self, tasks: list[int], role: int) -> None:
        names, roles = self.view.snapshot.tasks.names, self.view.snapshot.roles
        for task in tasks:
            self.session.record.refused[task] = role_failed(names[task].partition("/")[2], roles[role])

    def _refused(self, text: str, role: int) -> bool:
        """The next task fits nowhere: note it; True when the job should go on with other tasks.

        Equal tasks behind it fail alike, since nothing is placed between, and are taken off with it."""
        session, sheet, job = self.session, self.worksheet, self.job
        while True:
            task = sheet.run(job, 1)[0]
            session.record.refused[task] = text
            if role:
                session.record.failed_roles.setdefault(job, set()).add(role)
            last_of_run = sheet.run_left(job) == 1
            sheet.pop(job, 1)
            if not self._go_on():
                return False
            if role or last_of_run:
                return True

    def _go_on(self) -> bool:
        """Volcano's NeedContinueAllocating: can the job still start, or grow, without the task that just failed?"""
        jobs, job = self.view.snapshot.jobs, self.job
        least = int(jobs.min_available[job])
        if least >= len(self.view.tasks_of_job[job]):
            return False
        minimums = jobs.role_minimum[job]
        failed = self.session.record.roles_failed(job)
        if least < sum(minimum for _, minimum in minimums):
            return self._others_suffice(failed, least)
        counts = self.view.jobs.role_count
        for role, minimum in minimums:
            if role in failed and minimum > 0:
                count = counts[job, role]
                if sum(count[status] for status in READY_STATUS) + count[BEST_EFFORT] < minimum:
                    return False
        return True

    def _others_suffice(self, failed: Set[int], least: int) -> bool:
        """Ready tasks, and pending ones of roles without a failed task, make up the minimum."""
        tasks = self.view.tasks_of_job[self.job]
        refused = self.session.record.refused
        roles = self.view.snapshot.tasks.role[tasks]
        bad = failed | {
            int(role) for task, role in zip(tasks.tolist(), roles.tolist(), strict=True) if task in refused
        }
        good = ~np.isin(roles, sorted(bad))
        status = self.view.status[tasks]
        left = np.isin(status, READY_STATUS) | (good & (status == Status.PENDING))
        return int(left.sum()) >= least
