"""Windows on node rows for row hooks: many rows as columns, or one as Python numbers.

Below a dozen rows, Python numbers beat NumPy tenfold; hooks are written once and serve both. A window may be
hypothetical: `copies` more pods of a shape are assumed on each row, allocated (`idle` falls) or promised (`future` falls).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vcray.core.arrays import Bool, Float, Int, Int32
from vcray.core.openview import NodeMatrix
from vcray.core.view import Shape, View


class Assumption:
    """What one more pod of a shape adds to the visible rows of the matrix, when placed or when promised."""

    __slots__ = ("amounts", "pairs", "rows")

    def __init__(self, matrix: NodeMatrix, shape: Shape, promised: bool) -> None:
        start = matrix.start
        signs = (
            {"requested": 1, "future": -1}
            if promised
            else {"used": 1, "idle": -1, "future": -1, "requested": 1}
        )
        pairs = [
            (start[part] + r, sign * shape.req[r]) for part, sign in signs.items() for r in shape.nonzero
        ]
        pairs += [(start["requested_floor"] + i, shape.spec.floor[i]) for i in (0, 1) if shape.spec.floor[i]]
        self.pairs = pairs
        self.rows = np.array([row for row, _ in pairs], dtype=np.int64)
        self.amounts = np.array([amount for _, amount in pairs], dtype=np.int64)[:, None]


class Layout:
    """Slices of the visible rows, computed once."""

    __slots__ = (
        "allocatable",
        "floor",
        "future",
        "idle",
        "kube_allocatable",
        "matrix",
        "requested",
        "used",
        "visible",
    )

    def __init__(self, matrix: NodeMatrix) -> None:
        def part(name: str) -> slice:
            first = matrix.start[name]
            return slice(first, first + (2 if name == "requested_floor" else matrix.resources))

        self.matrix = matrix
        self.visible = matrix.visible
        self.used, self.idle, self.future = part("used"), part("idle"), part("future")
        self.requested, self.floor = part("requested"), part("requested_floor")
        self.allocatable, self.kube_allocatable = part("allocatable"), part("kube_allocatable")


class ManyRows:
    """Rows as columns: `rows.used[r]` is (k,). `block` is (visible, k), a window or a copy."""

    __slots__ = ("block", "copies", "index", "layout", "shape", "view", "whole")

    def __init__(self, view: View, layout: Layout, index: Int | None) -> None:
        self.view = view
        self.layout = layout
        self.whole = index is None
        self.index: Int = np.arange(layout.matrix.block.shape[1]) if index is None else index
        self.copies: Int | None = None
        self.shape: Shape | None = None
        block = layout.matrix.block
        self.block: Int = block[: layout.visible] if index is None else block[: layout.visible, index]

    def assume(self, shape: Shape, assumption: Assumption, copies: Int) -> ManyRows:
        """The same rows with `copies` (k,) more pods of the shape on each; only for rows that are a copy."""
        self.copies = copies
        self.shape = shape
        self.block[assumption.rows] += assumption.amounts * copies
        return self

    @property
    def used(self) -> Sequence[Int]:
        return self.block[self.layout.used]  # type: ignore[return-value]

    @property
    def idle(self) -> Sequence[Int]:
        return self.block[self.layout.idle]  # type: ignore[return-value]

    @property
    def future(self) -> Sequence[Int]:
        """Room once what is ending has gone and promises are kept; for the kernel's own fit test."""
        return self.block[self.layout.future]  # type: ignore[return-value]

    @property
    def requested(self) -> Sequence[Int]:
        return self.block[self.layout.requested]  # type: ignore[return-value]

    @property
    def requested_floor(self) -> Sequence[Int]:
        return self.block[self.layout.floor]  # type: ignore[return-value]

    @property
    def allocatable(self) -> Sequence[Int]:
        return self.block[self.layout.allocatable]  # type: ignore[return-value]

    @property
    def kube_allocatable(self) -> Sequence[Int]:
        return self.block[self.layout.kube_allocatable]  # type: ignore[return-value]

    @property
    def port_count(self) -> Sequence[Int]:
        counts = self.view.nodes.port_count
        table: Int = (counts if self.whole else counts[:, self.index]).astype(np.int64)
        if self.copies is not None and self.shape is not None and self.shape.ports:
            table[list(self.shape.ports)] += self.copies
        return table  # type: ignore[return-value]

    def take(self, column: Int | Bool | Int32 | Float) -> Int:
        return column if self.whole else column[self.index]  # type: ignore[return-value]


class OneRow:
    """One row as Python numbers: `rows.used[r]` is an int."""

    __slots__ = ("column", "copies", "index", "layout", "shape", "view")

    def __init__(self, view: View, layout: Layout, index: int) -> None:
        self.view = view
        self.layout = layout
        self.index = index
        self.copies: int | None = None
        self.shape: Shape | None = None
        self.column: list[int] = layout.matrix.block[: layout.visible, index].tolist()

    def assume(self, shape: Shape, assumption: Assumption, copies: int) -> OneRow:
        """The same row with `copies` more pods of the shape on it."""
        self.copies = copies
        self.shape = shape
        column = self.column
        for row, amount in assumption.pairs:
            column[row] += amount * copies
        return self

    @property
    def used(self) -> list[int]:
        return self.column[self.layout.used]

    @property
    def idle(self) -> list[int]:
        return self.column[self.layout.idle]

    @property
    def future(self) -> list[int]:
        """Room once what is ending has gone and promises are kept; for the kernel's own fit test."""
        return self.column[self.layout.future]

    @property
    def requested(self) -> list[int]:
        return self.column[self.layout.requested]

    @property
    def requested_floor(self) -> list[int]:
        return self.column[self.layout.floor]

    @property
    def allocatable(self) -> list[int]:
        return self.column[self.layout.allocatable]

    @property
    def kube_allocatable(self) -> list[int]:
        return self.column[self.layout.kube_allocatable]

    @property
    def port_count(self) -> list[int]:
        counts: list[int] = self.view.nodes.port_count[:, self.index].tolist()
        if self.copies is not None and self.shape is not None:
            for port in self.shape.ports:
                counts[port] += self.copies
        return counts

    def take(self, column: Int | Bool | Int32 | Float) -> int:
        value: int = column[self.index].item()
        return value
