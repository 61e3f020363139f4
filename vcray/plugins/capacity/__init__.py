"""Volcano's `capacity`: each queue states what it deserves, what it is sure of and what it may hold at most.

A queue takes pods while it stays within what it may hold (its real capability), and lends what it does not use: others may go
above what they deserve until it is claimed back. With `enableHierarchy` queues form a tree by `spec.parent`; a charge
goes to all queues above, each of which has limits of its own (`limits`). Queues that hold the smaller part of what they
deserve go first (`ordering`); `reclaiming` says who may be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from vcray.core.arrays import Bool, Int
from vcray.core.hooks import Answer, Closing, Vote
from vcray.core.meter import UNLIMITED, Figures
from vcray.core.plugin import Args, Plugin
from vcray.core.queuedevices import held_devices
from vcray.core.queuesums import (
    elastic_by_queue,
    inqueue_by_queue,
    newly_held,
    not_open_message,
    open_queues,
    pending_by_queue,
    quota_message,
    short_of,
)
from vcray.core.tables import MISSING, Phase
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import Shape, View
from vcray.plugins.capacity.devices import REASON, DeviceQuotas
from vcray.plugins.capacity.limits import flat_limits, tree_limits
from vcray.plugins.capacity.ordering import Ordering, Shares
from vcray.plugins.capacity.reclaiming import Asking, Reclaiming


class CapacityArgs(Args):
    """`level`: up to which distance queues above are looked at when pods are taken back; below 0 counts as 0.

    `devices`: are quotas of devices kept, and (`capacities`) those of their capacities too? `hierarchy` is the flag of the
    plugin's entry."""

    minimums: ClassVar[dict[str, float]] = {"ancestorReclaimLevel": 0}

    level: int = Field(0, alias="ancestorReclaimLevel")
    devices: bool = Field(True, alias="capacity.DynamicResourceAllocationEnable")
    capacities: bool = Field(False, alias="capacity.DRAConsumableCapacityEnable")
    hierarchy: bool = Field(False, alias="enableHierarchy")


