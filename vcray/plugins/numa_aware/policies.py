"""The kubelet's topology manager for cpus: which NUMA nodes a container should get, and whether a policy admits it.

A container that asks for whole cpus hints at every set of NUMA nodes with that many free; sets no wider than the narrowest that
could ever hold them are preferred. One that does not has no preference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vcray.plugins.numa_aware.layout import Layout

NONE: Final = "none"
RESTRICTED: Final = "restricted"
SINGLE: Final = "single-numa-node"


def admit(layout: Layout, policy: str, free: int, containers: Sequence[int]) -> int | None:
    """The cpus that a pod would get for itself, its containers (milli-cpu each) one after the other; None when the policy or
    a lack of cpus keeps it out."""
    given = 0
    for milli in containers:
        if not milli or milli % 1000:
            continue
        count, left = milli // 1000, free & ~given
        preferred, inside = best_hint(layout, policy, left, count)
        if not preferred and policy in (RESTRICTED, SINGLE):
            return None
        taken = layout.take(left, count, inside)
        if taken is None:
            return None
        given |= taken
    return given


def best_hint(layout: Layout, policy: str, free: int, count: int) -> tuple[bool, int]:
    """(preferred, cpus of the NUMA nodes): the narrowest preferred set, else the narrowest, else all nodes."""
    if policy in ("", NONE):
        return True, layout.all
    width = layout.width(count)
    fitting = [(size, cpus) for size, cpus in layout.masks if (free & cpus).bit_count() >= count]
    if policy == SINGLE:
        fitting = [(size, cpus) for size, cpus in fitting if size == 1 == width]
    for size, cpus in fitting:
        if size == width:
            return True, cpus
    return (False, fitting[0][1]) if fitting else (False, layout.all)
