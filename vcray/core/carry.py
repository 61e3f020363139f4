"""Caches that a caller may keep from one round to the next; they never change a decision.

Masks and preferences of a placement class depend on node objects alone. While the snapshot's static node columns are the
very same arrays as in the round before, and so is the policy, they need not be asked again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from vcray.core.arrays import Bool
from vcray.core.hooks import Preference
from vcray.core.tables import NodeTable

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


class Carry:
    """What rounds may share. One per caller of `decide`; not for several threads."""

    __slots__ = ("_basis", "_known")

    def __init__(self) -> None:
        self._basis: tuple[object, ...] = ()
        self._known: dict[Hashable, tuple[Bool, Sequence[Preference]]] = {}

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
