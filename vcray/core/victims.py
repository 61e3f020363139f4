"""Who may be evicted for whom: a claim, the candidates on several nodes at once.

Each node is a what-if of its own: `Candidates.group` numbers it. Inside a group candidates stand in the order in which they
would be taken, least valuable first, so a rule such as "while the gang stays above its minimum" is a rank or a running sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from vcray.core.arrays import Bool, Int, Int32


class ClaimKind(Enum):
    """The action that claims."""

    PREEMPT = "preempt"
    RECLAIM = "reclaim"
    GANG_PREEMPT = "gangpreempt"
    GANG_RECLAIM = "gangreclaim"


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Who asks for room: `tasks` (rows) of a job; one for preempt and reclaim. `request` (R,) is what they ask for together.

    `again`: a plugin that vetoes is asked about the winners, of whatever tier they came from."""

    kind: ClaimKind
    job: int
    queue: int
    tasks: tuple[int, ...]
    request: Int
    again: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """k tasks that could go, rows of the task table, groups one after the other.

    `group` (k,) rises from 0; `job`, `queue`, `node` (k,) are rows; `request` (R, k) is what each holds."""

    task: Int
    group: Int
    job: Int
    queue: Int
    node: Int
    request: Int

    def __len__(self) -> int:
        return len(self.task)

    def at(self, rows: Int) -> Candidates:
        """Some of them, in order."""
        return Candidates(
            self.task[rows],
            self.group[rows],
            self.job[rows],
            self.queue[rows],
            self.node[rows],
            self.request[:, rows],
        )

    def groups(self) -> Iterator[slice]:
        """The part of each group, for rules that must walk one by one."""
        bounds = [*np.flatnonzero(starts(self.group)).tolist(), len(self.task)]
        for start, end in pairwise(bounds):
            yield slice(start, end)

    def rank(self, of: Int | Int32) -> Int:
        """(k,) how many candidates before this one in its group have the same number in `of` (k,)."""
        ranks: Int = self.running(of, np.ones((1, len(self.task)), dtype=np.int64), inclusive=False)[0]
        return ranks

    def running(self, of: Int | Int32, amounts: Int, inclusive: bool) -> Int:
        """(R, k) sums of `amounts` (R, k) over the candidates before this one in its group that have the same number in
        `of`; with its own amount when `inclusive`."""
        size = len(self.task)
        if not size:
            return amounts.copy()
        key = self.group * (int(of.max()) + 2) + of
        order: Int | None = None
        if not (key[1:] >= key[:-1]).all():
            order = np.argsort(key, kind="stable")
            key, amounts = key[order], amounts[:, order]
        total = np.cumsum(amounts, axis=1)
        if not inclusive or key[0] != key[-1]:
            before = total - amounts
        if key[0] == key[-1]:
            within = total if inclusive else before
        else:
            change = starts(key)
            at = np.flatnonzero(change)[np.cumsum(change) - 1]
            within = (total if inclusive else before) - before[:, at]
        if order is None:
            return within
        out = np.empty_like(within)
        out[:, order] = within
        return out


def starts(numbers: Int) -> Bool:
    """(k,) where a stretch of equal numbers begins."""
    change = np.empty(len(numbers), dtype=np.bool_)
    change[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=change[1:])
    return change
