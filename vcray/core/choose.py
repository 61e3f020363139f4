"""Which nodes a run of equal pods takes, among all nodes or inside a HyperNode, in the order in which it takes them.

Keys of a class rank nodes by what each row tells. To them come preferences and domain terms, normalised over the candidates,
and scores by cell (`vcray.core.parthooks.CellScore`), which move with every pod. A score that is the same for all nodes of a
cell leaves the order inside the cell alone: so the picks of each cell are merged once, and per pick only the heads of the cells
are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from vcray.core.arrays import Bool, Float, Int
from vcray.core.classes import LIMIT, POINT, STEP, UNIT, GroupKeys
from vcray.core.hooks import DomainTerm
from vcray.core.hypernodes import HyperNodes
from vcray.core.merge import NONE, propose
from vcray.core.normalise import Normaliser, term_points
from vcray.core.parthooks import CellScore
from vcray.core.policy import Chains
from vcray.core.scorers import Scorer, propose_together
from vcray.core.subjobs import SubJob
from vcray.core.tables import MISSING
from vcray.core.view import View


@dataclass(slots=True, eq=False)
class Scope:
    """Where a part of a job is being placed: inside `hypernode` (row), on `rows` (rising node rows; None: all).

    subjob: the part, None for a job without parts. running: the lowest HyperNode over its pods so far, MISSING for none."""

    hypernode: int
    rows: Int | None
    subjob: SubJob | None = None
    running: int = MISSING

    @property
    def starts(self) -> bool:
        """Is the next pod the first of a part that must be near, so that it is near nothing yet?"""
        return self.subjob is not None and self.subjob.near and self.running == MISSING

    def holds(self, node: int) -> bool:
        """Is a node row inside?"""
        return self.rows is None or bool((self.rows == node).any())

    def follow(self, tree: HyperNodes, nodes: Sequence[int]) -> None:
        """Pods of the part were placed on these nodes; one outside all HyperNodes moves nothing."""
        for cell in {*tree.cell[list(nodes)].tolist()}:
            if tree.leaf[cell] != MISSING:
                self.running = tree.lca(tree.leaf[cell], self.running)


class Base(NamedTuple):
    """First keys (k,) of the candidates, NONE where out; points in them that normalisation gave, None for none; `scale`: those
    hold only until a node fills up."""

    keys: Int
    points: Int | None
    scale: bool


def base_keys(view: View, chains: Chains, group: GroupKeys, rows: Int | None) -> Base:
    """Keys with preferences and domain terms, normalised over the feasible nodes among `rows` (None: all)."""
    cls = group.cls
    if rows is None:
        feasible = group.feasible
    elif chains.domains:
        feasible = np.zeros(len(group.key), dtype=np.bool_)
        feasible[rows] = group.feasible[rows]
    if chains.domains and (terms := chains.domain_terms(view, cls.shape, feasible)):
        whole = _with_terms(view, chains, group, feasible, terms)
        if rows is None:
            return whole
        return Base(whole.keys[rows], None if whole.points is None else whole.points[rows], whole.scale)
    if rows is None:
        preferred = group.preferred
        return Base(group.total, None if preferred is None else preferred.added, False)
    keys = group.key[rows]
    able = keys != NONE
    if not cls.preferences or not able.any():
        return Base(keys, None, False)
    added = Normaliser([replace(each, raw=each.raw[rows]) for each in cls.preferences], able).added
    return Base(np.where(able, keys + (added << POINT), NONE), added, True)


def _with_terms(
    view: View, chains: Chains, group: GroupKeys, feasible: Bool, terms: Sequence[DomainTerm]
) -> Base:
    """(N,) keys with domain terms; scores are asked again when some term refuses nodes."""
    cls = group.cls
    allowed = feasible
    for term in terms:
        if term.ok is not None:
            allowed = allowed & term.ok
    scoring = [term for term in terms if term.raw is not None]
    if scoring and not np.array_equal(allowed, feasible):
        terms = chains.domain_terms(view, cls.shape, allowed)
        scoring = [term for term in terms if term.raw is not None]
    if not scoring and not cls.preferences:
        return Base(np.where(allowed, group.key, NONE), None, True)
    points = term_points(scoring, allowed)
    if cls.preferences:
        points += Normaliser(cls.preferences, allowed).added
    return Base(np.where(allowed, group.key + (points << POINT), NONE), points, True)


def as_steps(scores: Float) -> Int:
    """Scores as what they add to keys."""
    steps = np.minimum(np.maximum(np.rint(scores * float(UNIT)), -LIMIT), LIMIT)
    return steps.astype(np.int64) << STEP


def choose(
    view: View,
    chains: Chains,
    scorers: Sequence[Scorer],
    group: GroupKeys,
    m: int,
    scope: Scope | None,
    apart: Float | None,
) -> list[int]:
    """At most m picks that stay valid while placed in order; none when no node is feasible.

    apart: (N,) scores of the one task that is placed, where tasks are scored one by one."""
    cls, rows = group.cls, None if scope is None else scope.rows
    if not group.feasible.any() or (rows is not None and not len(rows)):
        return []
    base = base_keys(view, chains, group, rows)
    if apart is not None:
        extra = as_steps(apart if rows is None else apart[rows])
        base = base._replace(keys=np.where(base.keys > NONE, base.keys + extra, NONE))
    near = bool(chains.parts.cells) and bool(view.hypernodes.table.names)
    cells = _cell_scores(view, chains, group, scope) if near else []
    if near and scope is not None and scope.starts and not _one_cell(view, scope):
        m = 1
    if cells:
        return _Heads(view.hypernodes, group, base, rows, cells).picks(1 if cls.moves else m)
    if m == 1 or cls.moves:
        best = int(base.keys.argmax())
        if base.keys[best] == NONE:
            return []
        return [best if rows is None else int(rows[best])]
    return _merged(scorers, group, base, rows, m)


def _cell_scores(view: View, chains: Chains, group: GroupKeys, scope: Scope | None) -> list[CellScore]:
    if scope is not None and _one_cell(view, scope):
        return []
    subjob, running = (None, MISSING) if scope is None else (scope.subjob, scope.running)
    asked = (hook(view, group.cls.shape, subjob, running) for hook in chains.parts.cells)
    return [score for score in asked if score is not None]


def _one_cell(view: View, scope: Scope) -> bool:
    """Are all nodes of the scope alike to HyperNodes?"""
    return scope.rows is not None and len(view.hypernodes.cells[scope.hypernode]) == 1


def _evaluate(group: GroupKeys, base: Base, rows: Int | None, local: Int, copies: Int) -> Int:
    """Keys of candidates (places in `rows`) with copies on them, points included."""
    nodes = local if rows is None else rows[local]
    fresh = group.cls.evaluate(nodes, copies, group.promised)
    if base.points is None:
        return fresh
    return np.where(fresh > NONE, fresh + (base.points[local] << POINT), NONE)


def _merged(scorers: Sequence[Scorer], group: GroupKeys, base: Base, rows: Int | None, m: int) -> list[int]:
    """The m best picks by one merge."""

    def evaluate(local: Int, copies: Int) -> Int:
        return _evaluate(group, base, rows, local, copies)

    if rows is None:
        proposal = propose_together(scorers, base.keys, m, evaluate)
    else:
        proposal = propose(base.keys, m, evaluate)
    picks: list[int] = proposal.nodes.tolist()
    filled = proposal.full() if base.points is not None and picks else []
    if filled:
        if base.scale or group.preferred is None:
            picks = picks[: _first_full(picks, filled)]
        else:
            picks = picks[: group.preferred.valid(picks, filled)]
    return picks if rows is None else rows[picks].tolist()


def _first_full(picks: list[int], full: list[int]) -> int:
    """How many picks go up to and including the one that fills a node first: then the scored group changes."""
    last = {node: position for position, node in enumerate(picks)}
    return min((last[node] for node in full if node in last), default=len(picks) - 1) + 1


class _Run:
    """Picks inside one cell: candidates in order with the true key of each, and how many copies each is known to hold."""

    __slots__ = ("at", "given", "keys", "picks", "taken")

    def __init__(self, picks: list[int], keys: list[int], given: dict[int, int]) -> None:
        self.picks = picks
        self.keys = keys
        self.given = given
        self.taken: Counter[int] = Counter()
        self.at = 0

    def next(self) -> tuple[int, bool]:
        """The next candidate, and whether it may be full with it."""
        pick = self.picks[self.at]
        self.at += 1
        self.taken[pick] += 1
        return pick, self.taken[pick] >= self.given[pick]

    def head(self) -> int:
        """Key of the next candidate, NONE when there is none."""
        return self.keys[self.at] if self.at < len(self.keys) else NONE


class _Heads:
    """Picks among cells whose scores move: the best head of all cells, again and again."""

    def __init__(
        self,
        tree: HyperNodes,
        group: GroupKeys,
        base: Base,
        rows: Int | None,
        cells: Sequence[CellScore],
    ) -> None:
        self.tree = tree
        self.group = group
        self.base = base
        self.rows = rows
        self.cells = cells
        self.cell_of = tree.cell if rows is None else tree.cell[rows]
        self.heads = tree.cell_maxima(base.keys) if rows is None else self._maxima()
        self.counts = any(cell.counts for cell in cells)
        self.candidates = self._candidates()

    def _maxima(self) -> Int:
        heads = np.full(len(self.tree.holders), NONE, dtype=np.int64)
        np.maximum.at(heads, self.cell_of, self.base.keys)
        return heads

    def _candidates(self) -> Int:
        size = len(self.tree.holders)
        if not self.counts:
            return np.zeros(size, dtype=np.int64)
        return np.bincount(self.cell_of[self.base.keys > NONE], minlength=size)

    def _steps(self) -> Int:
        total = self.cells[0].points(self.candidates)
        for cell in self.cells[1:]:
            total = total + cell.points(self.candidates)
        return as_steps(total)

    def picks(self, m: int) -> list[int]:
        """At most m node rows; ends early where the scale of a score may change."""
        found: list[int] = []
        runs: dict[int, _Run] = {}
        heads = self.heads
        total = np.where(heads > NONE, heads + self._steps(), NONE)
        ends = self.counts or self.base.points is not None
        while len(found) < m:
            cell = int(total.argmax())
            if total[cell] == NONE:
                break
            if m == 1:
                found.append(self._best(cell))
                break
            run = runs.get(cell)
            if run is None:
                run = runs[cell] = self._run(cell, m - len(found))
            pick, full = run.next()
            found.append(pick)
            if full and ends:
                break
            heads[cell] = run.head()
            self._move(total, cell)
        return found if self.rows is None else self.rows[found].tolist()

    def _move(self, total: Int, cell: int) -> None:
        """Bring the heads' sums up to date after a pick in a cell."""
        heads = self.heads
        moved = [score.take(cell) for score in self.cells]
        if len(moved) == 1 and (some := moved[0]) is not None:
            points = self.cells[0].points(self.candidates)
            total[some] = np.where(heads[some] > NONE, heads[some] + as_steps(points[some]), NONE)
            if heads[cell] == NONE:
                total[cell] = NONE
            elif not len(some):
                total[cell] = heads[cell] + int(as_steps(points[cell : cell + 1])[0])
            return
        total[:] = np.where(heads > NONE, heads + self._steps(), NONE)

    def _local(self, cell: int) -> Int:
        return self.tree.cell_rows(cell) if self.rows is None else np.flatnonzero(self.cell_of == cell)

    def _best(self, cell: int) -> int:
        local = self._local(cell)
        return int(local[self.base.keys[local].argmax()])

    def _run(self, cell: int, m: int) -> _Run:
        local = self._local(cell)

        def evaluate(places: Int, copies: Int) -> Int:
            return _evaluate(self.group, self.base, self.rows, local[places], copies)

        keys = self.base.keys[local]
        proposal = propose(keys, m, evaluate)
        places = proposal.nodes
        seen: Counter[int] = Counter()
        copies = []
        for place in places.tolist():
            copies.append(seen[place])
            seen[place] += 1
        before = np.array(copies, dtype=np.int64)
        true = keys[places]
        again = np.flatnonzero(before)
        if len(again):
            true = true.copy()
            true[again] = evaluate(places[again], before[again])
        given = zip(local[proposal.candidates].tolist(), proposal.given.tolist(), strict=True)
        return _Run(local[places].tolist(), true.tolist(), dict(given))
