"""Cpus of nodes by NUMA node, socket and core, as an exporter on each node tells (Numatopology), and which pods hold which.

Sets of cpus are kept as the kernel spells them (`0-3,8`): whole numbers with a bit a cpu do not fit every recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class CpuPlace:
    """Where a cpu sits."""

    cpu: int
    numa: int
    socket: int
    core: int


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A node's layout. `free`: cpus that no container has for itself; `reserved`: milli-cpu kept for the system;
    `holders`: (namespace/name, cpus) of pods that the exporter lists."""

    name: str
    cpu_policy: str
    topology_policy: str
    places: tuple[CpuPlace, ...]
    free: str
    reserved: int
    holders: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pod on a node for which a scheduler chose cpus; the exporter may not have told of it yet."""

    pod: str
    node: str
    leaving: bool
    cpus: str


@dataclass(frozen=True, slots=True)
class NumaTable:
    """Layouts by node name, sorted."""

    nodes: tuple[NumaNode, ...]


@lru_cache(maxsize=65536)
def cpu_set(text: str) -> int:
    """A cpuset such as `0-3,8` as a number with bit i for cpu i. Raises ValueError."""
    found = 0
    for part in text.split(","):
        if not part.strip():
            continue
        first, dash, last = part.strip().partition("-")
        start, end = int(first), int(last) if dash else int(first)
        if not 0 <= start <= end < 1 << 16:
            raise ValueError(f"{part!r} is no range of cpus")
        found |= ((1 << (end - start + 1)) - 1) << start
    return found


def cpu_text(cpus: int) -> str:
    """A number with a bit a cpu as a cpuset: ranges in ascending order."""
    parts = []
    cpu = 0
    while cpus >> cpu:
        if not cpus >> cpu & 1:
            cpu += 1
            continue
        start = cpu
        while cpus >> cpu & 1:
            cpu += 1
        parts.append(str(start) if cpu - start == 1 else f"{start}-{cpu - 1}")
    return ",".join(parts)
