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

    rows: per tier (C,) HyperNode rows, one past the last for none, with its weight. total: the sum of all weights."""

    def __init__(self, tree: HyperNodes, fading: float) -> None:
        none = len(tree.names)
        self.rows: list[tuple[Int, float]] = []
        self.total = 0.0
        for tier in range(tree.lowest, tree.highest + 1):
            weight = float(fading ** (tier - 1)) if fading or tier >= 1 else 0.0
            self.total += weight
            at = [next((row for row in inside if tree.tier[row] == tier), none) for inside in tree.holders]
            if weight:
                self.rows.append((np.array(at, dtype=np.int64), weight))


class Packing:
    """Score of a pod without a topology: the mean of its rating over the tiers around a node, 1 for a tier without HyperNode."""

    counts = False

    def __init__(self, view: View, tiers: TierPacking, weighing: Weighing, weight: int) -> None:
        self._tree = view.hypernodes
        self._tiers = tiers
        self._weighing = weighing
        self._scale = 100.0 * weight
        self._whole = view.hyperuse.allocatable()
        self._used = view.hyperuse.used()
        self._own = False
        self._rated = np.append(rating(weighing, self._used, self._whole), 1.0)

    def points(self, candidates: Int) -> Float:
        """See `CellScore`."""
        total = np.zeros(len(self._tree.holders))
        for rows, weight in self._tiers.rows:
            total += self._rated[rows] * weight
        mean: Float = total / self._tiers.total * self._scale
        return mean

    def take(self, cell: int) -> None:
        """See `CellScore`."""
        if not self._own:
            self._used, self._own = self._used.copy(), True
        rows = list(self._tree.holders[cell])
        for row, amount, _ in self._weighing.parts:
            self._used[row, rows] += amount
        self._rated[rows] = rating(self._weighing, self._used[:, rows], self._whole[:, rows])
