"""The merge is greedy, pick for pick, for any score that depends on the node alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vcray.core.merge import NONE, propose, top
from vcray.core.scorers import propose_together, split

TABLES = st.lists(st.lists(st.integers(-50, 50), min_size=0, max_size=6), min_size=1, max_size=12)


def greedy(table: list[list[int]], m: int) -> list[int]:
    """Pop the best head, m times."""
    copies = [0] * len(table)
    picks: list[int] = []
    while len(picks) < m:
        heads = [
            (table[node][copies[node]], node) for node in range(len(table)) if copies[node] < len(table[node])
        ]
        if not heads:
            break
        node = max(heads)[1]
        copies[node] += 1
        picks.append(node)
    return picks


def distinct(scores: list[list[int]]) -> list[list[int]]:
    """Keys with the node as tie rank."""
    return [[score * 64 + node for score in row] for node, row in enumerate(scores)]


@settings(max_examples=300, deadline=None)
@given(scores=TABLES, m=st.integers(1, 20))
def test_a_proposal_equals_greedy(scores: list[list[int]], m: int) -> None:
    table = distinct(scores)
    first = np.array([row[0] if row else NONE for row in table])

    def evaluate(rows: np.ndarray, copies: np.ndarray) -> np.ndarray:
        pairs = zip(rows.tolist(), copies.tolist(), strict=True)
        return np.array([table[n][c] if c < len(table[n]) else NONE for n, c in pairs], dtype=np.int64)

    proposal = propose(first, m, evaluate)
    picks = proposal.nodes.tolist()

    assert picks == greedy(table, m)
    for node in set(proposal.candidates.tolist()) - set(proposal.full()):
        assert picks.count(node) < len(table[node])


@settings(max_examples=300, deadline=None)
@given(scores=TABLES, m=st.integers(1, 20), scorers=st.integers(1, 5))
def test_any_number_of_scorers_makes_the_same_picks(scores: list[list[int]], m: int, scorers: int) -> None:
    table = distinct(scores)
    first = np.array([row[0] if row else NONE for row in table])

    def evaluate(rows: np.ndarray, copies: np.ndarray) -> np.ndarray:
        pairs = zip(rows.tolist(), copies.tolist(), strict=True)
        return np.array([table[n][c] if c < len(table[n]) else NONE for n, c in pairs], dtype=np.int64)

    together = propose_together(split(len(table), scorers), first, m, evaluate)
    picks = together.nodes.tolist()

    assert picks == greedy(table, m)
    for node in set(together.candidates.tolist()) - set(together.full()):
        assert picks.count(node) < len(table[node])


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=400, unique=True), st.integers(1, 30))
def test_top_holds_the_best(keys: list[int], m: int) -> None:
    best = set(np.argsort(-np.array(keys))[:m].tolist())

    assert best <= set(top(np.array(keys), m).tolist())


def test_packing_looks_at_few_hypothetical_rows() -> None:
    asked = 0

    def evaluate(rows: np.ndarray, copies: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(rows)
        return np.where(copies < 64, 1000 * (64 + copies) + rows, NONE)

    picks = propose(64_000 + np.arange(10_000), 64, evaluate).nodes.tolist()

    assert picks == [9_999] * 64
    assert asked <= 6 * 64
