"""Caches that a caller may keep from one round to the next; they never change a decision.

Masks and preferences of a placement class depend on node objects alone. While the snapshot's static node columns are the
very same arrays as in the round before, and so is the policy, they need not be asked again. What is said of pods that wait is
taken over while it is the same, as long as names and UIDs of all pods are the very same tuples;
all of it where nothing moved in the round before, and nothing can help yet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, TypeAlias

from vcray.core.arrays import Bool
from vcray.core.decisions import Waiting
from vcray.core.hooks import Preference
from vcray.core.repeat import LastRound
from vcray.core.tables import NodeTable, TaskTable

STATIC: Final = (
    "names",
    "allocatable",
    "kube_allocatable",
    "ready",
    "unschedulable",
    "taints",
    "tainted",
    "labels",
    "images",
    "notes",
)
"""Columns of the nodes that masks and preferences of a class depend on."""

LIMIT = 4096
"""Classes kept; past it all are dropped, so that a stream of one-off shapes cannot grow the cache."""


WaitingKey: TypeAlias = tuple[str, tuple[int, ...], str, str, str]


class Carry:
    """What rounds may share. One per caller of `decide`; not for several threads."""

    __slots__ = ("_basis", "_known", "_pods", "_waiting", "last")

    def __init__(self) -> None:
        self._basis: tuple[object, ...] = ()
        self._known: dict[Hashable, tuple[Bool, Sequence[Preference]]] = {}
        self._pods: tuple[Sequence[str], Sequence[str]] = ((), ())
        self._waiting: dict[WaitingKey, Waiting] = {}
        self.last: LastRound | None = None
        """The last round, when it may be repeated (`core/repeat`)."""

    def start(self, policy: object, nodes: NodeTable) -> None:
        """A round begins: forget all unless policy and static node columns are the same objects."""
        basis = (policy, *(getattr(nodes, column) for column in STATIC))
        same = len(basis) == len(self._basis) and all(a is b for a, b in zip(basis, self._basis, strict=True))
        if not same or len(self._known) > LIMIT:
            self._known = {}
        self._basis = basis

    def get(self, key: Hashable) -> tuple[Bool, Sequence[Preference]] | None:
        """Mask and preferences of a class, when still true."""
        return self._known.get(key)

    def put(self, key: Hashable, static: Bool, preferences: Sequence[Preference]) -> None:
        """Keep them for the next rounds."""
        self._known[key] = (static, preferences)

    def waiting(self, tasks: TaskTable, groups: Iterable[WaitingKey]) -> list[Waiting]:
        """`Waiting` of each group: its job, the rows of its pods, reason, message and nominated node."""
        names, uids = tasks.names, tasks.uids
        if self._pods[0] is not names or self._pods[1] is not uids:
            self._pods, self._waiting = (names, uids), {}
        before, self._waiting = self._waiting, {}
        for key in groups:
            found = before.get(key)
            if found is None:
                job, rows, *words = key
                found = Waiting(job, tuple(sorted([(names[row], uids[row]) for row in rows])), *words)
            self._waiting[key] = found
        return list(self._waiting.values())
