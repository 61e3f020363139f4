"""Volcano's `proportion`: queues share the cluster by weight.

When a session opens, the cluster is poured out over the queues that have groups (`waterfill`). A queue takes pods while it
stays within what it deserves; the queue that holds the smallest part of what it deserves goes first. Before that, a
group is let in only if its minimum fits what its queue may ever hold (`admission`).

`pods` is a resource like any other here, shared out in fractions if need be; only tests against a single request skip it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.hooks import Answer, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.space import CPU, MEMORY, PODS
from vcray.core.tables import MISSING, QueueState, Status
from vcray.core.view import Shape, View
from vcray.plugins.proportion.admission import elastic_by_queue, inqueue_by_queue
from vcray.plugins.proportion.waterfill import EPSILON, Claims, deserved

_OPEN = (QueueState.EMPTY, QueueState.OPEN)


class Proportion(Plugin[Args]):
    """Weighted max-min shares of queues, and the admission gate of their real capability.

    Session state, by queue row as Python lists for hooks asked every turn: `deserved_`, the resources that count in a share
    (`shared_`), the whole units a queue may hold (`limit_`), and what admitted groups hold (`inqueue_`, `elastic_`); `open_`, who may."""

    def open(self, view: View) -> None:
        """Share out the cluster; fixed for the session."""
        queues = view.snapshot.queues
        real = _real_capability(view)
        active = [queue for queue in range(len(queues)) if len(view.jobs_of_queue[queue])]
        rows = sorted(active, key=queues.names.__getitem__)
        claims = Claims(
            total=view.total.astype(np.float64),
            weight=queues.weight[rows].astype(np.float64),
            request=(view.queues.allocated + _pending_by_queue(view))[:, rows].astype(np.float64),
            real=real[:, rows],
            guarantee=queues.guarantee[:, rows].astype(np.float64),
        )
        share = np.zeros(real.shape, dtype=np.float64)
        share[:, rows] = deserved(claims)
        self.deserved_: list[list[float]] = [share[:, queue].tolist() for queue in range(len(queues))]
        self.limit_ = [[math.floor(amount) for amount in queue] for queue in self.deserved_]
        self.shared_ = [
            [(row, amount) for row, amount in enumerate(queue) if amount >= EPSILON]
            for queue in self.deserved_
        ]
        self.real_: list[list[float]] = [real[:, queue].tolist() for queue in range(len(queues))]
        self.open_: list[bool] = np.isin(queues.state, _OPEN).tolist()
        self.inqueue_: list[list[int]] = inqueue_by_queue(view).T.tolist()
        self.elastic_: list[list[int]] = elastic_by_queue(view).T.tolist()

    def queue_order(self, view: View, queue: int) -> Sequence[float]:
        """Priority, higher first; then share, the largest part held of any resource deserved, smaller first."""
        held = view.queues.claimed_list[queue]
        share = max((held[row] / amount for row, amount in self.shared_[queue]), default=0.0)
        return (-float(view.snapshot.queues.priority[queue]), share)

    def queue_overused(self, view: View, queue: int) -> bool:
        """Holds what it deserves of every resource, pods included; short of one, it is not overused."""
        held = view.queues.claimed_list[queue]
        return all(amount - held[row] < EPSILON for row, amount in self.shared_[queue])

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        """How many keep the queue within what it deserves of the resources requested; none unless it is open."""
        if not self.open_[queue]:
            return 0
        held, limit = view.queues.claimed_list[queue], self.limit_[queue]
        for row in shape.nonzero_but_pods:
            count = min(count, (limit[row] - held[row]) // shape.req[row])
        return max(count, 0)

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """Does the minimum fit what the queue may hold, beside what it holds and has let in?"""
        jobs, queue = view.snapshot.jobs, int(view.snapshot.jobs.queue[job])
        if queue == MISSING or not self.open_[queue]:
            return Answer(Vote.REJECT)
        if not jobs.min_resources_set[job]:
            return Answer(Vote.PERMIT)
        held, inqueue = view.queues.claimed_list[queue], self.inqueue_[queue]
        elastic, real = self.elastic_[queue], self.real_[queue]
        short = [
            view.space.names[row]
            for row, amount in enumerate(jobs.min_resources[:, job].tolist())
            if amount > 0 and row != PODS and amount + held[row] + inqueue[row] - elastic[row] > real[row]
        ]
        if not short:
            return Answer(Vote.PERMIT)
        names = ", ".join(f"insufficient {name}" for name in short)
        return Answer(Vote.REJECT, f"queue resource quota insufficient: {names}")

    def job_enqueued(self, view: View, job: int) -> None:
        """The group's minimum, without what its gated pods ask, is held from now on."""
        jobs, queue = view.snapshot.jobs, int(view.snapshot.jobs.queue[job])
        held: Int = np.maximum(jobs.min_resources[:, job] - jobs.requested_gated[:, job], 0)
        self.inqueue_[queue] = [a + b for a, b in zip(self.inqueue_[queue], held.tolist(), strict=True)]


def _pending_by_queue(view: View) -> Int:
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


def _real_capability(view: View) -> Float:
    """(R, Q) what a queue may ever hold: all that is not guaranteed to others, within its capability.

    A missing cpu or memory capability, or one of 0, means no limit; a missing scalar likewise, but a scalar of 0 is a limit."""
    queues = view.snapshot.queues
    free = np.maximum(view.total - queues.guarantee.sum(axis=1), 0)
    real = (free[:, None] + queues.guarantee).astype(np.float64)
    limited = queues.capability_named.copy()
    limited[[CPU, MEMORY]] &= queues.capability[[CPU, MEMORY]] > 0
    capped: Float = np.where(limited, np.minimum(real, queues.capability), real)
    return capped
