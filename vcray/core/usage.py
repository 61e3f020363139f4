"""What nodes really use, as a metrics source measured it, and how much they have."""

from __future__ import annotations

from dataclasses import dataclass

FRESH_S = 300.0
"""A measurement older than this says nothing any more."""

INTERVAL_S = 30.0
"""Seconds between two looks at the metrics source, unless the configuration says otherwise."""


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """Per cent (0..100) of a node's cpu and memory in use, averaged over ten minutes; `at` is when that was so (seconds)."""

    node: str
    cpu: float
    memory: float
    at: float


@dataclass(frozen=True, slots=True)
class UsageTable:
    """The last measurement of each node, in name order. `interval`: seconds between two looks. `others_at`: as of when nodes
    that are not named use nothing; None: nothing is known of them."""

    loads: tuple[NodeLoad, ...] = ()
    interval: float = INTERVAL_S
    others_at: float | None = None


@dataclass(frozen=True, slots=True)
class Capacities:
    """cpu (milli) and memory (bytes) of status.capacity, with oversubscription, of nodes by name."""

    of: tuple[tuple[str, tuple[int, int]], ...]
