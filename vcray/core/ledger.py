"""The one mutable object of a session: which pod sits where, and every sum that follows from it.

Each step is an entry of one list; a checkpoint is its length; rollback applies the inverse of the entries above it.
Amounts are int64, so this is exact and touches only the rows that moved. Every touched node row goes into one journal,
rollbacks included: caches read it from where they stopped, nobody is called back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vcray.core.arrays import Int
from vcray.core.hyperuse import HyperUse
from vcray.core.moves import Kind, Moves
from vcray.core.openview import NodeMatrix
from vcray.core.reserve import Reservations, Undo
from vcray.core.tables import MISSING, STATUSES, Status
from vcray.core.view import Shape, View


class Entry(NamedTuple):
    """One step: equal pods of one job. `before`: their statuses, for evictions; `undo`: takes back what was reserved."""

    kind: Kind
    job: int
    shape: int
    tasks: tuple[int, ...]
    nodes: tuple[int, ...]
    before: tuple[int, ...] = ()
    undo: Undo | None = None
    reason: str = ""
    """Which action evicted: on the eviction, and on the promise of the room that it makes."""


class Undone(NamedTuple):
    """Where a rolled-back task had been: its status there and the node row."""

    status: Status
    node: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Tasks of one job that leave together; `whole`: the job was below its minimum before."""

    job: int
    tasks: tuple[int, ...]
    nodes: tuple[int, ...]
    whole: bool


