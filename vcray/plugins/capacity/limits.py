"""What each queue may hold, deserves and is sure of: flat, or level by level down the tree of queues.

Flat, a queue may hold all that is not guaranteed to others, within its capability. In a tree the same holds of each queue
against its parent, and root is limited only by what its own capability names: the cluster's size is no limit there, since
nodes have the last word on room anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.meter import UNLIMITED
from vcray.core.queuedevices import is_device_key
from vcray.core.queuesums import limited, real_capability
from vcray.core.space import CPU, MEMORY, PODS
from vcray.core.tables import QueueTable
from vcray.core.view import View


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """(R, Q) int64 each; `UNLIMITED` stands for no limit. `named`: resources that `deserved` or the guarantee name."""

    capability: Int
    real: Int
    deserved: Int
    guarantee: Int
    named: Bool

    @property
    def has_deserved(self) -> Bool:
        """(Q,) queues that deserve anything but pods."""
        positive = self.deserved > 0
        positive[PODS] = False
        some: Bool = np.logical_or.reduce(positive, axis=0)
        return some

    @property
    def counted(self) -> Bool:
        """(R, Q) where holding more than deserved makes pods that ask for it reclaimable: cpu and memory where some is
        deserved, others where named, even as 0; never pods."""
        rows = self.named.copy()
        rows[[CPU, MEMORY]] = self.deserved[[CPU, MEMORY]] > 0
        rows[PODS] = False
        return rows


def flat_limits(view: View) -> Limits:
    """Queues side by side: deserved is cut to what the queue may hold, and never below its guarantee."""
    queues = view.snapshot.queues
    real = real_capability(view)
    bounded = (view.total > 0)[:, None] | (queues.guarantee > 0)
    bounded[[CPU, MEMORY]] = True
    deserved = np.where(bounded, np.minimum(queues.deserved, real), queues.deserved)
    return _without_devices(
        view,
        Limits(
            capability=_capability(queues),
            real=real,
            deserved=np.maximum(deserved, queues.guarantee),
            guarantee=queues.guarantee.copy(),
            named=_named(queues),
        ),
    )


def tree_limits(view: View) -> Limits:
    """Level by level. A queue without a place in the tree takes nothing from those that have one: its guarantee is not kept."""
    queues, tree = view.snapshot.queues, view.tree
    capability = _capability(queues)
    placed = np.array([not fault for fault in tree.faults], dtype=bool)
    guarantee = np.where(placed, queues.guarantee, 0)
    deserved = np.maximum(queues.deserved, queues.guarantee)
    named = _named(queues)
    parents = {queue: path[-2] for queue, path in enumerate(tree.paths) if len(path) > 1}
    kept = np.zeros_like(guarantee)
    for queue, parent in parents.items():
        kept[:, parent] += guarantee[:, queue]
    real = capability.copy()
    for queue in sorted(parents, key=lambda queue: len(tree.paths[queue])):
        above = real[:, parents[queue]]
        rest = np.maximum(above - kept[:, parents[queue]], 0) + guarantee[:, queue]
        real[:, queue] = np.minimum(np.where(above >= UNLIMITED, UNLIMITED, rest), capability[:, queue])
    if tree.root >= 0:
        top = [queue for queue, parent in parents.items() if parent == tree.root and placed[queue]]
        guarantee[:, tree.root] = kept[:, tree.root]
        deserved[:, tree.root] = deserved[:, top].sum(axis=1)
        named[:, tree.root] = named[:, top].any(axis=1)
    return _without_devices(view, Limits(capability, real, deserved, guarantee, named))


def _without_devices(view: View, limits: Limits) -> Limits:
    """Quotas of devices are kept apart: no pod requests such a resource, so it is neither deserved nor guaranteed here."""
    rows = [row for row, name in enumerate(view.space.names) if is_device_key(name)]
    limits.deserved[rows] = limits.guarantee[rows] = 0
    limits.named[rows] = False
    return limits


def _capability(queues: QueueTable) -> Int:
    return np.where(limited(queues), queues.capability, UNLIMITED)


def _named(queues: QueueTable) -> Bool:
    """A guarantee above 0 is deserved too."""
    named: Bool = queues.deserved_named | (queues.guarantee > 0)
    return named
