"""How full HyperNodes are: rates one by the weighted mean share in use, and pods without a topology by all tiers at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.hypernodes import HyperNodes
from vcray.core.view import View


class Weighing(NamedTuple):
    """What a request asks for that has a weight: (resource row, amount, weight) each, and the sum of the weights."""

    parts: tuple[tuple[int, int, int], ...]
    total: int


def rating(weighing: Weighing, used: Int, allocatable: Int) -> Float:
    """(k,) 0..1: weighted mean share in use with the request, of HyperNodes with (R, k) sums; 0 where it overflows."""
    size = used.shape[1]
    if not weighing.total:
        return np.zeros(size)
    mean = np.zeros(size)
    over = np.zeros(size, dtype=np.bool_)
    for row, amount, weight in weighing.parts:
        after, whole = used[row] + amount, allocatable[row]
        over |= after > whole
        mean += np.divide(after, whole, out=np.zeros(size), where=whole > 0) * weight
    rated: Float = np.where(over, 0.0, mean / weighing.total)
    return rated


class TierPacking:
    """Which HyperNode of each tier a cell is in, with the tier's weight: `fading` to the power of tier - 1, 0^0 being 1.

    rows: per tier below the top's (C,) HyperNode rows, one past the last for none, with its weight. top: the weight of the top's
    tier; total: the sum of all weights."""

    def __init__(self, tree: HyperNodes, fading: float) -> None:
        self._tree = tree
        none = len(tree.names)
        self.rows: list[tuple[Int, float]] = []
        weights = {
            tier: float(fading ** (tier - 1)) if fading or tier >= 1 else 0.0
            for tier in range(tree.lowest, tree.highest + 1)
        }
        self.total = sum(weights.values())
        self.top = weights[tree.highest]
        for tier, weight in weights.items():
            if weight and tier != tree.highest:
                at = [
                    next((row for row in inside if tree.tier[row] == tier), none) for inside in tree.holders
                ]
                self.rows.append((np.array(at, dtype=np.int64), weight))
        self._moved: dict[int, Int] = {}

    def moved(self, cell: int) -> Int:
        """Cells that share a HyperNode below the top with a cell."""
        known = self._moved.get(cell)
        if known is None:
            around = [self._tree.cells[row] for row in self._tree.holders[cell] if row != self._tree.top]
            known = np.unique(np.concatenate(around)) if around else np.zeros(0, dtype=np.int64)
            self._moved[cell] = known
        return known


class Packing:
    """Score of a pod without a topology: the mean of its rating over the tiers around a node, 1 for a tier without HyperNode.

    The rating of the top is the same for all nodes and moves with every pod, so it is left out of `points`: `common` has it."""

    counts = False

    def __init__(self, view: View, tiers: TierPacking, weighing: Weighing, weight: int) -> None:
        tree = self._tree = view.hypernodes
        self._tiers = tiers
        self._weighing = weighing
        self._scale = 100.0 * weight
        whole, used = view.hyperuse.allocatable(), view.hyperuse.used()
        self._parts = [(amount, w, used[r], whole[r]) for r, amount, w in weighing.parts]
        self._taken: dict[int, int] = {}
        self._rated = np.append(rating(weighing, used, whole), 1.0)
        self._points = self._of(None)
        self.common = float(self._rated[tree.top]) * tiers.top / tiers.total * self._scale

    def _of(self, cells: Int | None) -> Float:
        total = np.zeros(len(self._tree.holders) if cells is None else len(cells))
        for rows, weight in self._tiers.rows:
            total += self._rated[rows if cells is None else rows[cells]] * weight
        mean: Float = total / self._tiers.total * self._scale
        return mean

    def points(self, candidates: Int) -> Float:
        """See `CellScore`."""
        return self._points

    def take(self, cell: int) -> Int | None:
        """See `CellScore`."""
        for row in self._tree.holders[cell]:
            self._taken[row] = self._taken.get(row, 0) + 1
            self._rated[row] = self._rate(row, self._taken[row] + 1)
        moved = self._tiers.moved(cell)
        self._points[moved] = self._of(moved)
        return moved

    def _rate(self, row: int, pods: int) -> float:
        """`rating` of one HyperNode with some more pods, in Python numbers, bit-equal."""
        mean = 0.0
        for amount, weight, used, whole in self._parts:
            after, offered = int(used[row]) + amount * pods, int(whole[row])
            if after > offered:
                return 0.0
            if offered:
                mean += float(after) / float(offered) * weight
        return mean / self._weighing.total if self._weighing.total else 0.0