class Ledger:
    """Places pods and takes them back; the only writer of the view's live sums."""

    def __init__(self, view: View, matrix: NodeMatrix) -> None:
        self.view = view
        self.matrix = matrix
        self.reservations = Reservations(view)
        view.hyperuse = HyperUse(view, self)
        self.freed = 0
        """Grows whenever something that was held may be free again: nodes that refused a task may take it now."""
        self.node = view.node
        self.entries: list[Entry] = []
        self.undone: dict[int, Undone] = {}
        self.commits: list[Committed] = []
        self.frees = bool(view.nodes.releasing.any())
        """Is anything being freed anywhere, so that a promise could be made? Stays True once it was."""
        self.version = 0
        """Names the present state of all sums: a new number after every step, the old one again after a rollback."""
        self._versions: list[int] = []
        self._last_version = 0
        self.journal: Int = np.empty(1024, dtype=np.int64)
        self.touched = 0
        self._moves = Moves(view, matrix)
        self._queue: list[int] = view.snapshot.jobs.queue.tolist()
        self._has_roles: list[bool] = [bool(minimums) for minimums in view.snapshot.jobs.role_minimum]

    # ---- steps ----

    def place(self, job: int, shape: Shape, tasks: Sequence[int], nodes: Sequence[int]) -> str:
        """Allocate pending tasks of one shape, task i on node i. Does not check room: callers do.

        Empty when done; else the sentence of a plugin that could not reserve what the task needs, and nothing changed.
        Tasks of a shape that reserves come one at a time."""
        return self._take(Kind.PLACE, job, shape, tasks, nodes)

    def pipeline(
        self, job: int, shape: Shape, tasks: Sequence[int], nodes: Sequence[int], reason: str = ""
    ) -> str:
        """Promise nodes to pending tasks: room that is being freed there. Answers as `place`.

        `reason`: the action that evicted for them; their pods then say which node is nominated."""
        return self._take(Kind.PIPELINE, job, shape, tasks, nodes, reason)

    def _take(
        self, kind: Kind, job: int, shape: Shape, tasks: Sequence[int], nodes: Sequence[int], reason: str = ""
    ) -> str:
        undo = self.reservations.take_all(shape, tasks, nodes, kind is Kind.PIPELINE)
        if isinstance(undo, str):
            return undo
        self._enter(Entry(kind, job, shape.row, tuple(tasks), tuple(nodes), undo=undo, reason=reason))
        return ""

    def withdraw(self, task: int) -> None:
        """Take a promise back: Pipelined -> Pending."""
        table = self.view.snapshot.tasks
        job, shape, node = int(table.job[task]), int(table.shape[task]), self.node[task]
        undo = self.reservations.free(self.view.shapes[shape], task, node)
        self.freed += 1
        self._enter(Entry(Kind.WITHDRAW, job, shape, (task,), (node,), undo=undo))

    def set_aside(self, job: int, shape: Shape, node: int) -> None:
        """Keep room for one pod of the shape on a node: nobody is given it in this session."""
        self._enter(Entry(Kind.SET_ASIDE, job, shape.row, (), (node,)))

    def evict(self, task: int, reason: str = "") -> None:
        """Start to free what a task on a node holds: -> Releasing. `used` stays, `requested` and counters fall.

        `reason`: the action that wants it; evictions that are not rolled back become decisions."""
        table = self.view.snapshot.tasks
        before = (int(self.view.status[task]),)
        self.frees = True
        job, shape = int(table.job[task]), int(table.shape[task])
        undo = self.reservations.free(self.view.shapes[shape], task, self.node[task])
        self.freed += 1
        self._enter(Entry(Kind.EVICT, job, shape, (task,), (self.node[task],), before, undo, reason))

    def checkpoint(self) -> int:
        """A mark to roll back to."""
        return len(self.entries)

    def rollback(self, mark: int) -> None:
        """Undo all steps above the mark, last first; what each task had held is remembered in `undone`."""
        while len(self.entries) > mark:
            entry = self.entries.pop()
            self.version = self._versions.pop()
            self._apply(entry, -1)
            self.freed += 1
            if entry.undo is not None:
                entry.undo()
            if entry.kind is Kind.PLACE or entry.kind is Kind.PIPELINE:
                status = Status.ALLOCATED if entry.kind is Kind.PLACE else Status.PIPELINED
                self.undone.update(
                    (task, Undone(status, node)) for task, node in zip(entry.tasks, entry.nodes, strict=True)
                )

    def keep(self, mark: int) -> None:
        """What was done above a mark stays: what its tasks had held before counts no more."""
        for entry in self.entries[mark:]:
            for task in entry.tasks:
                self.undone.pop(task, None)

    def evicted_since(self, mark: int) -> list[int]:
        """Tasks evicted above a mark, in order."""
        return [entry.tasks[0] for entry in self.entries[mark:] if entry.kind is Kind.EVICT]

    def evictions(self) -> list[tuple[int, str]]:
        """Evicted tasks and why, in order."""
        return [(entry.tasks[0], entry.reason) for entry in self.entries if entry.kind is Kind.EVICT]

    def nominations(self) -> dict[int, int]:
        """Promised tasks for which something was evicted -> node row."""
        promised = set(np.flatnonzero(self.view.status == Status.PIPELINED).tolist())
        return {
            task: node
            for entry in self.entries
            if entry.reason and entry.kind is Kind.PIPELINE
            for task, node in zip(entry.tasks, entry.nodes, strict=True)
            if task in promised
        }

    def commit(self, job: int, tasks: Sequence[int]) -> None:
        """Let allocated tasks of a job go: Allocated -> Binding. They leave together and are not undone any more."""
        if not tasks:
            return
        view = self.view
        count = view.jobs.count[:, job]
        held = sum(
            int(count[status]) for status in (Status.BINDING, Status.BOUND, Status.RUNNING, Status.SUCCEEDED)
        )
        whole = held < int(view.snapshot.jobs.min_available[job])
        rows = list(tasks)
        view.status[rows] = Status.BINDING
        count[Status.ALLOCATED] -= len(rows)
        count[Status.BINDING] += len(rows)
        self._count_roles(job, rows, Status.ALLOCATED, Status.BINDING)
        for task in rows:
            self.undone.pop(task, None)
        self.commits.append(Committed(job, tuple(rows), tuple(self.node[task] for task in rows), whole))

    def suppose_undone(self, tasks: Sequence[int], seats: Sequence[tuple[Status, int]]) -> None:
        """Remember of tasks what placing and undoing them would have left: status and node row each."""
        self.undone.update(
            (task, Undone(status, node)) for task, (status, node) in zip(tasks, seats, strict=False)
        )

    def seats_since(self, mark: int) -> list[tuple[Status, int]]:
        """Status and node row of each task placed or promised above a mark, in order."""
        return [
            (Status.ALLOCATED if entry.kind is Kind.PLACE else Status.PIPELINED, node)
            for entry in self.entries[mark:]
            if entry.kind in (Kind.PLACE, Kind.PIPELINE)
            for node in entry.nodes
        ]

    def allocated_since(self, mark: int) -> list[int]:
        """Tasks allocated above a mark, in order."""
        return [task for entry in self.entries[mark:] if entry.kind is Kind.PLACE for task in entry.tasks]

    def promised_since(self, mark: int) -> list[int]:
        """Tasks promised a node above a mark, in order."""
        return [task for entry in self.entries[mark:] if entry.kind is Kind.PIPELINE for task in entry.tasks]

    # ---- sums ----

    def _enter(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._versions.append(self.version)
        self._last_version += 1
        self.version = self._last_version
        self._apply(entry, 1)

    def _apply(self, entry: Entry, sign: int) -> None:
        kind = entry.kind
        if kind is Kind.WITHDRAW:
            self._move_nodes(Kind.PIPELINE, entry, -sign)
            self._move_owners(Kind.PIPELINE, entry, -sign)
        else:
            self._move_nodes(kind, entry, sign)
            if kind is not Kind.SET_ASIDE:
                self._move_owners(kind, entry, sign)

    def _move_nodes(self, kind: Kind, entry: Entry, sign: int) -> None:
        move = self._moves.of(kind, entry.shape)
        block, nodes = self.matrix.block, entry.nodes
        if len(nodes) == 1:
            node = nodes[0]
            block[move.rows, node] += move.amounts if sign > 0 else -move.amounts
            for array, row, amount in move.counters:
                array[row, node] += sign * amount
            self._touch_one(node)
            return
        unique, copies = np.unique(np.array(nodes, dtype=np.int64), return_counts=True)
        copies *= sign
        block[move.column, unique] += move.signed * copies
        for array, row, amount in move.counters:
            array[row, unique] += amount * copies
        self._touch(unique)

    def _move_owners(self, kind: Kind, entry: Entry, sign: int) -> None:
        """Statuses and the sums of job and queue."""
        view, job, count = self.view, entry.job, len(entry.tasks)
        tasks = list(entry.tasks)
        if kind is Kind.EVICT:
            self._move_evicted(entry, sign)
            return
        after = Status.ALLOCATED if kind is Kind.PLACE else Status.PIPELINED
        old, new = (Status.PENDING, after) if sign > 0 else (after, Status.PENDING)
        if count == 1:
            view.status[tasks[0]] = new
        else:
            view.status[tasks] = new
        jobs = view.jobs
        jobs.count[old, job] -= count
        jobs.count[new, job] += count
        shape = view.shapes[entry.shape]
        if shape.best_effort:
            jobs.pending_best_effort[job] -= sign * count
        self._count_roles(job, tasks, old, new)
        if sign > 0:
            for task, node in zip(tasks, entry.nodes, strict=True):
                self.node[task] = node
        else:
            for task in tasks:
                self.node[task] = MISSING
        self._charge(job, shape, sign * count, allocated=kind is Kind.PLACE)

    def _move_evicted(self, entry: Entry, sign: int) -> None:
        view, job, task = self.view, entry.job, entry.tasks[0]
        before = Status(entry.before[0])
        old, new = (before, Status.RELEASING) if sign > 0 else (Status.RELEASING, before)
        view.status[task] = new
        view.jobs.count[old, job] -= 1
        view.jobs.count[new, job] += 1
        self._count_roles(job, [task], old, new)
        self._charge(job, view.shapes[entry.shape], -sign, allocated=True)

    def _charge(self, job: int, shape: Shape, count: int, allocated: bool) -> None:
        jobs, queues = self.view.jobs, self.view.queues
        amount = shape.request * count
        jobs.claimed[:, job] += amount
        if allocated:
            jobs.allocated[:, job] += amount
        queue = self._queue[job]
        if queue == MISSING:
            return
        queues.claimed[:, queue] += amount
        if allocated:
            queues.allocated[:, queue] += amount
        queues.charges[queue] += 1
        claimed = queues.claimed_list[queue]
        for r in shape.nonzero:
            claimed[r] += shape.req[r] * count
        for sums in queues.upward[queue]:
            for r in shape.nonzero:
                sums[r] += shape.req[r] * count

    def _count_roles(self, job: int, tasks: Sequence[int], old: Status, new: Status) -> None:
        if not self._has_roles[job]:
            return
        table, counts = self.view.snapshot.tasks, self.view.jobs.role_count
        for task in tasks:
            entry = counts[job, int(table.role[task])]
            entry[old] -= 1
            entry[new] += 1
            if self.view.shapes[int(table.shape[task])].best_effort:
                entry[STATUSES] += (new == Status.PENDING) - (old == Status.PENDING)

    # ---- journal ----

    def _touch_one(self, node: int) -> None:
        if self.touched == len(self.journal):
            self.journal = np.concatenate((self.journal, self.journal))
        self.journal[self.touched] = node
        self.touched += 1

    def _touch(self, nodes: Int) -> None:
        end = self.touched + len(nodes)
        while end > len(self.journal):
            self.journal = np.concatenate((self.journal, self.journal))
        self.journal[self.touched : end] = nodes
        self.touched = end

    def touched_since(self, pointer: int) -> list[int]:
        """Node rows that moved since a caller's pointer (`touched` at that time), each once, ascending."""
        moved = self.journal[pointer : self.touched]
        if len(moved) <= 64:
            return sorted(set(moved.tolist()))
        rows: list[int] = np.unique(moved).tolist()
        return rows
