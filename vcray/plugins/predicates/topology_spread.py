"""Topology spread constraints that must hold (DoNotSchedule).

A domain may hold at most `maxSkew` more matching pods than the emptiest one, the pod itself counted where it matches.
Counted are nodes with all topology keys of the pod's constraints that its node affinity (and, where asked, its tolerations)
let in; with fewer such domains than `minDomains` the emptiest counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool
from vcray.core.domains import DomainIndex, Domains
from vcray.core.hooks import Reject
from vcray.core.selectors import affinity_mask, taint_mask
from vcray.core.tables import NodeTable, SpreadTerm
from vcray.core.view import Shape, View

SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELLED = SKEWED + " (missing required label)"


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A constraint with what node objects alone tell: `counted` (N,) nodes, `exists` (D,) their domains."""

    term: SpreadTerm
    domains: Domains
    counted: Bool
    exists: Bool


class TopologySpread:
    """The hard constraints of every shape of a session, and their answers at any moment of it."""

    def __init__(self, nodes: NodeTable, domains: DomainIndex) -> None:
        self._nodes = nodes
        self._domains = domains
        self._constraints: dict[int, tuple[Constraint, ...]] = {}

    def constraints(self, shape: Shape) -> tuple[Constraint, ...]:
        """The shape's hard constraints, worked out once a session."""
        found = self._constraints.get(shape.row)
        if found is None:
            found = self._constraints[shape.row] = self._work_out(shape)
        return found

    def _work_out(self, shape: Shape) -> tuple[Constraint, ...]:
        terms = [term for term in shape.spec.spread if term.hard]
        labelled = np.ones(len(self._nodes), dtype=bool)
        for term in terms:
            labelled &= self._domains[term.key].present
        out = []
        for term in terms:
            domains, counted = self._domains[term.key], labelled
            masks = (
                affinity_mask(self._nodes, shape.spec) if term.honor_affinity else None,
                taint_mask(self._nodes, shape.spec) if term.honor_taints else None,
            )
            for mask in masks:
                if mask is not None:
                    counted = counted & mask
            exists = domains.sums(counted.astype(np.int64))[: domains.size] > 0
            out.append(Constraint(term, domains, counted, exists))
        return tuple(out)

    def moves_itself(self, shape: Shape) -> bool:
        """Does a placed pod change the skew for the next of its shape?"""
        return any(constraint.term.self_match for constraint in self.constraints(shape))

    def allowed(self, view: View, shape: Shape) -> Bool | None:
        """(N,) where no constraint is broken by one more pod; None: everywhere."""
        ok: Bool | None = None
        for constraint in self.constraints(shape):
            fits = constraint.domains.present & self._even(view, constraint)
            ok = fits if ok is None else ok & fits
        return ok

    def rejects(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Who refuses and why: the first constraint that a node breaks names it. A missing label is not curable."""
        said = np.zeros(len(self._nodes), dtype=bool)
        for constraint in self.constraints(shape):
            unlabelled = ~constraint.domains.present & ~said
            yield Reject(unlabelled, UNLABELLED, curable=False)
            said = said | unlabelled
            skewed = ~self._even(view, constraint) & ~said
            yield Reject(skewed, SKEWED, curable=True)
            said = said | skewed

    @staticmethod
    def _even(view: View, constraint: Constraint) -> Bool:
        """(N,) domains that stay within the skew with one more pod."""
        term, domains = constraint.term, constraint.domains
        sums = domains.sums(np.where(constraint.counted, view.nodes.match[term.selector], 0))
        held = sums[: domains.size][constraint.exists]
        emptiest = int(held.min()) if held.size >= max(term.min_domains, 1) else 0
        even: Bool = (sums + int(term.self_match) - emptiest <= term.max_skew)[domains.of]
        return even
