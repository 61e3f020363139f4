"""The m best picks for m equal pods, as if each were placed before the next was chosen: one exact merge.

Greedy pops the best head among per-node sequences s(i,0), s(i,1), ... where s(i,j) is the key of node i with j copies on
it. The pop order equals sorting all (i,j) by the running minimum of the node's own keys, then j, and only the m best nodes
by s(i,0) can be used. Copies are evaluated in doubling stages and only while a node can still give one of the m.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vcray.core.arrays import Int

NONE = -(2**62)
"""Key of a node that is out. Not INT64_MIN: negating that gives itself."""


def top(keys: Int, m: int) -> Int:
    """Rows of a superset of the m best keys, infeasible ones left out.

    The m-th best block maximum bounds the m-th best key; far cheaper than a partition of all keys."""
    block = len(keys) // (3 * m)
    if block < 4:
        return np.flatnonzero(keys > NONE)
    blocks = len(keys) // block
    best = keys[: blocks * block].reshape(blocks, block).max(axis=1)
    bound = int(np.partition(best, blocks - m)[blocks - m])
    return np.flatnonzero(keys >= max(bound, NONE + 1))


class Proposal(NamedTuple):
    """Greedy picks among some nodes.

    nodes: picked rows in order; keys: the running minimum of the node's own keys at each pick, falling, by which several
    proposals merge; candidates: rows that were looked at; given: how many copies each is known to hold, at least."""

    nodes: Int
    keys: Int
    candidates: Int
    given: Int

    def full(self) -> list[int]:
        """Candidates that are full, or not known to have room, after the picks."""
        taken = Counter(self.nodes.tolist())
        pairs = zip(self.candidates.tolist(), self.given.tolist(), strict=True)
        return [node for node, given in pairs if taken[node] >= given]


def propose(keys: Int, m: int, evaluate: Callable[[Int, Int], Int]) -> Proposal:
    """The m best picks, fewer when the nodes fill up.

    keys: (N,) first keys, NONE where infeasible. evaluate(rows, copies): keys of nodes with copies on them."""
    candidates = top(keys, m)
    if len(candidates) > m:
        candidates = candidates[np.argsort(-keys[candidates])[:m]]
    if not len(candidates):
        return Proposal(candidates, candidates, candidates, candidates)
    lowest = keys[candidates]
    values, owners = [lowest.copy()], [np.arange(len(candidates))]
    active = owners[0]
    copies, width, known = 1, 1, len(candidates)
    floor = _mth(lowest, m, known)
    while copies < m:
        active = active[lowest[active] >= floor] if floor > NONE else active[lowest[active] > NONE]
        if not len(active):
            break
        span = min(width, m - copies)
        grid = evaluate(
            np.repeat(candidates[active], span), np.tile(np.arange(copies, copies + span), len(active))
        )
        table = np.concatenate((lowest[active][:, None], grid.reshape(len(active), span)), axis=1)
        table = np.minimum.accumulate(table, axis=1)[:, 1:]
        lowest[active] = table[:, -1]
        values.append(table.ravel())
        owners.append(np.repeat(active, span))
        known += table.size
        floor = _mth(np.concatenate(values), m, known)
        copies += span
        width *= 2
    entries, owner = np.concatenate(values), np.concatenate(owners)
    order = np.argsort(-entries, kind="stable")[:m]
    order = order[entries[order] > NONE]
    chosen = owner[order]
    given = np.bincount(owner[entries > NONE], minlength=len(candidates))
    return Proposal(candidates[chosen], entries[order], candidates, given)


def _mth(entries: Int, m: int, known: int) -> int:
    """The m-th best of the entries, NONE when there are fewer."""
    if known < m:
        return NONE
    return int(np.partition(entries, known - m)[known - m])
