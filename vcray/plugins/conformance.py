"""Volcano's `conformance`: pods that the cluster itself needs are never victims.

It speaks only where pods are evicted (preempt, reclaim). Actions that evict are not built yet, so for now the
plugin loads, takes no arguments and changes nothing.
"""

from __future__ import annotations

from vcray.core.plugin import Args, Plugin


class Conformance(Plugin[Args]):
    """Accepted in a configuration; without effect on enqueue, allocate and backfill, as in Volcano."""
