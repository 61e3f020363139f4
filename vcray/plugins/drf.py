"""Volcano's `drf`: dominant resource fairness among jobs: the job that holds the least of what it holds most goes first.

A job's share is the largest part of any cluster resource that its tasks hold, pods and scalars included, so many tiny
pods can be dominated by `pods`. Promised tasks count. The hierarchical form (`enableHierarchy`) orders queues, and its
say on victims belongs to the actions that evict; neither is built yet.
"""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import FloatLike, IntLike
from vcray.core.plugin import Args, Plugin
from vcray.core.view import View


class Drf(Plugin[Args]):
    """Orders jobs by dominant share."""

    unbuilt = {
        "enableHierarchy": "hierarchical drf is not built yet; jobs are ordered by their own share alone"
    }

    def open(self, view: View) -> None:
        """Cluster totals by resource row, for the resources that the cluster has."""
        total = view.total.tolist()
        self.total_ = [(row, float(amount)) for row, amount in enumerate(total) if amount > 0]

    def job_order(self, view: View, jobs: IntLike) -> FloatLike:
        """Dominant share, smaller first; equal shares leave the order to others."""
        claimed = view.jobs.claimed
        if isinstance(jobs, np.ndarray):
            share = np.zeros(len(jobs), dtype=np.float64)
            for row, total in self.total_:
                np.maximum(share, claimed[row, jobs] / total, out=share)
            return share
        held = claimed[:, jobs].tolist()
        return max((held[row] / total for row, total in self.total_), default=0.0)
