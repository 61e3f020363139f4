"""A snapshot: all that a decision depends on, `now` and `seed` included. Frozen; rebuilt, never edited."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from vcray.core.arrays import Int
from vcray.core.details import NO_DETAILS, Details
from vcray.core.space import ResourceSpace
from vcray.core.tables import (
    JobTable,
    NodeTable,
    Notes,
    PodFacts,
    QueueTable,
    Requirement,
    ShapeSpec,
    TaskTable,
)
from vcray.core.timing import NO_TIMING, Timing


@dataclass(frozen=True, slots=True)
class SelectorSpec:
    """A pod selector that some live affinity or spread term reads; a row of `NodeTable.match`.

    `namespaces` None means all; namespace selectors are resolved to names before they come here. `living`: pods that
    are being deleted do not count (topology spread leaves them out, affinity counts them)."""

    namespaces: tuple[str, ...] | None
    requirements: tuple[Requirement, ...]
    living: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Tables plus `generation` (grows with every change), `now` (seconds) and `seed` (breaks ties).

    `label_sets`: labels of pods as sorted pairs; rows that no task has may hold anything."""

    generation: int
    now: float
    seed: int
    space: ResourceSpace
    nodes: NodeTable
    shapes: tuple[ShapeSpec, ...]
    selectors: tuple[SelectorSpec, ...]
    tasks: TaskTable
    roles: tuple[str, ...]
    jobs: JobTable
    queues: QueueTable
    pod_facts: tuple[PodFacts, ...]
    label_sets: tuple[Notes, ...]
    details: Details = NO_DETAILS
    timing: Timing = NO_TIMING


def tie_ranks(seed: int, names: tuple[str, ...]) -> Int:
    """(N,) rank of BLAKE2b(seed, name) among the given names: unique, independent of row order, higher wins.

    Python's `hash()` is salted and rows move, so neither may break a tie."""
    salt = seed.to_bytes(8, "little", signed=True)
    digests = [(blake2b(name.encode(), digest_size=8, salt=salt).digest(), name) for name in names]
    order = sorted(range(len(names)), key=digests.__getitem__)
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return ranks
