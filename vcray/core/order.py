"""Who is next: queues by key, jobs by key in each queue, tasks by key in each job.

Keys are tuples, smaller first, with creation and name at the end, so no two are equal and nothing depends on rows. A turn
changes only the keys of what it touched; those are pushed afresh and older entries are skipped when they surface.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence, Set

import numpy as np

from vcray.core.arrays import Int, Int32
from vcray.core.policy import Chains
from vcray.core.tables import MISSING
from vcray.core.view import View

Key = tuple[object, ...]


class KeyedHeap:
    """A heap whose items may change their key: the latest push of an item counts.

    The items that it starts with are sorted at once: most are popped, and to pop the last of a list takes no comparisons."""

    __slots__ = ("_current", "_first", "_heap", "popped")

    def __init__(self, pairs: Iterable[tuple[Key, int]] = ()) -> None:
        self._first: list[tuple[Key, int]] = sorted(pairs, reverse=True)
        self._heap: list[tuple[Key, int]] = []
        self._current: dict[int, Key] = {item: key for key, item in self._first}
        self.popped: Key = ()
        """The key under which the last item was popped."""

    def __len__(self) -> int:
        return len(self._current)

    def __contains__(self, item: int) -> bool:
        return item in self._current

    def __iter__(self) -> Iterator[int]:
        return iter(tuple(self._current))

    def key(self, item: int) -> Key:
        """The present key of an item that is in it."""
        return self._current[item]

    def push(self, key: Key, item: int) -> None:
        """Add an item, or give it a new key."""
        self._current[item] = key
        heapq.heappush(self._heap, (key, item))

    def pop(self) -> int | None:
        """Remove and return the item with the smallest key, None when empty."""
        first, heap = self._first, self._heap
        while first or heap:
            key, item = heapq.heappop(heap) if not first or (heap and heap[0] < first[-1]) else first.pop()
            if self._current.get(item) is key:
                del self._current[item]
                self.popped = key
                return item
        return None


class Turns:
    """Queues and their jobs, in live order: pop a queue, pop one of its jobs, push them back with fresh keys."""

    def __init__(self, view: View, chains: Chains, jobs: Sequence[int], queues: Iterable[int]) -> None:
        self.view = view
        self.chains = chains
        self._queue_of: list[int] = view.snapshot.jobs.queue.tolist()
        pairs: dict[int, list[tuple[Key, int]]] = {}
        for key, job in zip(job_keys(view, chains, jobs), jobs, strict=True):
            pairs.setdefault(self._queue_of[job], []).append((key, job))
        self._jobs = {queue: KeyedHeap(entries) for queue, entries in pairs.items()}
        self._queues = KeyedHeap((queue_key(view, chains, queue), queue) for queue in queues)

    def pop_queue(self) -> int | None:
        """The first queue, taken out. One whose key has moved since it was pushed, by a charge of another queue in its tree
        or by an eviction, goes back to its new place first."""
        if self.chains.rekeys:
            for waiting in self._queues:
                fresh = queue_key(self.view, self.chains, waiting)
                if fresh != self._queues.key(waiting):
                    self._queues.push(fresh, waiting)
        while (queue := self._queues.pop()) is not None:
            key = queue_key(self.view, self.chains, queue)
            if key == self._queues.popped:
                return queue
            self._queues.push(key, queue)
        return None

    def push_queue(self, queue: int) -> None:
        """Put a queue back with its present key."""
        self._queues.push(queue_key(self.view, self.chains, queue), queue)

    def pop_job(self, queue: int) -> int | None:
        """The first job of a queue, taken out."""
        heap = self._jobs.get(queue)
        return None if heap is None else heap.pop()

    def push_job(self, job: int) -> None:
        """Put a job back with its present key."""
        self._jobs[self._queue_of[job]].push(job_key(self.view, self.chains, job), job)

    def fell(self, jobs: Iterable[int]) -> None:
        """Jobs that lost pods may come earlier now, and so may their queues: those that wait for a turn get their present key."""
        for job in dict.fromkeys(jobs):
            queue = self._queue_of[job]
            heap = self._jobs.get(queue)
            if heap is not None and job in heap:
                self.push_job(job)
            if queue in self._queues:
                self.push_queue(queue)


def queue_key(view: View, chains: Chains, queue: int) -> Key:
    """By the plugins' keys, then creation, name."""
    table = view.snapshot.queues
    return (*chains.queue_key(view, queue), int(table.created[queue]), table.names[queue])


def job_key(view: View, chains: Chains, job: int) -> Key:
    """By the plugins' keys, then creation, name."""
    table = view.snapshot.jobs
    return (*(hook(view, job) for hook in chains.job_orders), int(table.created[job]), table.names[job])