class Capacity(Plugin[CapacityArgs]):
    """Stated shares of queues, flat or as a tree.

    Session state by queue row: `levels_`, the queues that a charge of the queue is held against with what they may hold;
    `closed_`, why a queue takes nothing (empty: it does); `inqueue_` and `elastic_`, of whole subtrees in a tree."""

    steady = True
    args_model = CapacityArgs
    flags = ("enableHierarchy",)
    vetoes = True

    def open(self, view: View) -> None:
        """Work out limits; fixed for the session."""
        tree = self.args.hierarchy
        level = max(self.args.level, 0) if tree else 0
        self.limits_ = tree_limits(view) if tree else flat_limits(view)
        self.paths_ = view.tree.paths if tree else [(queue,) for queue in range(len(view.snapshot.queues))]
        self.real_: list[list[int]] = self.limits_.real.T.tolist()
        held = view.queues.subtree_list if tree else view.queues.claimed_list
        self.held_ = held
        bounded = [any(amount < UNLIMITED for amount in real) for real in self.real_]
        self.levels_ = [
            [(held[at], self.real_[at]) for at in reversed(path) if bounded[at]] for path in self.paths_
        ]
        self.open_ = open_queues(view.snapshot.queues)
        self.misplaced_ = [_misplaced(view, queue) if tree else "" for queue in range(len(self.paths_))]
        self.takes_ = [is_open and not why for is_open, why in zip(self.open_, self.misplaced_, strict=True)]
        self.inqueue_ = self._rolled(inqueue_by_queue(view))
        self.elastic_ = self._rolled(elastic_by_queue(view))
        self.shares_ = Shares(held, self.limits_)
        self.ordering_ = Ordering(view, self.shares_, tree)
        self.figures_: list[Int] = []
        held_now = held_devices(view, self.paths_) if self.args.devices else None
        table = view.snapshot.details.devices
        self.devices_ = (
            None
            if held_now is None or table is None
            else DeviceQuotas(view, table, held_now, self.paths_, self.args.capacities)
        )
        self.reclaiming_ = Reclaiming(view, held, self.paths_, self.limits_, level)
        self.asking_ = Asking(held, self.limits_, level)

    def _rolled(self, own: Int) -> list[list[int]]:
        """(Q, R) sums of each queue and, in a tree, of all below it."""
        sums = np.zeros((own.shape[1], own.shape[0]), dtype=np.int64)
        for amounts, path in zip(own.T, self.paths_, strict=True):
            sums[list(path)] += amounts
        rolled: list[list[int]] = sums.tolist()
        return rolled

    # ---- order and allocation ----

    def queue_order(self, view: View, queue: int) -> Sequence[float]:
        """Priority, higher first; in a tree leaves first; then the share, level by level."""
        return self.ordering_.key(queue)

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        """How many keep the queue, and all above it, within what they may hold of the resources requested."""
        if not self.takes_[queue]:
            return 0
        if self.devices_ is not None and shape.spec.devices and not self.devices_.allows(view, queue, shape):
            return 0
        kept = None if view.gates is None else view.gates.reserved(queue, shape)
        for held, real in self.levels_[queue]:
            for row in shape.nonzero_but_pods:
                room = real[row] - held[row] - (0 if kept is None else kept[row])
                if room < shape.req[row] * count:
                    count = room // shape.req[row]
            kept = None  # reserved in the queue itself alone
        return max(count, 0)

    # ---- admission ----

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """Does the minimum fit what the queue, and all above it, may hold beside what they hold and have let in?"""
        queue = int(view.snapshot.jobs.queue[job])
        if queue == MISSING:
            return Answer(Vote.REJECT)
        if not self.open_[queue]:
            return Answer(Vote.REJECT, not_open_message(view, queue))
        if self.misplaced_[queue]:
            return Answer(Vote.REJECT, self.misplaced_[queue])
        if not view.snapshot.jobs.min_resources_set[job]:
            return Answer(Vote.PERMIT)
        for at in reversed(self.paths_[queue]):
            short = short_of(view, job, self.held_[at], self.inqueue_[at], self.elastic_[at], self.real_[at])
            if short:
                return Answer(Vote.REJECT, quota_message(short))
        devices = self.devices_
        if devices is not None and not devices.lets_in(queue, devices.minimum(view, job)):
            return Answer(Vote.REJECT, quota_message([REASON]))
        return Answer(Vote.PERMIT)

    def job_enqueued(self, view: View, job: int) -> None:
        """The group's minimum, without what its gated pods ask, is held from now on, at every level."""
        held, queue = newly_held(view, job).tolist(), int(view.snapshot.jobs.queue[job])
        if self.devices_ is not None:
            self.devices_.let_in(queue, self.devices_.minimum(view, job))
        for at in self.paths_[queue]:
            self.inqueue_[at] = [a + b for a, b in zip(self.inqueue_[at], held, strict=True)]

    # ---- devices ----

    def reserves(self, view: View, shape: Shape) -> bool:
        """Pods with devices are counted as they are placed."""
        return self.devices_ is not None and bool(shape.spec.devices)

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """The pod's claims are in use; whether the queue may was asked before."""
        self._use(view, task, 1)
        return lambda: self._use(view, task, -1)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """An evicted pod uses them no more."""
        self._use(view, task, -1)
        return lambda: self._use(view, task, 1)

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """Nothing is written."""
        return {}

    def _use(self, view: View, task: int, sign: int) -> None:
        tasks = view.snapshot.tasks
        queue = int(view.snapshot.jobs.queue[tasks.job[task]])
        if self.devices_ is not None and queue != MISSING:
            self.devices_.held.charge(queue, view.shapes[int(tasks.shape[task])].spec.devices, sign)

    # ---- taking back ----

    def queue_preemptive(self, view: View, queue: int, request: Int) -> bool:
        """Within what it may hold, and within what it deserves of one resource requested at least."""
        return self.takes_[queue] and self.asking_.allowed(view, queue, request)

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """Who is not protected by a guarantee and holds what their queue does not deserve."""
        if claim.queue == MISSING or self.misplaced_[claim.queue]:
            return np.zeros(len(candidates), dtype=bool)
        return self.reclaiming_.takeable(claim, candidates, related=True)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: the claimant's queue and request are all that counts."""
        return None

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """As `reclaimable` for whole gangs of other queues, without a level; anybody of the same queue."""
        if claim.kind is not ClaimKind.GANG_RECLAIM:
            return np.ones(len(candidates), dtype=bool)
        if claim.queue == MISSING or self.misplaced_[claim.queue]:
            return np.zeros(len(candidates), dtype=bool)
        rules = Reclaiming(view, self.held_, self.paths_, self.limits_, 0)
        return rules.takeable(claim, candidates, related=False)

    def victim_order(self, view: View, claimant: int, queue: int) -> Sequence[float]:
        """In a tree victims near the claimant's queue go first: those whose common queue above is deeper."""
        if not self.args.hierarchy or claimant == MISSING or queue == MISSING:
            return ()
        common = 0
        for mine, theirs in zip(self.paths_[claimant], self.paths_[queue], strict=False):
            if mine != theirs:
                break
            common += 1
        return (-float(common),)

    # ---- what is told ----

    def close(self, view: View, closing: Closing) -> None:
        """Groups that wait in a queue without a place in the tree say why, without `enqueue` too."""
        for queue in [queue for queue, why in enumerate(self.misplaced_) if why]:
            for job in view.jobs_of_queue[queue].tolist():
                if view.jobs.phase[job] <= Phase.INQUEUE:
                    closing.condition(job, "Unschedulable", "QueueMisplaced", self.misplaced_[queue])

    def queue_figures(self, view: View, queue: int) -> Figures:
        """All that is known of a queue, for metrics."""
        limits, share = self.limits_, self.shares_.of(queue)
        if not self.figures_:
            held = view.queues.allocated
            self.figures_ = [np.array(self._rolled(own)) for own in (held, held + pending_by_queue(view))]
        allocated, request = self.figures_
        return Figures(
            allocated=allocated[queue],
            request=request[queue],
            inqueue=np.array(self.inqueue_[queue], dtype=np.int64),
            deserved=limits.deserved[:, queue],
            capacity=limits.capability[:, queue],
            real_capacity=limits.real[:, queue],
            share=share,
            overused=share > 1,
        )


def _misplaced(view: View, queue: int) -> str:
    """Why a queue of a tree takes no groups, whatever its state; empty when it does."""
    tree = view.tree
    why = tree.faults[queue]
    if not why and not tree.leaf[queue]:
        why = "only queues without queues below them do"
    return f"queue {view.snapshot.queues.names[queue]} takes no groups: {why}" if why else ""
