"""kube-scheduler's scores on how full a node is: 0..100, whole numbers, Go's truncating division.

The node is seen as kube-scheduler sees it: `requested` (promised pods count, evicted ones do not) against
`status.allocatable`. Least and most allocated count 100m and 200Mi for a container that states no request; balanced
does not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vcray.core.arrays import FloatLike, IntLike, distance, floor, floordiv, minimum, ratio, sqrt, where
from vcray.core.space import CPU, MEMORY
from vcray.core.view import Rows, Shape


@dataclass(frozen=True, slots=True)
class Fullness:
    """The scores with one way to divide: plain where every node has cpu and memory, else one that minds zeros.

    These scores are the hottest code of a placement, and minding zeros doubles their cost."""

    quotient: Callable[[IntLike, IntLike], IntLike]
    part: Callable[[IntLike, IntLike], FloatLike]
    plain: bool

    def least_allocated(self, rows: Rows, shape: Shape) -> IntLike:
        """Mean free share of cpu and memory after the pod, over those that the node has."""
        whole, held, (floor_cpu, floor_memory) = rows.kube_allocatable, rows.requested_floor, shape.spec.floor
        cpu, memory = whole[CPU], whole[MEMORY]
        if type(cpu) is int and self.plain:
            of_cpu, of_memory = cpu - held[0] - floor_cpu, memory - held[1] - floor_memory
            if of_cpu < 0 or of_memory < 0:
                of_cpu, of_memory = max(of_cpu, 0), max(of_memory, 0)
            return (of_cpu * 100 // cpu + of_memory * 100 // memory) // 2
        free_cpu = cpu - minimum(held[0] + floor_cpu, cpu)
        free_memory = memory - minimum(held[1] + floor_memory, memory)
        return self._mean(free_cpu, free_memory, cpu, memory)

    def most_allocated(self, rows: Rows, shape: Shape) -> IntLike:
        """Mean used share of cpu and memory after the pod, over those that the node has."""
        whole, held, (floor_cpu, floor_memory) = rows.kube_allocatable, rows.requested_floor, shape.spec.floor
        cpu, memory = whole[CPU], whole[MEMORY]
        used_cpu = minimum(held[0] + floor_cpu, cpu)
        used_memory = minimum(held[1] + floor_memory, memory)
        return self._mean(used_cpu, used_memory, cpu, memory)

    def _mean(self, of_cpu: IntLike, of_memory: IntLike, cpu: IntLike, memory: IntLike) -> IntLike:
        both = self.quotient(of_cpu * 100, cpu) + self.quotient(of_memory * 100, memory)
        return both // 2 if self.plain else floordiv(both, 1 * (cpu > 0) + 1 * (memory > 0))

    def balanced_allocation(self, rows: Rows, shape: Shape, gpu: int | None) -> FloatLike:
        """How much the pod evens out the shares of cpu, memory and (given their row) GPUs: 75 when nothing changes.

        A node without a GPU cannot take a pod that wants one, so its share there does not matter."""
        whole, held, req = rows.kube_allocatable, rows.requested, shape.req
        cpu, memory = whole[CPU], whole[MEMORY]
        if type(cpu) is int and self.plain:
            return _balanced_numbers(held, whole, req, gpu)
        before = [minimum(self.part(held[CPU], cpu), 1.0), minimum(self.part(held[MEMORY], memory), 1.0)]
        after = [
            minimum(self.part(held[CPU] + req[CPU], cpu), 1.0),
            minimum(self.part(held[MEMORY] + req[MEMORY], memory), 1.0),
        ]
        if gpu is not None:
            before.append(minimum(ratio(held[gpu], whole[gpu]), 1.0))
            after.append(minimum(ratio(held[gpu] + req[gpu], whole[gpu]), 1.0))
        if self.plain:
            evenness = _even_pair if gpu is None else _even_triple
            gain = evenness(after) - evenness(before)
        else:
            present = [1 * (cpu > 0), 1 * (memory > 0), *([] if gpu is None else [1 * (whole[gpu] > 0)])]
            gain = _even_present(after, present) - _even_present(before, present)
        return 50 + floor((50 + gain) / 2)


def _balanced_numbers(held: Any, whole: Any, req: list[int], gpu: int | None) -> int:
    """`balanced_allocation` of one row of Python numbers: the same steps in the same order, without a call for each."""
    cpu, memory, held_cpu, held_memory = whole[CPU], whole[MEMORY], held[CPU], held[MEMORY]
    a, b, c, d = (
        held_cpu / cpu,
        held_memory / memory,
        (held_cpu + req[CPU]) / cpu,
        (held_memory + req[MEMORY]) / memory,
    )
    if a > 1.0 or b > 1.0 or c > 1.0 or d > 1.0:
        a, b, c, d = min(a, 1.0), min(b, 1.0), min(c, 1.0), min(d, 1.0)
    if gpu is None:
        before, after = int((1 - abs(a - b) / 2) * 100), int((1 - abs(c - d) / 2) * 100)
    else:
        gpus = whole[gpu]
        before = _even_numbers(a, b, min(held[gpu] / gpus, 1.0) if gpus else 0.0)
        after = _even_numbers(c, d, min((held[gpu] + req[gpu]) / gpus, 1.0) if gpus else 0.0)
    return 50 + (50 + after - before) // 2


def _even_numbers(a: float, b: float, c: float) -> int:
    """`_even_triple` of three Python numbers."""
    mean = (a + b + c) / 3
    a, b, c = a - mean, b - mean, c - mean
    return int((1 - math.sqrt((a * a + b * b + c * c) / 3)) * 100)


PLAIN = Fullness(operator.floordiv, operator.truediv, True)
CAREFUL = Fullness(floordiv, ratio, False)


def _even_pair(shares: Sequence[FloatLike]) -> FloatLike:
    """100 minus the standard deviation of two shares in per cent, truncated."""
    return floor((1 - distance(shares[0], shares[1]) / 2) * 100)


def _even_triple(shares: Sequence[FloatLike]) -> FloatLike:
    """The same of three shares."""
    a, b, c = shares
    mean = (a + b + c) / 3
    a, b, c = a - mean, b - mean, c - mean
    return floor((1 - sqrt((a * a + b * b + c * c) / 3)) * 100)


def _even_present(shares: Sequence[FloatLike], present: Sequence[IntLike]) -> FloatLike:
    """The same of those shares whose resource the node has; 100 with fewer than two."""
    pair = distance(shares[0], shares[1])
    if len(shares) == 2:
        return floor((1 - where(present[0] + present[1] == 2, pair, 0.0) / 2) * 100)
    count = present[0] + present[1] + present[2]
    pair = where(present[1] == 0, distance(shares[0], shares[2]), pair)
    pair = where(present[0] == 0, distance(shares[1], shares[2]), pair)
    two = floor((1 - where(count == 2, pair, 0.0) / 2) * 100)
    return where(count == 3, _even_triple(shares), two)
