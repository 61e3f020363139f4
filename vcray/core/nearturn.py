"""A turn of a job whose pods, or sub-groups of them, must be near each other.

Every group of HyperNodes that the policy offers, narrow ones first, is tried by dry runs through the ledger: all parts of the job
are placed inside each HyperNode, and the best one of the first group in which the job can start is taken. A part in turn tries
the HyperNodes inside it. Volcano runs all of a group and compares afterwards; here those are tried first that could score
best, and the rest is left out once none can win, which gives the same winner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Int
from vcray.core.choose import Scope
from vcray.core.classes import Class
from vcray.core.hopeless import repeat, signature, take_down
from vcray.core.ledger import Entry
from vcray.core.mates import leaves_room
from vcray.core.moves import Kind
from vcray.core.order import Worksheet
from vcray.core.reasons import no_hypernode
from vcray.core.session import Session
from vcray.core.subjobs import Parts, SubJob, promised_tasks, ready_tasks
from vcray.core.tables import MISSING, Status
from vcray.core.turn import Turn


@dataclass(slots=True)
class _Solution:
    """What a dry run came to: the steps, and the state of worksheet, parts and record after it."""

    hypernode: int
    score: float
    entries: tuple[Entry, ...]
    next: dict[int, int]
    allocated: list[int]
    left: list[SubJob]
    refused: dict[int, str]


class NearTurn:
    """One turn. `units`: the worksheet's unit of each part is its number above `first`."""

    def __init__(self, session: Session, worksheet: Worksheet, parts: Parts, queue: int, first: int) -> None:
        self.session = session
        self.view = session.view
        self.tree = session.view.hypernodes
        self.sheet = worksheet
        self.parts = parts
        self.job = parts.job
        self.queue = queue
        self.first = first
        self.mark = session.ledger.checkpoint()
        self.mates = False
        """Must pods that request nothing find a place near the others? First yes; what cannot be is not waited for."""

    def run(self) -> bool:
        """Place, then commit or keep what is promised; True when the job has tasks left and may come again."""
        best = self._known_or_searched()
        if best is None:
            self._drop_all()
            return False
        parts, tree, ledger = self.parts, self.tree, self.session.ledger
        for sub, before, held in zip(parts.subjobs, self._held(), best.allocated, strict=True):
            sub.allocated = tree.lca(before, held)
            sub.nominated = MISSING
        parts.allocated = tree.lca(parts.allocated, best.hypernode)
        if not self.session.chains.job_ready(self.view, self.job):
            return False
        ledger.commit(self.job, ledger.allocated_since(self.mark))
        return any(self.sheet.left(self._unit(sub)) for sub in parts.subjobs)

    # ---- the job ----

    def _known_or_searched(self) -> _Solution | None:
        """The best solution; none without a search when an equal gang has just found none."""
        session, hopeless = self.session, self.session.placer.hopeless
        tasks: list[int] = self.sheet.remaining(self._unit(self.parts.subjobs[0])).tolist()
        key = signature(session, self.parts, self.queue, tasks)
        if key is not None and key in hopeless:
            repeat(session, hopeless[key], tasks)
            return None
        best = self._search()
        if best is None and key is not None and (failure := take_down(session, tasks)) is not None:
            hopeless[key] = failure
        return best

    def _unit(self, sub: SubJob) -> int:
        return self.first + sub.number

    def _held(self) -> list[int]:
        return [sub.allocated for sub in self.parts.subjobs]

    def _search(self) -> _Solution | None:
        """The best solution of the first group that has one, applied."""
        groups = self.session.chains.parts.gradients(self.view, self.parts, self.tree.top)
        self.mates = self._has_mates()
        best = next(filter(None, map(self._best_of, groups)), None)
        if best is None and self.mates:
            self.mates = False
            best = next(filter(None, map(self._best_of, groups)), None)
        if best is not None:
            self._apply(best)
            return best
        tried = next((group[-1] for group in reversed(groups) if group), MISSING)
        if tried != MISSING:
            self._dry_run(tried, last=True)
        for sub in self.parts.subjobs if tried == MISSING else ():
            self._tell_no_domain(sub)
        return None

    def _best_of(self, group: Sequence[int]) -> _Solution | None:
        """The best solution in a HyperNode of a group, taken back again."""
        best: _Solution | None = None
        for hypernode, bound in self._ranked(group):
            if best is not None and best.score >= bound:
                break
            found = self._dry_run(hypernode, last=False)
            if found is not None and (best is None or found.score > best.score):
                best = found
        return best

    def _has_mates(self) -> bool:
        """Does the job have pods that request nothing?"""
        return bool(
            self.view.best_effort[self.view.snapshot.tasks.shape[self.view.tasks_of_job[self.job]]].any()
        )

    def _ranked(self, group: Sequence[int]) -> list[tuple[int, float]]:
        """HyperNodes with the highest score that a solution in each can have, the best first."""
        parts = self.parts
        if parts.grouped or len(parts.subjobs) != 1:
            return [(hypernode, float("inf")) for hypernode in group]
        sub = parts.subjobs[0]
        room = self._room(sub)
        everywhere = range(len(self.tree.names))
        scores = self.session.chains.parts.scores(self.view, sub, everywhere).score
        rows = np.array(group, dtype=np.int64)
        if room is not None:
            rows = rows[room[rows] >= self._least(sub)]
        bounds = self.tree.highest_inside(scores)[rows]
        order = np.lexsort((rows, -bounds))
        return list(zip(rows[order].tolist(), bounds[order].tolist(), strict=True))

    def _dry_run(self, hypernode: int, last: bool) -> _Solution | None:
        """Place all parts inside a HyperNode and take it back. `last`: nothing will do; leave the reasons behind."""
        session, sheet, parts = self.session, self.sheet, self.parts
        before = {self._unit(sub): sheet.next[self._unit(sub)] for sub in parts.subjobs}
        held = self._held()
        self._forget_reasons(parts.subjobs)
        waiting = [sub for sub in parts.subjobs if sheet.left(self._unit(sub))]
        required = self._required(waiting)
        score, placed = 0.0, False
        while waiting:
            sub = min(
                waiting, key=lambda sub: (sub not in required, session.chains.parts.key(self.view, sub))
            )
            waiting.remove(sub)
            found = self._place_part(sub, hypernode, last)
            if found is not None:
                score, placed = score + found, True
                if sheet.left(self._unit(sub)):
                    waiting.append(sub)
            if session.chains.job_ready(self.view, self.job):
                break
        solution = None
        if (
            placed
            and (
                session.chains.job_ready(self.view, self.job)
                or session.chains.job_pipelined(self.view, self.job)
            )
            and not (
                self.mates and not leaves_room(session, parts, self.view.tasks_of_job[self.job], hypernode)
            )
        ):
            solution = _Solution(
                hypernode=hypernode,
                score=score,
                entries=tuple(session.ledger.entries[self.mark :]),
                next={unit: sheet.next[unit] for unit in before},
                allocated=self._held(),
                left=waiting,
                refused=self._reasons(),
            )
        session.ledger.rollback(self.mark)
        for unit, place in before.items():
            sheet.next[unit] = place
        for sub, row in zip(parts.subjobs, held, strict=True):
            sub.allocated = row
        return solution

    def _apply(self, best: _Solution) -> None:
        """Take a solution's steps again, in the state in which it was found."""
        ledger, sheet, record = self.session.ledger, self.sheet, self.session.record
        for entry in best.entries:
            step = ledger.place if entry.kind is Kind.PLACE else ledger.pipeline
            step(entry.job, self.view.shapes[entry.shape], entry.tasks, entry.nodes)
            for task in entry.tasks:
                ledger.undone.pop(task, None)
        for unit, place in best.next.items():
            sheet.next[unit] = place
        for sub in self.parts.subjobs:
            if sub not in best.left:
                sheet.pop(self._unit(sub), sheet.left(self._unit(sub)))
        self._forget_reasons(self.parts.subjobs)
        record.refused.update(best.refused)

    def _required(self, waiting: Sequence[SubJob]) -> set[SubJob]:
        """The fewest parts that are not ready yet and must be for the job to be, in their order."""
        chains, view = self.session.chains.parts, self.view
        chosen: set[SubJob] = set()
        for policy, least in self.parts.minimums.items():
            own = [sub for sub in self.parts.subjobs if sub.policy == policy]
            ready = [sub for sub in own if chains.ready(view, sub)]
            missing = [sub for sub in waiting if sub.policy == policy and sub not in ready]
            missing.sort(key=lambda sub: chains.key(view, sub))
            chosen.update(missing[: max(0, least - len(ready))])
        return chosen

    # ---- a part ----

    def _place_part(self, sub: SubJob, inside: int, last: bool) -> float | None:
        """Place tasks of a part in the best HyperNode of the first group that takes it. Its score, None when nothing was placed."""
        if sub.nominated != MISSING:
            if self._as_nominated(sub):
                return 0.0
            sub.nominated = MISSING
        chains = self.session.chains.parts
        groups = chains.gradients(self.view, sub, inside)
        if last and not any(groups):
            self._tell_no_domain(sub)
        for group in groups:
            rows = np.array(group, dtype=np.int64)
            if not last and (room := self._room(sub)) is not None:
                rows = rows[room[rows] >= self._least(sub)]
            if not len(rows):
                continue
            scores = chains.scores(self.view, sub, rows.tolist())
            for k in np.lexsort((rows, -scores.shared, -scores.score)).tolist():
                if self._try(sub, int(rows[k])):
                    return float(scores.score[k])
        return None

    def _try(self, sub: SubJob, hypernode: int) -> bool:
        """Place tasks of a part inside a HyperNode; False with nothing changed when it may not stay so."""
        session, sheet, unit, ledger = self.session, self.sheet, self._unit(sub), self.session.ledger
        rows = None if hypernode == self.tree.top else self.tree.rows(hypernode)
        if rows is not None and not len(rows):
            return False
        scope = Scope(hypernode, rows, sub, sub.allocated if sub.near else MISSING)
        self._forget_reasons([sub])
        mark, place = ledger.checkpoint(), sheet.next[unit]
        turn = Turn(session, sheet, self.job, self.queue, unit, sub, self.parts.grouped, scope)
        turn.place(mark)
        if (
            ledger.checkpoint() > mark
            and (turn.ready() or turn.pipelined())
            and not (self.mates and not leaves_room(session, sub, sub.tasks, hypernode))
        ):
            sub.allocated = self.tree.lca(sub.allocated, hypernode)
            return True
        ledger.rollback(mark)
        sheet.next[unit] = place
        return False

    def _room(self, sub: SubJob) -> Int | None:
        """(H,) so many of the part's tasks left find a place inside each HyperNode at most; None: unknown."""
        table, placer = self.view.snapshot.tasks, self.session.placer
        shapes = Counter(table.shape[self.sheet.remaining(self._unit(sub))].tolist())
        classes: Counter[Class] = Counter()
        for row, count in shapes.items():
            classes[placer.class_of(self.job, self.view.shapes[row])] += count
        return placer.rooms.least_upper(classes)

    def _least(self, sub: SubJob) -> int:
        """Fewer placements than this cannot make the part ready or promised."""
        view, chains = self.view, self.session.chains
        if self.parts.grouped:
            held = ready_tasks(view.status, sub) + promised_tasks(view.status, sub)
            return max(1, sub.least - held) if chains.parts.readies else 1
        count = view.jobs.count[:, self.job]
        ready = ready_tasks(view.status, sub) + int(count[Status.PIPELINED])
        return max(1, int(view.snapshot.jobs.min_available[self.job]) - ready) if chains.readies else 1

    def _as_nominated(self, sub: SubJob) -> bool:
        """Place every task left on the node that is promised to it; False with nothing changed when one may not go there."""
        session, sheet, unit, ledger = self.session, self.sheet, self._unit(sub), self.session.ledger
        table, placer = self.view.snapshot.tasks, session.placer
        rows = self.tree.rows(sub.nominated)
        scope = Scope(sub.nominated, rows, sub, sub.allocated)
        mark = ledger.checkpoint()
        tasks = sheet.remaining(unit).tolist()
        for task in tasks:
            shape, node = self.view.shapes[int(table.shape[task])], int(table.nominated[task])
            if (
                node == MISSING
                or not session.chains.queue_allows(self.view, self.queue, shape, 1)
                or not placer.place_at(self.job, shape, task, node, scope)
            ):
                ledger.rollback(mark)
                return False
        sheet.pop(unit, len(tasks))
        sub.allocated = self.tree.lca(sub.allocated, sub.nominated)
        return bool(tasks)

    # ---- reasons ----

    def _forget_reasons(self, subjobs: Sequence[SubJob]) -> None:
        record = self.session.record
        for sub in subjobs:
            record.failed_roles.pop(self._unit(sub), None)
            for task in sub.tasks.tolist():
                record.refused.pop(task, None)

    def _reasons(self) -> dict[int, str]:
        refused = self.session.record.refused
        tasks = (task for sub in self.parts.subjobs for task in sub.tasks.tolist())
        return {task: refused[task] for task in tasks if task in refused}

    def _tell_no_domain(self, sub: SubJob) -> None:
        """No HyperNode was even looked at: the first pod of the part says so."""
        limit = self.parts.limit if sub.limit is None else sub.limit
        for task in self.sheet.remaining(self._unit(sub)).tolist()[:1]:
            self.session.record.refused[task] = no_hypernode(limit)

    def _drop_all(self) -> None:
        for sub in self.parts.subjobs:
            unit = self._unit(sub)
            self.sheet.pop(unit, self.sheet.left(unit))
