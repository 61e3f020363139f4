"""kube-scheduler's scores that node objects alone decide: preferred node affinity, soft taints, images on the node."""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Int
from vcray.core.selectors import term_mask, untolerated
from vcray.core.tables import NodeTable, ShapeSpec

MI = 1024 * 1024
IMAGE_LEAST = 23 * MI
"""Images on a node below this total are not worth a score."""
IMAGE_MOST = 1000 * MI
"""Per container: more than this earns nothing."""


def preferred_affinity(nodes: NodeTable, spec: ShapeSpec) -> Int | None:
    """(N,) sum of the weights of the preferred terms that a node meets; None when the pod has none."""
    if not spec.node_preferred:
        return None
    total = np.zeros(len(nodes), dtype=np.int64)
    for term in spec.node_preferred:
        total += term.weight * term_mask(nodes, term)
    return total


def soft_taints(nodes: NodeTable, spec: ShapeSpec) -> Int | None:
    """(N,) number of PreferNoSchedule taints that the pod does not tolerate; None when there are none anywhere."""
    rows = untolerated(nodes, spec, ("PreferNoSchedule",))
    if not rows:
        return None
    count: Int = np.add.reduce(nodes.tainted[rows], axis=0, dtype=np.int64)
    return count


def image_locality(nodes: NodeTable, spec: ShapeSpec) -> Int | None:
    """(N,) 0..100 by the size of the pod's images on a node, scaled down by how few nodes have them; None: no image
    is anywhere.

    The scaling keeps a pod from crowding onto the one node that happens to hold its image."""
    held = [nodes.images[name] for name in spec.images if name in nodes.images]
    if not held:
        return None
    total = np.zeros(len(nodes), dtype=np.int64)
    for rows, sizes in held:
        total[rows] += (sizes * (len(rows) / len(nodes))).astype(np.int64)
    most = IMAGE_MOST * max(spec.containers, 1)
    score: Int = 100 * (np.clip(total, IMAGE_LEAST, most) - IMAGE_LEAST) // (most - IMAGE_LEAST)
    return score
