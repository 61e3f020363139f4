"""What node labels tell of how a node's whole GPUs are joined, for pods that ask for several `nvidia.com/gpu`.

The kubelet's device plugin picks the devices; all that a scheduler can do is to send such a pod where any pick is well joined:

    nvidia.com/gpu.clique, nvidia.com/gpu.product with SXM, NVL or HGX   GPU Feature Discovery: joined by NVLink
    feature.node.kubernetes.io/memory-numa other than "true"             Node Feature Discovery: one NUMA node
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from vcray.api.names import NVIDIA_GPU
from vcray.core.arrays import Int
from vcray.core.hooks import Preference, Scale
from vcray.core.tables import MISSING, LabelColumns
from vcray.core.view import Shape, View

CLIQUE: Final = "nvidia.com/gpu.clique"
PRODUCT: Final = "nvidia.com/gpu.product"
SEVERAL_NUMA: Final = "feature.node.kubernetes.io/memory-numa"
LINKED: Final = ("SXM", "NVL", "HGX")


def joined(view: View, shape: Shape, weight: int) -> list[Preference]:
    """3 for nodes whose GPUs are joined by NVLink and sit on one NUMA node, 2 for NVLink, 1 for one NUMA node; nothing for a
    pod with one GPU or none, and where no labels tell."""
    row = view.space.row(NVIDIA_GPU)
    if row is None or shape.req[row] < 2000:
        return []
    labels = view.snapshot.nodes.labels
    if not any(key in labels.keys for key in (CLIQUE, PRODUCT, SEVERAL_NUMA)):
        return []
    size = len(view.snapshot.nodes)
    product = _marked(labels, PRODUCT, size, lambda value: any(part in value.upper() for part in LINKED))
    linked = np.maximum(_marked(labels, CLIQUE, size, bool), product)
    numa = _marked(labels, SEVERAL_NUMA, size, lambda value: value == "true")
    known = _marked(labels, PRODUCT, size, bool) if PRODUCT in labels.keys else np.ones(size, dtype=np.int64)
    raw: Int = 2 * linked + known * (1 - numa)
    return [Preference(raw, Scale.MAX, weight)]


def _marked(labels: LabelColumns, key: str, size: int, holds: Callable[[str], bool]) -> Int:
    """(N,) 1 where a node's label has a value of that kind."""
    number = labels.keys.get(key)
    if number is None:
        return np.zeros(size, dtype=np.int64)
    kinds = np.array([holds(value) for value in labels.values[number]] or [False], dtype=np.int64)
    column = labels.column[number]
    return np.where(column == MISSING, 0, kinds[np.maximum(column, 0)])
