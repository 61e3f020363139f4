"""HyperNodes: which nodes are near each other, as a frozen table by name and as a tree over the node rows of a snapshot.

Above all HyperNodes without a parent stands the cluster's top, a virtual one that holds every node, one tier above the
highest (tier 1 when there is none). Nodes that belong to exactly the same HyperNodes form a *cell*: whatever HyperNodes tell
of a node, they tell of its whole cell, so sums and scores are made per cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.tables import MISSING

TOP = "<cluster-top-hypernode>"
"""Volcano's name of the virtual HyperNode that holds all nodes."""


@dataclass(frozen=True, slots=True)
class HyperNodeTable:
    """HyperNodes in name order, by row: names, tiers, parent rows (MISSING for none), names of the nodes that each selects
    itself, sorted. `tier_names`: sorted (name, tier). `problem`: why they form no forest, empty when they do."""

    names: tuple[str, ...] = ()
    tiers: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    members: tuple[tuple[str, ...], ...] = ()
    tier_names: tuple[tuple[str, int], ...] = ()
    problem: str = ""


NO_HYPERNODES = HyperNodeTable()


class HyperNodes:
    """The tree over one snapshot's nodes; the last row is the top. Not ready: only the top is there.

    `cell` (N,): the cell of each node row; `leaf` (C,): the lowest-tier HyperNode of each cell, MISSING for none;
    `cells[h]`: the cells inside a HyperNode; `under[h]`: those whose leaf it is or descends from it."""

    def __init__(self, table: HyperNodeTable, nodes: Sequence[str]) -> None:
        self.ready = not table.problem
        if table.problem:
            table = NO_HYPERNODES
        self.table = table
        self.nodes = nodes
        self.names: tuple[str, ...] = (*table.names, TOP)
        self.row: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}
        self.top = len(table.names)
        self.lowest = min(table.tiers, default=1)
        self.highest = max(table.tiers, default=0) + 1
        self.tier: tuple[int, ...] = (*table.tiers, self.highest)
        self.tier_names = dict(table.tier_names)
        self.parent: tuple[int, ...] = (*(self.top if p == MISSING else p for p in table.parents), MISSING)
        self.children: list[list[int]] = [[] for _ in self.names]
        for row, parent in enumerate(self.parent[:-1]):
            self.children[parent].append(row)
        self._ancestors: dict[int, tuple[int, ...]] = {}
        self._make_cells(nodes)
        self.tiers: Int = np.array(self.tier, dtype=np.int64)
        self._parents: Int = np.array(self.parent, dtype=np.int64)
        self._levels = self._by_depth()
        self._rows: dict[int, Int] = {}
        self._inside: dict[int, Int] = {}
        self.leaf: list[int] = self._leaves()
        self.under = self._under()

    def _make_cells(self, nodes: Sequence[str]) -> None:
        place = {name: row for row, name in enumerate(nodes)}
        holders: list[tuple[int, ...]] = [()] * len(nodes)
        for row, members in enumerate(self.table.members):
            for name in members:
                node = place.get(name)
                if node is not None:
                    holders[node] += (row,)
        closed: dict[tuple[int, ...], tuple[int, ...]] = {}
        numbers: dict[tuple[int, ...], int] = {}
        for held in {(): None, **dict.fromkeys(holders)}:
            reached: dict[int, None] = {self.top: None}
            for row in held:
                while row not in reached:
                    reached[row] = None
                    row = self.parent[row]
            closed[held] = tuple(sorted(reached))
        for holding in sorted(set(closed.values())):
            numbers[holding] = len(numbers)
        self.holders: list[tuple[int, ...]] = list(numbers)
        """Per cell the HyperNodes that its nodes belong to, the top included."""
        of = {held: numbers[inside] for held, inside in closed.items()}
        self.cell: Int = np.array([of[held] for held in holders], dtype=np.int64).reshape(len(nodes))
        cells: list[list[int]] = [[] for _ in self.names]
        for cell, inside in enumerate(self.holders):
            for row in inside:
                cells[row].append(cell)
        self.cells: list[Int] = [np.array(found, dtype=np.int64) for found in cells]
        self._held_cells: Int = np.concatenate(self.cells)
        self._held: Int = np.cumsum([0, *(len(found) for found in cells)])
        order = np.argsort(self.cell, kind="stable")
        self._by_cell: Int = order
        self._edge: Int = np.searchsorted(self.cell[order], np.arange(len(self.holders) + 1))
        self._filled: Int = np.flatnonzero(np.diff(self._edge))

    def _by_depth(self) -> list[Int]:
        """Rows by depth, the deepest first, without the top."""
        found: dict[int, list[int]] = {}
        for row in range(self.top):
            found.setdefault(len(self.ancestors(row)), []).append(row)
        return [np.array(found[depth], dtype=np.int64) for depth in sorted(found, reverse=True)]

    def _leaves(self) -> list[int]:
        """Of each cell its HyperNode of the lowest tier number that is present; the first by name of several."""
        if not self.table.names:
            return [self.top] * len(self.holders)
        found = [[row for row in inside if self.tier[row] == self.lowest] for inside in self.holders]
        return [rows[0] if rows else MISSING for rows in found]

    def _under(self) -> list[Int]:
        under: list[list[int]] = [[] for _ in self.names]
        for cell, leaf in enumerate(self.leaf):
            if leaf != MISSING:
                for row in self.ancestors(leaf):
                    under[row].append(cell)
        return [np.array(found, dtype=np.int64) for found in under]

    def ancestors(self, row: int) -> tuple[int, ...]:
        """The HyperNode itself, its parent, and so on up to the top."""
        known = self._ancestors.get(row)
        if known is None:
            path = [row]
            while self.parent[path[-1]] != MISSING:
                path.append(self.parent[path[-1]])
            known = self._ancestors[row] = tuple(path)
        return known

    def inside(self, row: int) -> Int:
        """A HyperNode and all its descendants, rising."""
        known = self._inside.get(row)
        if known is None:
            found = [row]
            for at in found:
                found += self.children[at]
            known = self._inside[row] = np.array(sorted(found), dtype=np.int64)
        return known

    def highest_inside(self, values: Float) -> Float:
        """(H,) the largest value of each HyperNode and its descendants."""
        out = values.copy()
        for rows in self._levels:
            np.maximum.at(out, self._parents[rows], out[rows])
        return out

    def lca(self, one: int, other: int) -> int:
        """The lowest common ancestor; MISSING stands for nothing, so the other one is the answer."""
        if one == MISSING or other == MISSING:
            return other if one == MISSING else one
        mine = self.ancestors(one)
        return next(row for row in self.ancestors(other) if row in mine)

    def around(self, allocated: int, limit: int) -> list[int]:
        """The widest HyperNodes up to a tier that a part may be in which `allocated` (a row, MISSING: nothing) holds so far;
        none when that is above the tier."""
        if allocated == MISSING:
            return [row for row in range(len(self.names)) if self.tier[row] <= limit]
        return [row for row in self.ancestors(allocated) if self.tier[row] <= limit][-1:]

    def covering(self, nodes: Sequence[int]) -> int:
        """The lowest-tier HyperNode that holds all these node rows; MISSING for no nodes. The first by name of several."""
        if not len(nodes):
            return MISSING
        sets = [set(self.holders[cell]) for cell in {int(self.cell[node]) for node in nodes}]
        return min(set.intersection(*sets), key=lambda row: (self.tier[row], row))

    def rows(self, hypernode: int) -> Int:
        """Node rows inside a HyperNode, rising."""
        known = self._rows.get(hypernode)
        if known is None:
            parts = [self.cell_rows(cell) for cell in self.cells[hypernode].tolist()]
            known = np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
            self._rows[hypernode] = known
        return known

    def cell_rows(self, cell: int) -> Int:
        """Node rows of a cell, rising."""
        return self._by_cell[self._edge[cell] : self._edge[cell + 1]]

    def cell_maxima(self, values: Int) -> Int:
        """(C,) the largest value of each cell's nodes (N,); the smallest int64 there is in an empty cell."""
        out = np.full(len(self.holders), np.iinfo(np.int64).min, dtype=np.int64)
        filled = self._filled
        if len(filled):
            out[filled] = np.maximum.reduceat(values[self._by_cell], self._edge[filled])
        return out

    def cell_sums(self, amounts: Int) -> Int:
        """(..., C) sums by cell of amounts by node (..., N)."""
        out = np.zeros((*amounts.shape[:-1], len(self.holders)), dtype=np.int64)
        filled = self._filled
        if len(filled):
            out[..., filled] = np.add.reduceat(amounts[..., self._by_cell], self._edge[filled], axis=-1)
        return out

    def sums(self, amounts: Int) -> Int:
        """(..., H) sums by HyperNode of amounts by node (..., N)."""
        by_cell = self.cell_sums(amounts)
        out = np.zeros((*amounts.shape[:-1], len(self.names)), dtype=np.int64)
        held = np.flatnonzero(np.diff(self._held))
        if len(held):
            ordered = by_cell[..., self._held_cells]
            out[..., held] = np.add.reduceat(ordered, self._held[held], axis=-1)
        return out


_last: list[HyperNodes] = []


def hypernodes_of(table: HyperNodeTable | None, nodes: tuple[str, ...]) -> HyperNodes:
    """The tree over these nodes. The last one made is kept: between two rounds usually nothing of it changes."""
    table = table or NO_HYPERNODES
    for known in tuple(_last):
        if known.nodes is nodes and (known.table is table or known.table == table):
            return known
    made = HyperNodes(table, nodes)
    _last[:] = [made]
    return made
