"""Volcano's `proportion`: queues share the cluster by weight.

When a session opens, the cluster is poured out over the queues that have groups (`waterfill`). A queue takes pods while it
stays within what it deserves; the queue that holds the smallest part of what it deserves goes first. Before that, a
group is let in only if its minimum fits what its queue may ever hold.

`pods` is a resource like any other here, shared out in fractions if need be; only tests against a single request skip it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vcray.core.arrays import Bool, Float, Int
from vcray.core.hooks import Answer, Vote
from vcray.core.meter import Figures
from vcray.core.plugin import Args, Plugin
from vcray.core.queuesums import (
    elastic_by_queue,
    inqueue_by_queue,
    newly_held,
    not_open_message,
    open_queues,
    pending_by_queue,
    quota_message,
    real_capability,
    short_of,
)
from vcray.core.tables import MISSING
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import Shape, View
from vcray.plugins.proportion.waterfill import EPSILON, Claims, deserved


class Proportion(Plugin[Args]):
    """Weighted max-min shares of queues, and the admission gate of their real capability.

    Session state, by queue row as Python lists for hooks asked every turn: `deserved_`, the resources that count in a share
    (`shared_`), the whole units a queue may hold (`limit_`), and what admitted groups hold (`inqueue_`, `elastic_`); `open_`, who may."""

    steady = True
    vetoes = True

    def open(self, view: View) -> None:
        """Share out the cluster; fixed for the session."""
        queues = view.snapshot.queues
        real = real_capability(view).astype(np.float64)
        active = [queue for queue in range(len(queues)) if len(view.jobs_of_queue[queue])]
        rows = sorted(active, key=queues.names.__getitem__)
        claims = Claims(
            total=view.total.astype(np.float64),
            weight=queues.weight[rows].astype(np.float64),
            request=(view.queues.allocated + pending_by_queue(view))[:, rows].astype(np.float64),
            real=real[:, rows],
            guarantee=queues.guarantee[:, rows].astype(np.float64),
        )
        share = np.zeros(real.shape, dtype=np.float64)
        share[:, rows] = deserved(claims)
        self.share_: Float = share
        self.deserved_: list[list[float]] = [share[:, queue].tolist() for queue in range(len(queues))]
        self.limit_ = [[math.floor(amount) for amount in queue] for queue in self.deserved_]
        self.shared_ = [
            [(row, amount) for row, amount in enumerate(queue) if amount >= EPSILON]
            for queue in self.deserved_
        ]
        self.real_: list[list[float]] = [real[:, queue].tolist() for queue in range(len(queues))]
        self.open_: list[bool] = open_queues(queues)
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
        if queue == MISSING:
            return Answer(Vote.REJECT)
        if not self.open_[queue]:
            return Answer(Vote.REJECT, not_open_message(view, queue))
        if not jobs.min_resources_set[job]:
            return Answer(Vote.PERMIT)
        held, real = view.queues.claimed_list[queue], self.real_[queue]
        short = short_of(view, job, held, self.inqueue_[queue], self.elastic_[queue], real)
        return Answer(Vote.REJECT, quota_message(short)) if short else Answer(Vote.PERMIT)

    def job_enqueued(self, view: View, job: int) -> None:
        """The group's minimum, without what its gated pods ask, is held from now on."""
        queue, held = int(view.snapshot.jobs.queue[job]), newly_held(view, job).tolist()
        self.inqueue_[queue] = [a + b for a, b in zip(self.inqueue_[queue], held, strict=True)]

    def queue_preemptive(self, view: View, queue: int, request: Int) -> bool:
        """May take from others while open and within what it deserves of the resources requested, pod slots included: a queue
        gives when it holds too many of them, so one that would then hold too many takes none."""
        held, limit = view.queues.claimed_list[queue], self.limit_[queue]
        return self.open_[queue] and all(
            held[row] + amount <= limit[row] for row, amount in enumerate(request.tolist()) if amount > 0
        )

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """A queue gives while it is over what it deserves of any resource; the pod that crosses the line still goes, unless it
        holds some of what is guaranteed to the queue.

        What the candidates before one hold is taken to be gone: the first that may stay ends it for its queue on a node."""
        gone = candidates.running(candidates.queue, candidates.request, inclusive=False)
        surplus = view.queues.claimed - self.share_
        over: Bool = np.logical_or.reduce(surplus[:, candidates.queue] - gone >= EPSILON, axis=0)
        sure = view.snapshot.queues.guarantee[:, candidates.queue]
        left = view.queues.claimed[:, candidates.queue] - gone - candidates.request
        breaks: Bool = np.logical_or.reduce((left < sure) & (candidates.request > 0), axis=0)
        return over & ~breaks

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """For `gangreclaim` as for `reclaim`; within a queue nothing."""
        if claim.kind is ClaimKind.GANG_PREEMPT:
            return None
        return self.reclaimable(view, claim, candidates)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: a queue gives whoever claims."""
        return None

    def queue_figures(self, view: View, queue: int) -> Figures:
        """Deserved, share, weight and what was let in, for metrics."""
        return Figures(
            inqueue=np.array(self.inqueue_[queue], dtype=np.int64),
            deserved=np.rint(self.deserved_[queue]).astype(np.int64),
            share=self.queue_order(view, queue)[1],
            weight=int(view.snapshot.queues.weight[queue]),
            overused=bool(len(view.jobs_of_queue[queue])) and self.queue_overused(view, queue),
        )
