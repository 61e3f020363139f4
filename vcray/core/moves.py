"""What a step of the ledger does to a node: so much more or less in rows of the matrix, and in counters beside it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from vcray.core.arrays import Int, Int32
from vcray.core.openview import NodeMatrix
from vcray.core.tables import PodTerm
from vcray.core.view import View


class Kind(IntEnum):
    """What an entry did."""

    PLACE = 0  # Pending -> Allocated
    PIPELINE = 1  # Pending -> Pipelined
    WITHDRAW = 2  # Pipelined -> Pending
    EVICT = 3  # any task on a node -> Releasing
    SET_ASIDE = 4  # amounts of pods that do not wait, or are not there yet


class Move:
    """What one pod of a shape adds to a node: rows of the matrix with amounts, and counters beside it."""

    __slots__ = ("amounts", "column", "counters", "rows", "signed")

    def __init__(self, parts: Sequence[tuple[int, int]], counters: Sequence[tuple[Int32 | Int, int, int]]):
        self.rows = np.array([row for row, _ in parts], dtype=np.int64)
        self.amounts = np.array([amount for _, amount in parts], dtype=np.int64)
        self.column = self.rows[:, None]
        self.signed = self.amounts[:, None]
        self.counters = tuple(counters)


_SIGNS = {
    Kind.PLACE: {"used": 1, "idle": -1, "future": -1, "requested": 1},
    Kind.PIPELINE: {"pipelined": 1, "future": -1, "requested": 1},
    Kind.EVICT: {"releasing": 1, "future": 1, "requested": -1},
    Kind.SET_ASIDE: {"pipelined": 1, "future": -1},
}


class Moves:
    """The moves of a session, each made when it is first asked for."""

    def __init__(self, view: View, matrix: NodeMatrix) -> None:
        self._view = view
        self._matrix = matrix
        self._known: dict[tuple[Kind, int], Move] = {}
        terms = view.snapshot.nodes
        self._anti = {(term.selector, term.key): row for row, term in enumerate(terms.anti_terms)}
        self._preferred = {(term.selector, term.key): row for row, term in enumerate(terms.preferred_terms)}

    def of(self, kind: Kind, shape: int) -> Move:
        """What a step of that kind does for one pod of the shape (row)."""
        move = self._known.get((kind, shape))
        if move is None:
            move = self._known[kind, shape] = self._make(kind, shape)
        return move

    def _make(self, kind: Kind, row: int) -> Move:
        shape, nodes, start = self._view.shapes[row], self._view.nodes, self._matrix.start
        parts = [
            (start[part] + r, sign * shape.req[r])
            for part, sign in _SIGNS[kind].items()
            for r in shape.nonzero
        ]
        sign = _SIGNS[kind].get("requested", 0)
        if not sign:
            return Move(parts, ())
        parts += [(start["requested_floor"] + i, sign * shape.spec.floor[i]) for i in (0, 1)]
        counters: list[tuple[Int32 | Int, int, int]] = [
            (nodes.port_count, port, sign) for port in shape.ports
        ]
        counters += [(nodes.match, selector, sign) for selector in shape.spec.matches]
        counters += [
            (nodes.anti_owner, self._anti[term.selector, term.key], sign)
            for term in _distinct(shape.spec.anti_affinity)
        ]
        counters += [
            (nodes.preferred_weight, self._preferred[term.selector, term.key], sign * term.weight)
            for term in shape.spec.preferred
        ]
        return Move(parts, counters)


def _distinct(terms: Sequence[PodTerm]) -> list[PodTerm]:
    """Terms with the same selector and key count once."""
    return list({(term.selector, term.key): term for term in terms}.values())
