"""Nodes for a claim, best first, by score alone: room and what pods there hold are what eviction is about.

Scores follow the ledger's journal as those of a placement do; preferences and rules across nodes are normalised over all
nodes that the pod's class allows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.classes import FEW, POINT, Class
from vcray.core.merge import NONE
from vcray.core.normalise import Normaliser, term_points
from vcray.core.rows import ManyRows, OneRow

CHUNK = 8
"""Nodes of the first chunk behind the best one; each next chunk is four times as large."""


class Ranking:
    """Keys of all nodes for one class; higher is better, unique."""

    def __init__(self, cls: Class) -> None:
        self.cls = cls
        self.pointer = cls.ledger.touched
        self.key: Int = cls.score_keys(
            ManyRows(cls.view, cls.layout, None)
        ).copy()  # it may be the ties themselves
        self._added: Int | None = None
        if cls.preferences:
            self._added = Normaliser(cls.preferences, cls.static).added << POINT

    def keys(self) -> Int:
        """(N,) keys as of now."""
        cls, ledger = self.cls, self.cls.ledger
        if self.pointer != ledger.touched:
            moved = ledger.touched_since(self.pointer)
            self.pointer = ledger.touched
            if len(moved) <= FEW:
                for row in moved:
                    self.key[row] = cls.score_key(OneRow(cls.view, cls.layout, row))
            else:
                rows = np.array(moved, dtype=np.int64)
                self.key[rows] = cls.score_keys(ManyRows(cls.view, cls.layout, rows))
        keys = self.key if self._added is None else self.key + self._added
        if cls.chains.domains:
            terms = cls.chains.domain_terms(cls.view, cls.shape, cls.static)
            scoring = [term for term in terms if term.raw is not None]
            if scoring:
                keys = keys + (term_points(scoring, cls.static) << POINT)
        return keys


def best_first(keys: Int, allowed: Bool) -> Iterator[Int]:
    """Allowed rows by falling key: the best alone, then chunks that grow; the rest is sorted only when it is asked for."""
    best = int(np.where(allowed, keys, NONE).argmax())
    if not allowed[best]:
        return
    yield np.array([best], dtype=np.int64)
    rows = np.flatnonzero(allowed)
    rows = rows[rows != best]
    size = CHUNK
    if len(rows) > 8 * size:
        cut = np.argpartition(-keys[rows], size)
        first = rows[cut[:size]]
        yield first[np.argsort(-keys[first])]
        rows, size = rows[cut[size:]], 4 * size
    rows = rows[np.argsort(-keys[rows])]
    at = 0
    while at < len(rows):
        yield rows[at : at + size]
        at += size
        size *= 4
