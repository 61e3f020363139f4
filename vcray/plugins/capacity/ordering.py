"""The order of queues as columns of keys: priority, leaves first, then a walk down the tree.

At each level the queue that holds the smaller part of what it deserves goes first; of equal ones the one that deserves
anything, then the older one. A leaf's own share is the live one. Shares of the levels above are those of the session's start,
as in Volcano, so that the branches keep their order while the leaves of one branch take turns.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcray.core.view import View
from vcray.plugins.capacity.limits import Limits

PAD = (-1.0, -1.0, -1.0)
"""Stands for a level that a path does not reach."""


class Shares:
    """Part of what it deserves that each queue holds, of the resource of which it holds most; 1 where it deserves nothing."""

    def __init__(self, held: Sequence[Sequence[int]], limits: Limits) -> None:
        deserved = limits.deserved.T.tolist()
        self._parts: list[list[tuple[int, int]]] = [
            [(row, amount) for row, amount in enumerate(each) if amount > 0] for each in deserved
        ]
        self._any: list[bool] = limits.has_deserved.tolist()
        self._held = held

    def of(self, queue: int) -> float:
        """The share now."""
        if not self._any[queue]:
            return 1.0
        held = self._held[queue]
        return max([held[row] / amount for row, amount in self._parts[queue]])

    def deserves(self, queue: int) -> bool:
        """Does the queue deserve anything?"""
        return self._any[queue]


class Ordering:
    """Keys of queues, all of one length so that they can be compared."""

    def __init__(self, view: View, shares: Shares, tree: bool) -> None:
        self._shares = shares
        queues = view.snapshot.queues
        paths: Sequence[Sequence[int]] = (
            view.tree.paths if tree else [(queue,) for queue in range(len(queues))]
        )
        oldest = sorted(
            range(len(queues)), key=list(zip(queues.created.tolist(), queues.names, strict=True)).__getitem__
        )
        rank = {queue: float(place) for place, queue in enumerate(oldest)}
        depth = max((len(path) for path in paths), default=1)
        levels = {queue: (*self._share_of(queue), rank[queue]) for queue in range(len(queues))}
        self._front: list[tuple[float, ...]] = []
        self._back: list[tuple[float, ...]] = []
        for queue, path in enumerate(paths):
            leaf = 0.0 if not tree or view.tree.leaf[queue] else 1.0
            front: tuple[float, ...] = (-float(queues.priority[queue]), leaf)
            for above in path[:-1]:
                front += levels[above]
            self._front.append(front)
            self._back.append((rank[queue], *(PAD * (depth - len(path)))) if tree else ())

    def _share_of(self, queue: int) -> tuple[float, float]:
        return self._shares.of(queue), 0.0 if self._shares.deserves(queue) else 1.0

    def key(self, queue: int) -> tuple[float, ...]:
        """The key now: only the queue's own share moves during a session."""
        return (*self._front[queue], *self._share_of(queue), *self._back[queue])
