"""Required affinity and anti-affinity between pods, in both directions.

A rule whose topology key gives every node a domain of its own (a hostname) is a rule of one node, so it is checked
there with hypothetical copies and a whole gang is placed at once. All other rules look at sums per domain.

Unlike Volcano, the anti-affinity of pods placed in this very session is honoured on every node: Volcano lists
the nodes that hold such pods once, when the session opens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, BoolLike, Int, Int32
from vcray.core.domains import DomainIndex
from vcray.core.hooks import Reject
from vcray.core.tables import NodeTable, PodTerm
from vcray.core.view import Rows, Shape, View

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a shape must obey. `near`: anti-affinity of single nodes, (selector row, may a copy break it);
    `near_owners`, `owners`: rows of the anti-affinity terms of other pods that the shape would break."""

    affinity: tuple[PodTerm, ...]
    near: tuple[tuple[int, bool], ...]
    anti: tuple[PodTerm, ...]
    near_owners: tuple[int, ...]
    owners: tuple[int, ...]

    @property
    def across(self) -> bool:
        """Does any rule look beyond one node?"""
        return bool(self.affinity or self.anti or self.owners)


NO_RULES = Rules((), (), (), (), ())


class PodAffinity:
    """The rules of every shape of a session, and their answers at any moment of it."""

    def __init__(self, nodes: NodeTable, domains: DomainIndex) -> None:
        self._domains = domains
        self._terms = nodes.anti_terms
        self._owners: dict[int, list[int]] = {}
        for row, term in enumerate(nodes.anti_terms):
            self._owners.setdefault(term.selector, []).append(row)
        self._rules: dict[int, Rules] = {}

    def rules(self, shape: Shape) -> Rules:
        """The shape's rules, worked out once a session."""
        found = self._rules.get(shape.row)
        if found is None:
            found = self._rules[shape.row] = self._work_out(shape)
        return found

    def _work_out(self, shape: Shape) -> Rules:
        spec = shape.spec
        hit = [row for selector in spec.matches for row in self._owners.get(selector, ())]
        if not (hit or spec.affinity or spec.anti_affinity):
            return NO_RULES
        return Rules(
            affinity=spec.affinity,
            near=tuple((term.selector, term.self_match) for term in spec.anti_affinity if self._alone(term)),
            anti=tuple(term for term in spec.anti_affinity if not self._alone(term)),
            near_owners=tuple(row for row in hit if self._alone(self._terms[row])),
            owners=tuple(row for row in hit if not self._alone(self._terms[row])),
        )

    def _alone(self, term: PodTerm) -> bool:
        return self._domains[term.key].alone

    def near(self, view: View, rows: Rows, shape: Shape, ok: BoolLike) -> BoolLike:
        """`ok` and the rules of single nodes, hypothetical copies counted."""
        rules = self.rules(shape)
        for selector, moved in rules.near:
            copies = rows.copies if moved and rows.copies is not None else 0
            ok = ok & (rows.take(view.nodes.match[selector]) + copies == 0)
        for owner in rules.near_owners:
            ok = ok & (rows.take(view.nodes.anti_owner[owner]) == 0)
        return ok

    def allowed(self, view: View, shape: Shape) -> Bool | None:
        """(N,) where the rules across nodes let the shape go now; None: everywhere."""
        rules = self.rules(shape)
        if not rules.across:
            return None
        ok = self._befriended(view, rules) & ~self._shunned(view, rules)
        return ok & ~self._unwelcome(view, rules)

    def starting(self, view: View, shape: Shape) -> bool:
        """Is the next pod the first of a series that wants its own kind near? Its place then decides for the rest."""
        affinity = self.rules(shape).affinity
        return bool(affinity) and self._unseen(view, affinity)

    def moves_itself(self, shape: Shape) -> bool:
        """Does a placed pod forbid places to the next of its shape, beyond its own node?"""
        return any(term.self_match for term in self.rules(shape).anti)

    def rejects(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Who refuses and why; a node gives the first reason only. A missing friend is not cured by evicting."""
        rules = self.rules(shape)
        if rules is NO_RULES:
            return
        said = ~self._befriended(view, rules)
        yield Reject(said, AFFINITY, curable=False)
        shunned = self._shunned(view, rules)
        for selector, _ in rules.near:
            shunned = shunned | (view.nodes.match[selector] > 0)
        yield Reject(shunned & ~said, ANTI_AFFINITY, curable=True)
        unwelcome = self._unwelcome(view, rules)
        for owner in rules.near_owners:
            unwelcome = unwelcome | (view.nodes.anti_owner[owner] > 0)
        yield Reject(unwelcome & ~said & ~shunned, EXISTING, curable=True)

    def _around(self, key: str, counts: Int | Int32) -> Int:
        return self._domains[key].around(counts)

    def _unseen(self, view: View, affinity: tuple[PodTerm, ...]) -> bool:
        """Nobody matches any term in any domain, and the pod matches all of them itself."""
        return all(
            term.self_match and not view.nodes.match[term.selector][self._domains[term.key].present].any()
            for term in affinity
        )

    def _befriended(self, view: View, rules: Rules) -> Bool:
        """Nodes with every topology label whose domains hold a match of each affinity term."""
        ok = np.ones(view.nodes.match.shape[1], dtype=bool)
        alone = self._unseen(view, rules.affinity)
        for term in rules.affinity:
            if alone:
                ok &= self._domains[term.key].present
            else:
                ok &= self._around(term.key, view.nodes.match[term.selector]) > 0
        return ok

    def _shunned(self, view: View, rules: Rules) -> Bool:
        """Nodes in a domain with a pod that the shape keeps away from."""
        out = np.zeros(view.nodes.match.shape[1], dtype=bool)
        for term in rules.anti:
            out |= self._around(term.key, view.nodes.match[term.selector]) > 0
        return out

    def _unwelcome(self, view: View, rules: Rules) -> Bool:
        """Nodes in a domain with a pod that keeps away from the shape."""
        out = np.zeros(view.nodes.match.shape[1], dtype=bool)
        for owner in rules.owners:
            out |= self._around(self._terms[owner].key, view.nodes.anti_owner[owner]) > 0
        return out
