"""kube-scheduler's scores on how full a node is: 0..100, whole numbers, Go's truncating division.

The node is seen as kube-scheduler sees it: `requested` (promised pods count, evicted ones do not) against
`status.allocatable`. Least and most allocated count 100m and 200Mi for a container that states no request; balanced
does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcray.core.arrays import FloatLike, IntLike, distance, floor, floordiv, minimum, ratio, sqrt, where
from vcray.core.space import CPU, MEMORY
from vcray.core.view import Rows, Shape


def least_allocated(rows: Rows, shape: Shape) -> IntLike:
    """Mean free share of cpu and memory after the pod, over those that the node has."""
    whole, held, (floor_cpu, floor_memory) = rows.kube_allocatable, rows.requested_floor, shape.spec.floor
    cpu, memory = whole[CPU], whole[MEMORY]
    free_cpu = cpu - minimum(held[0] + floor_cpu, cpu)
    free_memory = memory - minimum(held[1] + floor_memory, memory)
    both = floordiv(free_cpu * 100, cpu) + floordiv(free_memory * 100, memory)
    return floordiv(both, 1 * (cpu > 0) + 1 * (memory > 0))


def most_allocated(rows: Rows, shape: Shape) -> IntLike:
    """Mean used share of cpu and memory after the pod, over those that the node has."""
    whole, held, (floor_cpu, floor_memory) = rows.kube_allocatable, rows.requested_floor, shape.spec.floor
    cpu, memory = whole[CPU], whole[MEMORY]
    used_cpu = minimum(held[0] + floor_cpu, cpu)
    used_memory = minimum(held[1] + floor_memory, memory)
    both = floordiv(used_cpu * 100, cpu) + floordiv(used_memory * 100, memory)
    return floordiv(both, 1 * (cpu > 0) + 1 * (memory > 0))


def balanced_allocation(rows: Rows, shape: Shape, resources: Sequence[int]) -> FloatLike:
    """How much the pod evens out the shares of the resources in use: 75 when nothing changes, more when it helps."""
    whole, held = rows.kube_allocatable, rows.requested
    present = [1 * (whole[r] > 0) for r in resources]
    before = [minimum(ratio(held[r], whole[r]), 1.0) for r in resources]
    after = [minimum(ratio(held[r] + shape.req[r], whole[r]), 1.0) for r in resources]
    gain = _evenness(after, present) - _evenness(before, present)
    return 50 + floor((50 + gain) / 2)


def _evenness(shares: Sequence[FloatLike], present: Sequence[IntLike]) -> FloatLike:
    """100 minus the standard deviation of the shares in per cent, truncated; of those that the node has."""
    pair = distance(shares[0], shares[1])
    if len(shares) == 2:
        deviation = where(present[0] + present[1] == 2, pair, 0.0) / 2
        return floor((1 - deviation) * 100)
    count = present[0] + present[1] + present[2]
    mean = ratio(shares[0] + shares[1] + shares[2], count)
    squares: FloatLike = 0.0
    for share, here in zip(shares, present, strict=True):
        apart = where(here == 1, distance(share, mean), 0.0)
        squares = squares + apart * apart
    pair = where(present[1] == 0, distance(shares[0], shares[2]), pair)
    pair = where(present[0] == 0, distance(shares[1], shares[2]), pair)
    deviation = where(count == 3, sqrt(ratio(squares, count)), where(count == 2, pair, 0.0) / 2)
    return floor((1 - deviation) * 100)
