"""kube-scheduler's scores that look across nodes: preferred affinity between pods and soft topology spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.domains import DomainIndex, Domains
from vcray.core.selectors import affinity_mask, taint_mask
from vcray.core.tables import NodeTable, PodTerm, SpreadTerm
from vcray.core.view import Shape, View

HOSTNAME = "kubernetes.io/hostname"
"""The one key whose counts are per node, not per domain, and whose size is the number of scored nodes."""


class PreferredAffinity:
    """Sum of the weights of the shape's own preferred terms that pods in a domain meet, and of the terms of pods there
    that the shape meets. Required affinity of running pods adds nothing (Volcano's hard weight is 0)."""

    def __init__(self, nodes: NodeTable, domains: DomainIndex) -> None:
        self._domains = domains
        self._terms = nodes.preferred_terms
        self._wanting: dict[int, list[int]] = {}
        for row, term in enumerate(nodes.preferred_terms):
            self._wanting.setdefault(term.selector, []).append(row)

    def wanted_by(self, shape: Shape) -> list[int]:
        """Rows of the preferred terms of others that the shape meets."""
        return [row for selector in shape.spec.matches for row in self._wanting.get(selector, ())]

    def score(self, view: View, shape: Shape) -> Int | None:
        """(N,) raw sums; None when no term of either side applies."""
        own: tuple[PodTerm, ...] = shape.spec.preferred
        wanting = self.wanted_by(shape) if self._wanting else []
        if not own and not wanting:
            return None
        raw = np.zeros(view.nodes.match.shape[1], dtype=np.int64)
        for term in own:
            raw += term.weight * self._domains[term.key].around(view.nodes.match[term.selector])
        for row in wanting:
            raw += self._domains[self._terms[row].key].around(view.nodes.preferred_weight[row])
        return raw

    @staticmethod
    def moves_itself(shape: Shape) -> bool:
        """Does a placed pod attract or repel the next of its shape?"""
        return any(term.self_match for term in shape.spec.preferred)


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A soft constraint with its domains and the (N,) nodes whose pods count."""

    term: SpreadTerm
    domains: Domains
    counted: Bool


@dataclass(frozen=True, slots=True, eq=False)
class Soft:
    """A shape's soft constraints; `labelled` (N,) nodes with all their keys, None for the cluster's default
    constraints, which leave out what a node lacks."""

    constraints: tuple[Constraint, ...]
    labelled: Bool | None


class SoftSpread:
    """Fewer matching pods in a node's domains score better; domains of a key with few values weigh more."""

    def __init__(self, nodes: NodeTable, domains: DomainIndex) -> None:
        self._nodes = nodes
        self._domains = domains
        self._soft: dict[int, Soft | None] = {}

    def soft(self, shape: Shape) -> Soft | None:
        """The shape's soft constraints, worked out once a session; None when it has none.

        The default constraints apply only to a pod that states no constraint at all, hard ones included."""
        if shape.row not in self._soft:
            self._soft[shape.row] = self._work_out(shape)
        return self._soft[shape.row]

    def _work_out(self, shape: Shape) -> Soft | None:
        own = any(not term.system for term in shape.spec.spread)
        terms = [term for term in shape.spec.spread if not term.hard and term.system != own]
        if not terms:
            return None
        labelled = np.ones(len(self._nodes), dtype=bool)
        if own:
            for term in terms:
                labelled &= self._domains[term.key].present
        constraints = []
        for term in terms:
            counted = labelled
            masks = (
                affinity_mask(self._nodes, shape.spec) if term.honor_affinity else None,
                taint_mask(self._nodes, shape.spec) if term.honor_taints else None,
            )
            for mask in masks:
                if mask is not None:
                    counted = counted & mask
            constraints.append(Constraint(term, self._domains[term.key], counted))
        return Soft(tuple(constraints), labelled if own else None)

    def score(self, view: View, soft: Soft, candidates: Bool) -> Int:
        """(N,) raw scores, smaller is better; the number of domains is that among the scored nodes."""
        scored = candidates if soft.labelled is None else candidates & soft.labelled
        total = np.zeros(len(self._nodes), dtype=np.float64)
        for constraint in soft.constraints:
            term, domains = constraint.term, constraint.domains
            match = view.nodes.match[term.selector]
            if term.key == HOSTNAME:
                size, count = int(scored.sum()), match.astype(np.int64)
            else:
                size = int(np.count_nonzero(np.bincount(domains.of[scored])))
                count = domains.around(np.where(constraint.counted, match, 0))
            each = count * math.log(size + 2) + float(term.max_skew - 1)
            total = total + np.where(domains.present, each, 0.0)
        return np.floor(total + 0.5).astype(np.int64)
