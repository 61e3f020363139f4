"""How many pods of a class could go inside each HyperNode at most: never too few, so that hopeless trials are left out.

A node that would take one more pod now, or once what is ending has gone, counts with as many copies as its amounts allow. Kept by
the ledger's journal: a placement costs a few additions, not a pass over the nodes.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from vcray.core.arrays import Int
from vcray.core.classes import Class
from vcray.core.merge import NONE
from vcray.core.view import View

BOUNDLESS = 2**31


class Room:
    """Copies of one class by node and by HyperNode."""

    __slots__ = ("_copies", "_frees", "_pointer", "_sums", "cls")

    def __init__(self, cls: Class) -> None:
        self.cls = cls
        self._copies: Int | None = None
        self._sums: Int = np.zeros(0, dtype=np.int64)
        self._pointer = 0
        self._frees = False

    def by_hypernode(self) -> Int:
        """(H,) as of now. Not to be changed."""
        cls, ledger = self.cls, self.cls.ledger
        tree = cls.view.hypernodes
        if self._copies is None or self._frees is not ledger.frees:
            self._copies = self._count(np.arange(len(cls.view.snapshot.nodes)))
            self._sums = tree.sums(self._copies)
        elif self._pointer != ledger.touched:
            rows = np.array(ledger.touched_since(self._pointer), dtype=np.int64)
            fresh = self._count(rows)
            moved = fresh - self._copies[rows]
            self._copies[rows] = fresh
            for place in np.flatnonzero(moved).tolist():
                self._sums[list(tree.holders[int(tree.cell[rows[place]])])] += moved[place]
        self._pointer, self._frees = ledger.touched, ledger.frees
        return self._sums

    def _count(self, rows: Int) -> Int:
        cls = self.cls
        open_ = cls.group(False).key[rows] > NONE
        if cls.ledger.frees:
            open_ |= cls.group(True).key[rows] > NONE
        future = cls.view.nodes.future
        copies = np.full(len(rows), BOUNDLESS, dtype=np.int64)
        for r, amount in cls.fit:
            if amount:
                np.minimum(copies, future[r, rows] // amount, out=copies)
        return np.where(open_, np.maximum(copies, 0), 0)


class Rooms:
    """The room of all classes that were asked for."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._rooms: dict[Class, Room] = {}

    def least_upper(self, classes: Counter[Class]) -> Int | None:
        """(H,) so many pods of these classes, each so often, find a place inside each HyperNode at most; None: who knows.

        Nothing is known of classes whose pods open nodes to each other, or reserve what is no sum, or request nothing."""
        total = np.zeros(len(self._view.hypernodes.names), dtype=np.int64)
        for cls, count in classes.items():
            if cls.moves or cls.reserves or not cls.fits:
                return None
            room = self._rooms.get(cls)
            if room is None:
                room = self._rooms[cls] = Room(cls)
            total += np.minimum(room.by_hypernode(), count)
        return total
