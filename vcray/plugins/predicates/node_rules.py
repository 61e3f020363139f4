"""Checks that look at node objects alone: cordons, node selector and affinity, taints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vcray.core.arrays import Bool
from vcray.core.hooks import Reject
from vcray.core.selectors import affinity_mask, open_mask, taint_mask
from vcray.core.tables import NodeTable, ShapeSpec

CORDONED = "node(s) were unschedulable"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"
"""kube-scheduler's sentence since 1.35; before, it named one taint (kubernetes/kubernetes#134740)."""


def checks(
    nodes: NodeTable, spec: ShapeSpec, affinity: bool, taints: bool
) -> Iterator[tuple[Bool | None, str]]:
    """(allowed nodes or None for all, reason of the others), in kube-scheduler's order of filters."""
    yield open_mask(nodes, spec), CORDONED
    if affinity:
        yield affinity_mask(nodes, spec), AFFINITY
    if taints:
        yield taint_mask(nodes, spec), TAINTED


def allowed(nodes: NodeTable, spec: ShapeSpec, affinity: bool, taints: bool) -> Bool | None:
    """(N,) nodes that pass all of them; None: all. A pod on hold passes nowhere."""
    if spec.hold:
        return np.zeros(len(nodes), dtype=bool)
    result: Bool | None = None
    for mask, _ in checks(nodes, spec, affinity, taints):
        if mask is not None:
            result = mask if result is None else result & mask
    return result


def rejects(nodes: NodeTable, spec: ShapeSpec, affinity: bool, taints: bool) -> Iterator[Reject]:
    """Who refuses and why; evicting pods cures none of it."""
    for mask, reason in checks(nodes, spec, affinity, taints):
        if mask is not None:
            yield Reject(~mask, reason, curable=False)
