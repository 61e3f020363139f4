"""Topology domains: nodes that share the value of a label. Counts per node fold into sums per domain and back.

Rules between pods (affinity, anti-affinity, spread) never look at single nodes, only at such sums. All is int64 and exact,
so two shards or two row orders give the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, Int, Int32
from vcray.core.selectors import label_column
from vcray.core.tables import MISSING, NodeTable


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The domains of one topology key. `of` (N,): each node's domain, `size` where it has none; `present` (N,): nodes
    with the label; `alone`: every node is a domain of its own, so rules of this key are rules of one node."""

    of: Int
    size: int
    present: Bool
    alone: bool

    @staticmethod
    def by(nodes: NodeTable, key: str) -> Domains:
        """The domains of a label key; none when no node has it."""
        column = label_column(nodes.labels, key, len(nodes))
        present = column != MISSING
        size = int(column.max(initial=MISSING)) + 1
        of = np.where(present, column, size)
        per_domain = np.bincount(of, minlength=size + 1)[:size]
        return Domains(of, size, present, bool((per_domain <= 1).all() and present.all()))

    def sums(self, counts: Int | Int32) -> Int:
        """(D + 1,) sum of the counts of each domain; the last entry, for nodes without the label, is 0."""
        folded = np.bincount(self.of, weights=counts, minlength=self.size + 1).astype(np.int64)
        folded[self.size] = 0
        return folded

    def around(self, counts: Int | Int32) -> Int:
        """(N,) at each node the sum over its domain; 0 for a node without the label."""
        at: Int = self.sums(counts)[self.of]
        return at


class DomainIndex:
    """Domains by topology key, made when first asked for; lives as long as the node table."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: dict[str, Domains] = {}

    def __getitem__(self, key: str) -> Domains:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Domains.by(self._nodes, key)
        return found
