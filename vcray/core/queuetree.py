"""The tree of queues: who is above whom, and what is wrong with it.

Charges go up a path: a queue and all that are above it, each once. A path exists for every queue, whatever its parents
say, so that no object in the API server can stop accounting: a queue whose parent does not exist hangs under root, and
a cycle ends where it closes. What such a queue may do is for plugins to say (`faults`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcray.core.tables import MISSING, QueueTable

ROOT = "root"


@dataclass(frozen=True, slots=True)
class QueueTree:
    """By queue row. `paths`: rows from the top down to the queue itself; `leaf`: nobody names it as parent; `faults`:
    why the queue has no proper place, empty when it has one. `root` is MISSING in a cluster without one."""

    paths: tuple[tuple[int, ...], ...]
    leaf: tuple[bool, ...]
    faults: tuple[str, ...]
    root: int


def queue_tree(queues: QueueTable) -> QueueTree:
    """The tree of a table; never fails.

    Without a queue `root` nobody can tell a queue that names no parent from one whose parent is gone: neither is a fault."""
    names = queues.names
    root = names.index(ROOT) if ROOT in names else MISSING
    parents: list[int] = queues.parent.tolist()
    if root != MISSING:
        parents[root] = MISSING
    paths, faults = [], []
    for queue in range(len(names)):
        path, fault = _climb(parents, names, queue, root)
        paths.append(path)
        faults.append(fault)
    above = set(parents)
    leaf = tuple(queue not in above and queue != root for queue in range(len(names)))
    return QueueTree(tuple(paths), leaf, tuple(faults), root)


def _climb(
    parents: Sequence[int], names: Sequence[str], queue: int, root: int
) -> tuple[tuple[int, ...], str]:
    """(path, fault) of one queue."""
    path = [queue]
    while path[-1] != root:
        up = parents[path[-1]]
        if up == MISSING:
            if root == MISSING:
                break
            path.append(root)
            return tuple(reversed(path)), f"the parent of queue {names[path[-2]]} does not exist"
        if up in path:
            return tuple(reversed(path)), f"the parents of queue {names[up]} form a cycle"
        path.append(up)
    return tuple(reversed(path)), ""
