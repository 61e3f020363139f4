"""Near the rest of a part: the lower the HyperNode that holds a node and all pods of the part, the better."""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.subjobs import SubJob
from vcray.core.tables import MISSING
from vcray.core.view import View


class Nearness:
    """Score by the tier of the lowest common HyperNode with the part so far, 1 at the lowest tier, 0 at the top.

    Where several candidates share the best, each gets the share of the part's tasks that its own leaf HyperNode holds."""

    counts = True

    def __init__(self, view: View, subjob: SubJob, running: int, weight: int) -> None:
        self._tree = view.hypernodes
        self._scale = 100.0 * weight
        self._running = running
        self._size = len(subjob.tasks)
        self._leaf: Int = np.array(self._tree.leaf, dtype=np.int64)
        self._there: Float = np.zeros(len(self._tree.names) + 1)
        for task in subjob.tasks.tolist():
            if view.node[task] != MISSING:
                self._count(int(self._tree.cell[view.node[task]]))
        self._near = self._nearness()

    def _count(self, cell: int) -> None:
        if self._tree.leaf[cell] != MISSING:
            self._there[self._tree.leaf[cell]] += 1

    def _nearness(self) -> Float:
        tree = self._tree
        near = np.zeros(len(tree.holders))
        span = tree.highest - tree.lowest
        for row in reversed(tree.ancestors(self._running)):
            near[tree.under[row]] = (tree.highest - tree.tier[row]) / span if span else 1.0
        near[tree.under[self._running][self._leaf[tree.under[self._running]] == self._running]] = 1.0
        return near

    def points(self, candidates: Int) -> Float:
        """See `CellScore`."""
        near, able = self._near, candidates > 0
        if not able.any():
            return near * self._scale
        best = able & (near == near[able].max())
        if int(candidates[best].sum()) > 1:
            near = near + np.where(best, self._there[self._leaf] / self._size, 0.0)
        return near * self._scale

    def take(self, cell: int) -> Int | None:
        """See `CellScore`."""
        self._count(cell)
        leaf = self._tree.leaf[cell]
        if leaf != MISSING:
            joined = self._tree.lca(leaf, self._running)
            if joined != self._running:
                self._running = joined
                self._near = self._nearness()
        return None