def job_keys(view: View, chains: Chains, jobs: Sequence[int]) -> list[Key]:
    """`job_key` of each; the plugins are asked once."""
    table, rows = view.snapshot.jobs, np.array(jobs, dtype=np.int64)
    columns = [np.asarray(hook(view, rows)).tolist() for hook in chains.job_orders]
    return list(zip(*columns, table.created[rows].tolist(), [table.names[job] for job in jobs], strict=True))


def ascending_tasks(view: View, chains: Chains, tasks: Int, group: Int | Int32) -> Int:
    """Tasks by a group number (k,), inside a group by the plugins' keys, then pod index, creation, uid.

    The index counts where all given tasks of the job have one: Volcano compares two tasks by it only when both have, which
    is no order when some have and some have not."""
    table = view.snapshot.tasks
    if not len(tasks):
        return tasks
    job = table.job[tasks]
    index = table.index[tasks]
    without = np.bincount(job, weights=index == MISSING) > 0
    index = np.where(without[job], 0, index)
    created = table.created[tasks]
    hooks: list[np.typing.NDArray[np.generic]] = [
        np.asarray(hook(view, tasks)) for hook in chains.task_orders
    ]
    columns = [group, *hooks, index, created]
    order = np.lexsort(tuple(reversed(columns)))
    same = np.ones(len(tasks) - 1, dtype=bool)
    for column in columns:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    out = tasks[order]
    _break_ties(out, same, table.uids)
    return out


def _break_ties(tasks: Int, same: np.typing.NDArray[np.bool_], uids: Sequence[str]) -> None:
    """Sort each stretch of equal keys by uid, in place; `same[i]`: entry i + 1 has the key of entry i."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        stretch = tasks[first : last + 1].tolist()
        tasks[first : last + 1] = sorted(stretch, key=uids.__getitem__)


class Worksheet:
    """The pending tasks of each unit, in order; what is popped is gone for this action, placed or not. A unit is a job (row),
    or whatever `unit` (P,) numbers each task with, below `units`.

    `run_end[i]` is where the run of equal tasks (shape, role, nominated node) that holds position i ends."""

    __slots__ = ("_owner", "end", "next", "run_end", "tasks", "tasks_array")

    def __init__(
        self, view: View, chains: Chains, tasks: Int, unit: Int | None = None, units: int = 0
    ) -> None:
        owner = view.snapshot.tasks.job if unit is None else unit
        ordered = ascending_tasks(view, chains, tasks, owner[tasks])
        self._owner = owner
        self.tasks_array = ordered
        self.tasks: list[int] = ordered.tolist()
        size = len(view.snapshot.jobs) if unit is None else units
        counts = np.bincount(owner[ordered], minlength=size)
        ends = np.cumsum(counts)
        self.end: list[int] = ends.tolist()
        self.next: list[int] = (ends - counts).tolist()
        self.run_end = self._run_ends(view, ordered)

    def unit(self, task: int) -> int:
        """The unit that a task belongs to."""
        return int(self._owner[task])

    def _run_ends(self, view: View, ordered: Int) -> list[int]:
        if not len(ordered):
            return []
        table = view.snapshot.tasks
        change = np.ones(len(ordered), dtype=bool)
        change[:-1] = False
        for column in (self._owner, table.shape, table.role, table.nominated):
            values = column[ordered]
            change[:-1] |= values[1:] != values[:-1]
        stops = np.flatnonzero(change) + 1
        position = np.searchsorted(stops, np.arange(len(ordered)), side="right")
        ends: list[int] = stops[position].tolist()
        return ends

    def lead(self, view: View, job: int, tasks: Set[int]) -> None:
        """Put these tasks of the job before its others, all else in the order it had."""
        first, end = self.next[job], self.end[job]
        ours = sorted(self.tasks[first:end], key=lambda task: task not in tasks)
        self.tasks[first:end] = ours
        self.tasks_array[first:end] = ours
        ends = self._run_ends(view, self.tasks_array[first:end])
        self.run_end[first:end] = [first + each for each in ends]

    def left(self, job: int) -> int:
        """How many tasks of the job are not popped yet."""
        return self.end[job] - self.next[job]

    def remaining(self, job: int) -> Int:
        """Their rows, in order."""
        return self.tasks_array[self.next[job] : self.end[job]]

    def run(self, job: int, limit: int) -> list[int]:
        """The next equal tasks, `limit` at most, not popped."""
        first = self.next[job]
        return self.tasks[first : min(self.run_end[first], first + limit)]

    def first(self, job: int) -> int:
        """The next task."""
        return self.tasks[self.next[job]]

    def run_left(self, job: int) -> int:
        """How many equal tasks come next."""
        first = self.next[job]
        return self.run_end[first] - first

    def pop(self, job: int, count: int) -> None:
        """Take `count` tasks off."""
        self.next[job] += count

    def is_one_run(self, job: int) -> bool:
        """Are all tasks that are left equal?"""
        return self.run_end[self.next[job]] >= self.end[job]
