"""What pods request inside each HyperNode, kept in step with the ledger by its journal.

The reading is kube-scheduler's: promised pods count, evicted ones do not. Sums are int64, so following the journal through
placements and rollbacks gives what counting anew would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vcray.core.arrays import Int
from vcray.core.hypernodes import HyperNodes

if TYPE_CHECKING:
    from vcray.core.ledger import Ledger
    from vcray.core.view import View


class HyperUse:
    """Live sums by HyperNode, and those of the session's opening that do not move. Made on first use."""

    def __init__(self, view: View, ledger: Ledger) -> None:
        self._view = view
        self._ledger = ledger
        self._pointer = 0
        self._seen: Int | None = None
        self._used: Int = np.zeros((0, 0), dtype=np.int64)
        self._fixed: dict[str, Int] = {}

    @property
    def tree(self) -> HyperNodes:
        return self._view.hypernodes

    def allocatable(self) -> Int:
        """(R, H)."""
        return self._once("allocatable")

    def idle(self) -> Int:
        """(R, H) idle when the session opened."""
        return self._once("idle")

    def future(self) -> Int:
        """(R, H) idle when the session opened, with what was being freed then."""
        return self._once("future")

    def _once(self, name: str) -> Int:
        found = self._fixed.get(name)
        if found is None:
            nodes = self._view.snapshot.nodes
            amounts = nodes.allocatable
            if name != "allocatable":
                amounts = amounts - nodes.used
            if name == "future":
                amounts = amounts + nodes.releasing
            found = self._fixed[name] = self.tree.sums(amounts)
        return found

    def used(self) -> Int:
        """(R, H) requests of all pods inside, as of now. Not to be changed."""
        requested, ledger = self._view.nodes.requested, self._ledger
        if self._seen is None:
            self._seen = requested.copy()
            self._used = self.tree.sums(requested)
        elif self._pointer != ledger.touched:
            self._follow(self._seen, requested, ledger.touched_since(self._pointer))
        self._pointer = ledger.touched
        return self._used

    def _follow(self, seen: Int, requested: Int, rows: list[int]) -> None:
        tree = self.tree
        moved = requested[:, rows] - seen[:, rows]
        seen[:, rows] += moved
        cells = tree.cell[rows]
        order = np.argsort(cells, kind="stable")
        firsts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        sums = np.add.reduceat(moved[:, order], firsts, axis=1)
        for place, cell in enumerate(cells[order][firsts].tolist()):
            for row in tree.holders[cell]:
                self._used[:, row] += sums[:, place]
