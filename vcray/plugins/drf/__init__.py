"""Volcano's `drf`: dominant resource fairness among jobs: the job that holds the least of what it holds most goes first.

A job's share is the largest part of any cluster resource that its tasks hold, pods and scalars included, so many tiny
pods can be dominated by `pods`. Promised tasks count. Within a queue a job may take from one that would still hold at least
as much. With `enableHierarchy` queues are ordered too, along a tree that their annotations spell (`hierarchy`), and queues that
stand before others there may take pods back from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from vcray.core.arrays import Bool, Float, FloatLike, Int, IntLike
from vcray.core.plugin import Args, Plugin
from vcray.core.victims import Candidates, Claim
from vcray.core.view import View
from vcray.plugins.drf.hierarchy import Hierarchy

EQUAL = 1e-6
"""Shares that differ by no more count as equal between claimant and victim."""


class DrfArgs(Args):
    """`hierarchy` is the flag of the plugin's entry."""

    hierarchy: bool = Field(False, alias="enableHierarchy")


class Drf(Plugin[DrfArgs]):
    """Orders jobs by dominant share, and queues too where they form a tree (`tree_`)."""

    steady = True
    args_model = DrfArgs
    flags = ("enableHierarchy",)

    def open(self, view: View) -> None:
        """Cluster totals by resource row, for the resources that the cluster has."""
        total = view.total.tolist()
        self.total_ = [(row, float(amount)) for row, amount in enumerate(total) if amount > 0]
        self.tree_ = Hierarchy(view) if self.args.hierarchy else None
        self.rekeys = self.tree_ is not None

    def queue_order(self, view: View, queue: int) -> Sequence[float]:
        """In a tree: level by level branches that can grow first, then those with the smaller share by weight."""
        return () if self.tree_ is None else self.tree_.key(view, queue)

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """In a tree: pods of queues that the claimant's queue, holding its request, goes before without them, each alone."""
        if self.tree_ is None:
            return None
        supposed = self.tree_.supposing(view, claim.job, claim.queue, claim.request)
        shapes = view.snapshot.tasks.shape[candidates.task].tolist()
        rows = zip(candidates.job.tolist(), candidates.queue.tolist(), shapes, strict=True)
        return np.array(
            [
                supposed.goes_before(job, queue, shape, candidates.request[:, i])
                for i, (job, queue, shape) in enumerate(rows)
            ],
            dtype=bool,
        )

    def job_order(self, view: View, jobs: IntLike) -> FloatLike:
        """Dominant share, smaller first; equal shares leave the order to others."""
        claimed = view.jobs.claimed
        if isinstance(jobs, np.ndarray):
            share = np.zeros(len(jobs), dtype=np.float64)
            for row, total in self.total_:
                np.maximum(share, claimed[row, jobs] / total, out=share)
            return share
        return self._share(claimed[:, jobs])

    def job_shares(self, view: View) -> Float:
        """Dominant shares of all jobs, for metrics."""
        return np.asarray(self.job_order(view, np.arange(len(view.snapshot.jobs))), dtype=np.float64)

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """Jobs whose share, without all candidates up to this one, is not below the claimant's with its request."""
        mine = self._share(view.jobs.claimed[:, claim.job] + claim.request)
        left = view.jobs.claimed[:, candidates.job]
        left = left - candidates.running(candidates.job, candidates.request, inclusive=True)
        share = np.zeros(len(candidates), dtype=np.float64)
        for row, total in self.total_:
            np.maximum(share, left[row] / total, out=share)
        given: Bool = (mine < share) | (np.abs(mine - share) <= EQUAL)
        return given

    def claim_key(self, view: View, claim: Claim) -> object:
        """The share that the claimant would have; in a tree no two claims are alike."""
        if self.tree_ is not None:
            return claim.tasks
        return self._share(view.jobs.claimed[:, claim.job] + claim.request)

    def _share(self, held: Int) -> float:
        amounts = held.tolist()
        return max((amounts[row] / total for row, total in self.total_), default=0.0)
