"""What is known of one placement class: equal pods, asked once, then kept current from the ledger's journal.

A class is a shape plus what plugins add to it. `GroupKeys` holds, for the idle nodes or for those where room is being
freed, one int64 key per node: score in 2**-20 steps, then the tie rank; unique, so no tie is ever broken by a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.hooks import Preference
from vcray.core.ledger import Ledger
from vcray.core.merge import NONE
from vcray.core.normalise import Normaliser
from vcray.core.openview import fit_rows
from vcray.core.policy import Chains
from vcray.core.rows import Assumption, Layout, ManyRows, OneRow
from vcray.core.view import Shape, View

FEW = 12
"""Up to so many rows are evaluated as Python numbers."""

STEP = 20
POINT = 2 * STEP
"""Keys count tie ranks; 2**STEP is one step of a score, 2**POINT one whole point."""

UNIT = 1 << STEP
LIMIT = float(1 << (2 * STEP))
"""Scores are clipped at 2**20 either way, so that keys and preferences fit one int64."""


class Class:
    """A shape with its static mask and preferences. `fits` False: room is not looked at (best-effort pods).

    `known`: mask and preferences of an earlier round that still hold."""

    __slots__ = (
        "assumptions",
        "chains",
        "fit",
        "fits",
        "groups",
        "layout",
        "ledger",
        "moves",
        "preferences",
        "refused",
        "refused_at",
        "reserves",
        "shape",
        "static",
        "tie",
        "view",
        "whole",
    )

    def __init__(
        self,
        view: View,
        chains: Chains,
        ledger: Ledger,
        layout: Layout,
        shape: Shape,
        known: tuple[Bool, Sequence[Preference]] | None = None,
    ) -> None:
        self.view = view
        self.chains = chains
        self.ledger = ledger
        self.layout = layout
        self.shape = shape
        self.fits = not shape.best_effort
        self.fit = [(r, shape.req[r]) for r in fit_rows(shape, view.space)]
        self.static: Bool = chains.static(view, shape) if known is None else known[0]
        self.preferences: Sequence[Preference] = self._preferences() if known is None else known[1]
        self.whole = bool(self.static.all())
        self.tie: Int = view.snapshot.nodes.tie
        self.moves = bool(chains.domains) and chains.moves_itself(view, shape)
        self.assumptions = {
            promised: Assumption(layout.matrix, shape, promised) for promised in (False, True)
        }
        self.groups: dict[bool, GroupKeys] = {}
        self.reserves = bool(ledger.reservations.of(shape))
        self.refused: dict[bool, dict[int, str]] = {False: {}, True: {}}
        self.refused_at: tuple[int, ...] = ()

    def _preferences(self) -> list[Preference]:
        """Preferences that tell the allowed nodes apart; one with a single value shifts all alike."""
        return [
            preference
            for hook in self.chains.preferences
            for preference in hook(self.view, self.shape)
            if preference.weight and _varies(preference.raw[self.static])
        ]

    def group(self, promised: bool) -> GroupKeys:
        """Keys of the idle nodes, or (promised) of those that have room only once something is freed."""
        group = self.groups.get(promised)
        if group is None:
            group = self.groups[promised] = GroupKeys(self, promised)
        else:
            group.refresh()
        return group

    # ---- nodes that could not reserve ----

    def refuse(self, node: int, promised: bool, why: str) -> None:
        """A node could not reserve what the task needs: it is out for equal tasks until something is freed, or it moves.
        Where only what is there now is too little, it may still be promised."""
        self.refused[promised][node] = why
        for group in self.groups.values():
            group.reconsider([node])

    def forgive(self, kind: tuple[int, ...]) -> None:
        """Before a task of that kind is tried: take back nodes that refused others, or refused before something was freed."""
        state = (*kind, self.ledger.freed)
        if state == self.refused_at:
            return
        self.refused_at = state
        rows = sorted({*self.refused[False], *self.refused[True]})
        if rows:
            self.refused = {False: {}, True: {}}
            for group in self.groups.values():
                group.reconsider(rows)

    # ---- evaluation ----

    def keys(self, rows: ManyRows, promised: bool) -> Int:
        """(k,) keys of the rows; NONE where the pod cannot go. Filters are asked where it fits any, scores
        where it can go to any."""
        view, shape = self.view, self.shape
        ok = rows.take(self.static)
        if self.fits:
            future = rows.future
            idle = rows.idle
            for r, amount in self.fit:
                ok = ok & (future[r] >= amount)
            if not ok.any():
                return np.full(len(ok), NONE, dtype=np.int64)
            roomy = np.ones(len(ok), dtype=bool)
            for r, amount in self.fit:
                roomy &= idle[r] >= amount
            if self.refused[False]:
                roomy[np.isin(rows.index, sorted(self.refused[False]))] = False
            ok = ok & (~roomy if promised else roomy)
        if self.refused[promised]:
            ok = ok & ~np.isin(rows.index, sorted(self.refused[promised]))
        for accepts in self.chains.filters:
            mask = accepts(view, rows, shape)
            if mask is not None:
                ok = ok & mask
        if not ok.any():
            return np.full(len(rows.index), NONE, dtype=np.int64)
        return np.where(ok, self.score_keys(rows), NONE)

    def score_keys(self, rows: ManyRows) -> Int:
        """(k,) keys of the rows by score alone, wherever the pod may go."""
        total: object = None
        for score in self.chains.scorers:
            part = score(self.view, rows, self.shape)
            if part is not None:
                total = part if total is None else total + part  # type: ignore[operator]
        if total is None:
            return rows.take(self.tie)
        steps = np.rint(np.asarray(total) * float(UNIT))
        steps = np.minimum(np.maximum(steps, -LIMIT), LIMIT)
        keys: Int = (steps.astype(np.int64) << STEP) | rows.take(self.tie)
        return keys

    def key(self, row: OneRow, promised: bool) -> int:
        """The key of one row, in Python numbers, bit-equal to `keys`."""
        return self.score_key(row) if self.takes(row, promised) else NONE

    def takes(self, row: OneRow, promised: bool) -> bool:
        """May the pod go to one row, now or (promised) only once something is freed?"""
        view, shape = self.view, self.shape
        index = row.index
        if not self.static[index] or index in self.refused[promised]:
            return False
        if self.fits:
            future, idle = row.future, row.idle
            roomy = index not in self.refused[False]
            for r, amount in self.fit:
                if future[r] < amount:
                    return False
                if idle[r] < amount:
                    roomy = False
            if roomy is promised:
                return False
        for accepts in self.chains.filters:
            mask = accepts(view, row, shape)
            if mask is not None and not mask:
                return False
        return True

    def score_key(self, row: OneRow) -> int:
        """The key of one row by score alone, bit-equal to `score_keys`."""
        total = None
        for score in self.chains.scorers:
            part = score(self.view, row, self.shape)
            if part is not None:
                total = part if total is None else total + part
        tie = int(self.tie[row.index])
        if total is None:
            return tie
        steps = min(max(round(float(total) * UNIT), -int(LIMIT)), int(LIMIT))
        return (steps << STEP) | tie

    # ---- hypothetical rows ----

    def evaluate(self, rows: Int, copies: Int, promised: bool) -> Int:
        """(k,) keys of rows with copies of the shape on them, additions of preferences and terms left out."""
        if len(rows) <= FEW:
            pairs = zip(rows.tolist(), copies.tolist(), strict=True)
            return np.array(
                [self._hypothetical(row, count, promised) for row, count in pairs], dtype=np.int64
            )
        many = ManyRows(self.view, self.layout, rows)
        return self.keys(many.assume(self.shape, self.assumptions[promised], copies), promised)

    def _hypothetical(self, row: int, copies: int, promised: bool) -> int:
        one = OneRow(self.view, self.layout, row)
        return self.key(one.assume(self.shape, self.assumptions[promised], copies), promised)


class GroupKeys:
    """Keys of one class in one group of nodes, kept current; `total` adds normalised preferences to `key`."""

    __slots__ = ("cls", "feasible", "key", "pointer", "preferred", "promised", "total")

    def __init__(self, cls: Class, promised: bool) -> None:
        self.cls = cls
        self.promised = promised
        self.pointer = cls.ledger.touched
        self.key: Int = cls.keys(ManyRows(cls.view, cls.layout, None), promised)
        self.feasible: Bool = self.key != NONE
        self.total: Int = self.key
        self.preferred = Normaliser(cls.preferences, self.feasible) if cls.preferences else None
        if self.preferred is not None:
            self._add(self.preferred)

    def refresh(self) -> None:
        """Re-evaluate the rows that moved since the last look."""
        ledger = self.cls.ledger
        if self.pointer == ledger.touched:
            return
        rows = ledger.touched_since(self.pointer)
        self.pointer = ledger.touched
        self.reconsider(rows)

    def reconsider(self, rows: list[int]) -> None:
        """Evaluate some rows anew."""
        cls = self.cls
        if not cls.whole:
            static = cls.static
            rows = [row for row in rows if static[row]]
        if not rows:
            return
        before = self.feasible[rows].tolist() if self.preferred is not None else []
        if len(rows) <= FEW:
            key, feasible = self.key, self.feasible
            for row in rows:
                fresh = cls.key(OneRow(cls.view, cls.layout, row), self.promised)
                key[row] = fresh
                feasible[row] = fresh != NONE
        else:
            index = np.array(rows, dtype=np.int64)
            keys = cls.keys(ManyRows(cls.view, cls.layout, index), self.promised)
            self.key[index] = keys
            self.feasible[index] = keys != NONE
        if self.preferred is not None:
            self._follow(self.preferred, rows, before)

    def _follow(self, preferred: Normaliser, rows: list[int], before: list[bool]) -> None:
        """Bring `total` up to date for rows that moved, everywhere when the scale moved with them."""
        after = self.feasible[rows].tolist()
        flips = [(row, now) for row, was, now in zip(rows, before, after, strict=True) if was is not now]
        if preferred.moved(flips):
            preferred.rebuild(self.feasible)
            self._add(preferred)
            return
        keys = self.key[rows]
        self.total[rows] = np.where(keys != NONE, keys + (preferred.added[rows] << POINT), NONE)

    def _add(self, preferred: Normaliser) -> None:
        self.total = np.where(self.feasible, self.key + (preferred.added << POINT), NONE)


def _varies(raw: Int) -> bool:
    return len(raw) > 0 and bool((raw != raw[0]).any())
