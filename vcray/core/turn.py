"""One turn at a worksheet: the pending tasks of a job, or of one of its parts, are placed inside a scope.

Until the job (or part) is ready its tasks go as one batch, afterwards one a turn, so that queues and jobs are weighed again
between. What a turn takes off the worksheet is gone for the round, placed or not, unless the caller puts it back.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from vcray.core.choose import Scope
from vcray.core.order import Worksheet
from vcray.core.place import Refusal, nominated_node
from vcray.core.reasons import role_failed
from vcray.core.session import Session
from vcray.core.subjobs import SubJob
from vcray.core.tables import MISSING, READY_STATUS, STATUSES, Status

BEST_EFFORT = STATUSES
"""Place of the pending best-effort tasks in a role's counts."""


class Turn:
    """Tasks of one unit of a worksheet. `subjob`: the part that they are, where the job has any; `grouped`: it is ready by
    itself; otherwise the job is asked."""

    def __init__(
        self,
        session: Session,
        worksheet: Worksheet,
        job: int,
        queue: int,
        unit: int,
        subjob: SubJob | None = None,
        grouped: bool = False,
        scope: Scope | None = None,
    ) -> None:
        self.session = session
        self.view = session.view
        self.worksheet = worksheet
        self.job = job
        self.queue = queue
        self.unit = unit
        self.subjob = subjob
        self.part = subjob if grouped else None
        self.grouped = grouped
        self.scope = scope
        self._supposed: Sequence[int] = ()
        """Tasks that count as allocated while it is asked whether the job goes on without one that is refused."""

    def ready(self) -> bool:
        """May what is placed be kept?"""
        chains = self.session.chains
        if self.part is not None:
            return chains.parts.ready(self.view, self.part)
        return chains.job_ready(self.view, self.job)

    def pipelined(self) -> bool:
        """May promises be kept?"""
        chains = self.session.chains
        if self.part is not None:
            return chains.parts.pipelined(self.view, self.part)
        return chains.job_pipelined(self.view, self.job)

    def need(self) -> int:
        """How many of the tasks left until it is ready, at least 1."""
        chains, tasks = self.session.chains, self.worksheet.remaining(self.unit)
        if self.part is not None:
            return max(chains.parts.need(self.view, self.part, tasks), 1)
        return max(chains.gang_need(self.view, self.job, tasks), 1)

    def known_to_fail(self) -> Refusal | None:
        """How an equal gang has just failed in this very state: then this one is refused alike, without trying.

        Only for a gang of one shape whose promises could not be kept either, and without a scope."""
        session, sheet, job, placer = self.session, self.worksheet, self.job, self.session.placer
        if self.scope is not None or not placer.refuses:
            return None
        table = self.view.snapshot.tasks
        first = sheet.first(self.unit)
        shape, role = self.view.shapes[int(table.shape[first])], int(table.role[first])
        if not sheet.is_one_run(self.unit) or table.nominated[first] != MISSING:
            return None
        if role in session.record.roles_failed(self.unit):
            return None
        run = sheet.run(self.unit, self.need())
        allowed = session.chains.queue_allows(self.view, self.queue, shape, len(run))
        held = allowed < len(run)
        refusal = placer.refusal(job, shape, self.queue if held else MISSING)
        if refusal is None or (allowed != len(refusal.seats) if held else allowed <= len(refusal.seats)):
            return None
        if self.ready() or self.pipelined():
            return None
        session.ledger.suppose_undone(run, refusal.seats)
        self._supposed = [
            task for task, (status, _) in zip(run, refusal.seats, strict=False) if status in READY_STATUS
        ]
        if held:
            sheet.pop(self.unit, sheet.left(self.unit))
            return refusal
        sheet.pop(self.unit, len(refusal.seats))
        if self._refused(refusal.text, role) and sheet.left(self.unit):
            self._skip_role(sheet.run(self.unit, sheet.left(self.unit)), role)
            sheet.pop(self.unit, sheet.left(self.unit))
        return refusal

    def place(self, mark: int) -> bool:
        """Take tasks off the worksheet until the unit is ready after a placement (True), or none are left."""
        session, sheet, job, unit = self.session, self.worksheet, self.job, self.unit
        table, placer, ledger = self.view.snapshot.tasks, session.placer, session.ledger
        version, plain = ledger.version, self.scope is None and sheet.is_one_run(unit)
        while sheet.left(unit):
            run = sheet.run(unit, self.need())
            first = run[0]
            shape = self.view.shapes[int(table.shape[first])]
            allowed = session.chains.queue_allows(self.view, self.queue, shape, len(run))
            if not allowed:
                if plain and ledger.version != version:
                    seats = tuple(ledger.seats_since(mark))
                    placer.remember(job, shape, Refusal(version, seats, queue=self.queue))
                sheet.pop(unit, sheet.run_left(unit))
                continue
            run = run[:allowed]
            role = int(table.role[first])
            if role in session.record.roles_failed(unit):
                self._skip_role(sheet.run(unit, sheet.left(unit)), role)
                sheet.pop(unit, sheet.run_left(unit))
                continue
            node = nominated_node(self.view, first)
            if node != MISSING and placer.place_nominated(
                job, shape, first, node, session.spared, self.scope
            ):
                placed, run, plain = 1, run[:1], False
            else:
                untouched = ledger.version == version and self.scope is None
                placed = placer.place(job, shape, run, self.scope)
            sheet.pop(unit, placed)
            if placed and self.ready():
                return True
            if placed < len(run):
                text = placer.explain(job, shape, self.scope)
                plain = False
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
        """The next task fits nowhere: note it; True when the unit should go on with other tasks.

        Equal tasks behind it fail alike, since nothing is placed between, and are taken off with it."""
        record, sheet, unit = self.session.record, self.worksheet, self.unit
        while True:
            task = sheet.run(unit, 1)[0]
            record.refused[task] = text
            if role:
                record.failed_roles.setdefault(unit, set()).add(role)
            last_of_run = sheet.run_left(unit) == 1
            sheet.pop(unit, 1)
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
        if self.subjob is not None and self.subjob.least >= len(self.subjob.tasks):
            return False
        if self.grouped:
            return True
        minimums = jobs.role_minimum[job]
        failed = self.session.record.roles_failed(self.unit)
        if least < sum(minimum for _, minimum in minimums):
            return self._others_suffice(failed, least)
        counts, roles = self.view.jobs.role_count, self.view.snapshot.tasks.role
        for role, minimum in minimums:
            if role in failed and minimum > 0:
                count = counts[job, role]
                supposed = sum(int(roles[task]) == role for task in self._supposed)
                if sum(count[status] for status in READY_STATUS) + supposed + count[BEST_EFFORT] < minimum:
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
        left = np.isin(status, READY_STATUS) | np.isin(tasks, self._supposed)
        left |= good & (status == Status.PENDING)
        return int(left.sum()) >= least
