"""Puts k equal pods of a job on the best nodes: idle ones first, then those where room is being freed.

The loop is one rule: propose a list of picks, keep the longest prefix for which nothing that a hook looked at has changed,
place it, ask again. The first pick is always valid, so the same loop is the fast path and the one-by-one path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vcray.core.arrays import Int
from vcray.core.carry import Carry
from vcray.core.classes import POINT, Class, GroupKeys
from vcray.core.ledger import Ledger
from vcray.core.merge import NONE
from vcray.core.normalise import Normaliser, term_points
from vcray.core.policy import Chains
from vcray.core.pools import Pools
from vcray.core.reasons import explain
from vcray.core.rows import Layout, OneRow
from vcray.core.scorers import propose_together, split
from vcray.core.tables import Status
from vcray.core.view import Shape, View


class Refusal(NamedTuple):
    """A class did not find room for all its pods: the seats that it got, in order, and why there was no next.

    True as long as the ledger is in the state `version`, whichever job asks."""

    version: int
    seats: tuple[tuple[Status, int], ...]
    text: str


class Placer:
    """Placement for a session; owns the class caches."""

    def __init__(
        self,
        view: View,
        chains: Chains,
        ledger: Ledger,
        carry: Carry | None = None,
        scorers: int = 1,
        pools: Pools | None = None,
    ) -> None:
        self.carry = Carry() if carry is None else carry
        self.view = view
        self.chains = chains
        self.ledger = ledger
        self.layout = Layout(ledger.matrix)
        self.pools = pools
        self.scorers = split(len(view.snapshot.nodes), scorers)
        self._classes: dict[object, Class] = {}
        self._class_keys: dict[int, object] = {}
        self._texts: dict[Class, tuple[int, str]] = {}
        self._refusals: dict[object, Refusal] = {}

    def class_of(self, job: int, shape: Shape) -> Class:
        """The class of a job's pods of this shape."""
        extra = None
        if self.chains.class_keys:
            extra = self._class_keys.get(job)
            if extra is None:
                extra = tuple(hook(self.view, job) for hook in self.chains.class_keys)
                self._class_keys[job] = extra
        key = (shape.row, extra)
        found = self._classes.get(key)
        if found is None:
            known = self.carry.get((shape.spec, extra))
            found = Class(self.view, self.chains, self.ledger, self.layout, shape, known)
            self._classes[key] = found
            if known is None:
                self.carry.put((shape.spec, extra), found.static, found.preferences)
        return found

    def place(self, job: int, shape: Shape, tasks: Sequence[int]) -> int:
        """Place the tasks in order, as many as fit; returns how many. All equal.

        An idle node stays better than a promised one; where a placement can open nodes of its own class (spread), the idle
        ones are looked at again after every promise."""
        cls = self.class_of(job, shape)
        placed = self._fill(cls, False, job, tasks)
        while placed < len(tasks) and cls.fits:
            rest = tasks[placed : placed + 1] if cls.moves else tasks[placed:]
            promised = self._fill(cls, True, job, rest)
            placed += promised
            if not cls.moves or not promised:
                break
            placed += self._fill(cls, False, job, tasks[placed:])
        return placed

    def place_at(self, job: int, shape: Shape, task: int, node: int) -> bool:
        """Place one task on the node that was promised to it, if it may go there; True when done."""
        cls = self.class_of(job, shape)
        for promised in (False, True) if cls.fits else (False,):
            if cls.key(OneRow(self.view, self.layout, node), promised) == NONE:
                continue
            only = np.zeros(len(self.view.snapshot.nodes), dtype=bool)
            only[node] = True
            terms = self.chains.domain_terms(self.view, shape, only) if self.chains.domains else []
            if all(term.ok is None or term.ok[node] for term in terms) and self._enter(
                cls, promised, job, [task], [node]
            ):
                return True
        return False

    def promise(self, job: int, shape: Shape, task: int) -> bool:
        """Promise the best node to one task where it may go as things are, idle ones first; for claims. True when done."""
        cls = self.class_of(job, shape)
        for promised in (False, True) if cls.fits else (False,):
            if promised and not self.ledger.frees:
                return False
            if cls.reserves:
                cls.forgive(self.ledger.reservations.kind(shape, task))
            while picks := self._propose(cls, promised, 1):
                if not self.ledger.pipeline(job, shape, [task], picks):
                    return True
                cls.refuse(picks[0], promised)
        return False

    def promise_at(self, job: int, shape: Shape, task: int, node: int, reason: str) -> bool:
        """Promise a node to one task for which `reason` evicted there, if it may go there now. True when done."""
        cls = self.class_of(job, shape)
        if cls.reserves:
            cls.forgive(self.ledger.reservations.kind(shape, task))
        row = OneRow(self.view, self.layout, node)
        if all(cls.key(row, promised) == NONE for promised in ((False, True) if cls.fits else (False,))):
            return False
        if self.chains.domains:
            only = np.zeros(len(self.view.snapshot.nodes), dtype=bool)
            only[node] = True
            terms = self.chains.domain_terms(self.view, shape, only)
            if not all(term.ok is None or term.ok[node] for term in terms):
                return False
        return not self.ledger.pipeline(job, shape, [task], [node], reason)

    def explain(self, job: int, shape: Shape) -> str:
        """Why no node takes one more pod of the shape, now."""
        cls, version = self.class_of(job, shape), self.ledger.version
        known = self._texts.get(cls)
        if known is None or known[0] != version:
            known = self._texts[cls] = (version, explain(self.view, self.chains, cls))
        return known[1]

    def refusal(self, job: int, shape: Shape) -> Refusal | None:
        """What is known, in the present state, of a longer run of this class that did not fit."""
        if not self._refusals:
            return None
        known = self._refusals.get(self._company(job, shape))
        return known if known is not None and known.version == self.ledger.version else None

    def remember(self, job: int, shape: Shape, refusal: Refusal) -> None:
        """Keep a refusal for others of the class."""
        self._refusals[self._company(job, shape)] = refusal

    def _company(self, job: int, shape: Shape) -> object:
        """The class, and how its pods of this job differ in what plugins reserve for them."""
        cls = self.class_of(job, shape)
        if not cls.reserves:
            return cls
        tasks = self.view.tasks_of_job[job]
        tasks = tasks[self.view.snapshot.tasks.shape[tasks] == shape.row]
        return cls, frozenset(self.ledger.reservations.kind(shape, task) for task in tasks.tolist())

    def _enter(
        self, cls: Class, promised: bool, job: int, tasks: Sequence[int], nodes: Sequence[int]
    ) -> bool:
        """False when the one node could not reserve what the task needs: then it is out for this class."""
        step = self.ledger.pipeline if promised else self.ledger.place
        if not step(job, cls.shape, tasks, nodes):
            return True
        cls.refuse(nodes[0], promised)
        return False

    def _fill(self, cls: Class, promised: bool, job: int, tasks: Sequence[int]) -> int:
        if promised and not self.ledger.frees:
            return 0
        done = 0
        while done < len(tasks):
            if cls.reserves:
                cls.forgive(self.ledger.reservations.kind(cls.shape, tasks[done]))
            picks = self._propose(cls, promised, 1 if cls.reserves else len(tasks) - done)
            if not picks:
                break
            if self._enter(cls, promised, job, tasks[done : done + len(picks)], picks):
                done += len(picks)
        return done

    def _propose(self, cls: Class, promised: bool, m: int) -> list[int]:
        """Picks that stay valid while placed one after the other; at least one when any node is feasible."""
        if self.pools is not None and self._looks_at_rows_alone(cls):
            picks = self.pools.propose(cls, promised, m).nodes.tolist() if len(cls.static) else []
        else:
            picks = self._scored_picks(cls.group(promised), m)
        if m > 1 and not cls.moves and picks and self.chains.prefixes:
            nodes = np.array(picks, dtype=np.int64)
            valid = min(hook(self.view, cls.shape, nodes) for hook in self.chains.prefixes)
            picks = picks[: max(valid, 1)]
        return picks

    def _looks_at_rows_alone(self, cls: Class) -> bool:
        """Is nothing of the class's scores added across nodes? Then each scorer can rank its own rows."""
        if cls.preferences or cls.moves or cls.reserves:
            return False
        return not (self.chains.domains and self.chains.domain_terms(self.view, cls.shape, cls.static))

    def _scored_picks(self, group: GroupKeys, m: int) -> list[int]:
        cls = group.cls
        if not len(group.key):
            return []
        keys, points, scored = self._scored(group)
        if m == 1 or cls.moves:
            best = int(keys.argmax())
            return [best] if keys[best] > NONE else []

        def evaluate(rows: Int, copies: Int) -> Int:
            fresh = cls.evaluate(rows, copies, group.promised)
            return fresh if points is None else np.where(fresh > NONE, fresh + (points[rows] << POINT), NONE)

        proposal = propose_together(self.scorers, keys, m, evaluate)
        picks: list[int] = proposal.nodes.tolist()
        filled = proposal.full() if points is not None and picks else []
        if filled:
            if scored or group.preferred is None:
                picks = picks[: _first_full(picks, filled)]
            else:
                picks = picks[: group.preferred.valid(picks, filled)]
        return picks

    def _scored(self, group: GroupKeys) -> tuple[Int, Int | None, bool]:
        """First keys; the points that preferences and terms add, None for none; do domain terms score?"""
        cls, preferred = group.cls, group.preferred
        plain = (group.total, None if preferred is None else preferred.added, False)
        if not self.chains.domains:
            return plain
        terms = self.chains.domain_terms(self.view, cls.shape, group.feasible)
        if not terms:
            return plain
        allowed = group.feasible
        for term in terms:
            if term.ok is not None:
                allowed = allowed & term.ok
        scoring = [term for term in terms if term.raw is not None]
        if scoring and not np.array_equal(allowed, group.feasible):
            terms = self.chains.domain_terms(self.view, cls.shape, allowed)
            scoring = [term for term in terms if term.raw is not None]
        if not scoring and not cls.preferences:
            return np.where(allowed, group.key, NONE), None, True
        points = term_points(scoring, allowed)
        if cls.preferences:
            points += Normaliser(cls.preferences, allowed).added
        keys = np.where(allowed, group.key + (points << POINT), NONE)
        return keys, points, True


def _first_full(picks: list[int], full: list[int]) -> int:
    """How many picks go up to and including the one that fills a node first: then the scored group changes."""
    last = {node: position for position, node in enumerate(picks)}
    return min((last[node] for node in full if node in last), default=len(picks) - 1) + 1


def nominated_node(view: View, task: int) -> int:
    """Node row that `status.nominatedNodeName` promises to the task, MISSING for none."""
    return int(view.snapshot.tasks.nominated[task])
