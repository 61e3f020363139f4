"""Scoring split over several scorers, each with node rows of its own: any number of them makes the same picks.

A scorer proposes at most m picks among its rows, with the keys by which it would make them. Keys hold the node's global tie
rank, so no two nodes share one; sorting all proposals by key and taking m gives what a single scorer gives. Rows can be
split because row hooks look at one row; what looks across nodes (normalised preferences, domain terms) is added to the keys
before. Here scorers are plain objects that one session calls; where they live is a runtime's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vcray.core.arrays import Int
from vcray.core.merge import Proposal, propose


class Scorer:
    """Some node rows, in rising order."""

    def __init__(self, rows: Int) -> None:
        self.rows = rows

    def propose(self, keys: Int, m: int, evaluate: Callable[[Int, Int], Int]) -> Proposal:
        """The m best picks among these rows; `keys` and `evaluate` speak of all nodes."""
        rows = self.rows
        found = propose(keys[rows], m, lambda own, copies: evaluate(rows[own], copies))
        return Proposal(rows[found.nodes], found.keys, rows[found.candidates], found.given)


def split(nodes: int, scorers: int) -> tuple[Scorer, ...]:
    """Scorers for that many nodes, as even as can be; none when one would do all."""
    if scorers <= 1:
        return ()
    return tuple(Scorer(rows) for rows in np.array_split(np.arange(nodes), scorers) if len(rows))


def propose_together(
    scorers: Sequence[Scorer], keys: Int, m: int, evaluate: Callable[[Int, Int], Int]
) -> Proposal:
    """What one scorer of all rows would propose."""
    if not scorers:
        return propose(keys, m, evaluate)
    found = [scorer.propose(keys, m, evaluate) for scorer in scorers]
    nodes = np.concatenate([each.nodes for each in found])
    values = np.concatenate([each.keys for each in found])
    order = np.argsort(-values, kind="stable")[:m]
    return Proposal(
        nodes[order],
        values[order],
        np.concatenate([each.candidates for each in found]),
        np.concatenate([each.given for each in found]),
    )
