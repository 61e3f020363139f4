"""Sums over the groups of each queue, as the share plugins count them when a session opens, and what follows from them.

A group that was let in and has not placed its pods yet holds the unplaced part of its `minResources`; what a group has placed
above its minimum (elastic) can be taken back, so it is not held against others. All amounts are int64 in the units of
`core.space`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.space import CPU, MEMORY, PODS
from vcray.core.tables import (
    ALLOCATED_STATUS,
    MISSING,
    QUEUE_STATE_NAMES,
    Phase,
    QueueState,
    QueueTable,
    Status,
)
from vcray.core.view import View

_OPEN = (QueueState.EMPTY, QueueState.OPEN)


def open_queues(queues: QueueTable) -> list[bool]:
    """By row: may the queue take new work?"""
    states: list[bool] = np.isin(queues.state, _OPEN).tolist()
    return states


def started(view: View) -> Bool:
    """(J,) groups that are Running with at least `minMember` tasks holding a node."""
    held = view.jobs.count[list(ALLOCATED_STATUS)].sum(axis=0)
    enough: Bool = (view.jobs.phase == Phase.RUNNING) & (held >= view.snapshot.jobs.min_available)
    return enough


def unplaced(view: View) -> Int:
    """(R, J) minimum not placed yet, without the requests of gated pods, for every group."""
    jobs = view.snapshot.jobs
    minimum = np.where(jobs.min_resources_named, jobs.min_resources, 0)
    missing = np.maximum(minimum - view.jobs.allocated, 0)
    return np.where(jobs.min_resources_named, np.maximum(missing - jobs.requested_gated, 0), 0)


def inqueue_by_queue(view: View) -> Int:
    """(R, Q) what admitted groups of each queue still have to place."""
    holding = (view.jobs.phase == Phase.INQUEUE) | started(view)
    return _by_queue(view, np.where(holding, unplaced(view), 0))


def elastic_by_queue(view: View) -> Int:
    """(R, Q) what groups of each queue hold above their minimum; all of it where there is no minimum."""
    jobs = view.snapshot.jobs
    minimum = np.where(jobs.min_resources_named, jobs.min_resources, 0)
    return _by_queue(view, np.maximum(view.jobs.allocated - minimum, 0))


def pending_by_queue(view: View) -> Int:
    """(R, Q) requests of pending tasks, best-effort and gated ones too."""
    tasks = view.snapshot.tasks
    rows = np.flatnonzero(view.status == Status.PENDING)
    queue = view.snapshot.jobs.queue[tasks.job[rows]].astype(np.int64)
    known = queue != MISSING
    kinds = len(view.shapes)
    out = np.zeros((len(view.space), len(view.snapshot.queues)), dtype=np.int64)
    keys, counts = np.unique(queue[known] * kinds + tasks.shape[rows][known], return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        out[:, key // kinds] += view.shapes[key % kinds].request * count
    return out


def limited(queues: QueueTable) -> Bool:
    """(R, Q) where a capability is a limit: a cpu or memory of 0 means none, a scalar of 0 is one."""
    named = queues.capability_named.copy()
    named[[CPU, MEMORY]] &= queues.capability[[CPU, MEMORY]] > 0
    return named


def real_capability(view: View) -> Int:
    """(R, Q) what a queue may ever hold without a tree: all that is not guaranteed to others, within its capability."""
    queues = view.snapshot.queues
    free = np.maximum(view.total - queues.guarantee.sum(axis=1), 0)
    real = free[:, None] + queues.guarantee
    capped: Int = np.where(limited(queues), np.minimum(real, queues.capability), real)
    return capped


def newly_held(view: View, job: int) -> Int:
    """(R,) what an admitted group holds from now on: its minimum without what its gated pods ask."""
    jobs = view.snapshot.jobs
    held: Int = np.maximum(jobs.min_resources[:, job] - jobs.requested_gated[:, job], 0)
    return held


def short_of(
    view: View,
    job: int,
    held: Sequence[int],
    inqueue: Sequence[int],
    elastic: Sequence[int],
    real: Sequence[float],
) -> list[str]:
    """Resources of which a queue could not hold the group's minimum beside what it holds and has let in."""
    return [
        view.space.names[row]
        for row, amount in enumerate(view.snapshot.jobs.min_resources[:, job].tolist())
        if amount > 0 and row != PODS and amount + held[row] + inqueue[row] - elastic[row] > real[row]
    ]


def quota_message(names: Iterable[str]) -> str:
    """What a group hears that its queue cannot hold."""
    return "queue resource quota insufficient: " + ", ".join(f"insufficient {name}" for name in names)


def not_open_message(view: View, queue: int) -> str:
    """What a group hears whose queue takes in nobody (volcano-sh/volcano#2276)."""
    queues = view.snapshot.queues
    state = QUEUE_STATE_NAMES[int(queues.state[queue])]
    return f"queue '{queues.names[queue]}' is {state}; it admits no pods until it is Open"


def _by_queue(view: View, per_job: Int) -> Int:
    """(R, Q) sums of (R, J) amounts over the groups of each queue; groups without a queue are left out."""
    queues = view.snapshot.jobs.queue
    known = np.flatnonzero(queues != MISSING)
    out = np.zeros((per_job.shape[0], len(view.snapshot.queues)), dtype=np.int64)
    np.add.at(out.T, queues[known], per_job[:, known].T)
    return out
