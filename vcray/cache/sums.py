"""What pods make of their nodes: sums over node columns, changed by adding and taking away whole groups of pods.

All amounts are integers, so taking away is exact. Besides resources there is one matrix of counters, a row for each
host port, selector, anti-affinity term and preferred term that some shape knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from vcray.cache.shapes import Counted, ShapeTable
from vcray.core.arrays import Bool, Int

Placed: TypeAlias = tuple[Int, Int, Bool]
"""Node columns, shape rows, and which of the pods are leaving: three arrays of one length."""


class NodeSums:
    """Sums of N nodes for the resources and counters of a shape table."""

    def __init__(self, resources: int, nodes: int) -> None:
        self.used: Int = np.zeros((resources, nodes), np.int64)
        self.releasing: Int = np.zeros((resources, nodes), np.int64)
        self.floor: Int = np.zeros((2, nodes), np.int64)
        self.counter: Int = np.zeros((0, nodes), np.int64)

    def fit(self, counters: int) -> None:
        """Make room for that many counter rows."""
        if counters > len(self.counter):
            more = np.zeros(
                (max(8, counters - len(self.counter), len(self.counter)), self.used.shape[1]), np.int64
            )
            self.counter = np.concatenate([self.counter, more])

    def add(self, sign: int, placed: Placed, shapes: ShapeTable) -> None:
        """Add (1) or take away (-1) pods."""
        nodes, rows, leaving = placed
        if not len(nodes):
            return
        self.fit(shapes.counters)
        going = nodes[leaving]
        for resource in range(len(self.used)):
            amounts = shapes.request[resource, rows] * sign
            if amounts.any():
                np.add.at(self.used[resource], nodes, amounts)
                if len(going):
                    np.add.at(self.releasing[resource], going, amounts[leaving])
        for item in range(2):
            np.add.at(self.floor[item], nodes, shapes.floor[item, rows] * sign)
        busy = shapes.counts[rows] != 0
        if busy.any():
            self._count(sign, nodes[busy], rows[busy], leaving[busy], shapes.counted)

    def _count(self, sign: int, nodes: Int, rows: Int, leaving: Bool, counted: Sequence[Counted]) -> None:
        """Counters, one group of equal shape and standing at a time."""
        code = rows * 2 + leaving
        order = np.argsort(code, kind="stable")
        nodes, code = nodes[order], code[order]
        starts = np.flatnonzero(np.diff(code, prepend=-1))
        ends = np.append(starts[1:], len(code))
        for start, end, group in zip(starts.tolist(), ends.tolist(), code[starts].tolist(), strict=True):
            for counter, amount, living in counted[group // 2]:
                if not (living and group % 2):
                    np.add.at(self.counter[counter], nodes[start:end], amount * sign)

    def clear(self) -> None:
        """All sums 0."""
        for array in (self.used, self.releasing, self.floor, self.counter):
            array[:] = 0
