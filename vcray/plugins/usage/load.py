"""Loads of nodes by row: measured per cents, capacities, and shadows of pods that no measurement shows yet."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from vcray.core.arrays import Float, FloatLike, minimum, ratio
from vcray.core.nodeloads import NodeLoads
from vcray.core.view import Rows, View


class Shadow(NamedTuple):
    """Estimated use of cpu (milli) and memory (bytes), at one row or several."""

    cpu: FloatLike
    memory: FloatLike


def column(rows: Rows, values: Float) -> FloatLike:
    """Values of a (N,) column at the rows."""
    return cast(FloatLike, rows.take(values))


class Loads(NodeLoads):
    """The columns with shadows, which change as pods come and go."""

    def __init__(self, view: View, cpu_weight: int, memory_weight: int) -> None:
        super().__init__(view.snapshot)
        self.weights = cpu_weight, memory_weight
        size = len(self.known)
        self.used_cpu = self.cpu / 100 * self.cpu_capacity
        self.used_memory = self.memory / 100 * self.memory_capacity
        self.shadow_cpu, self.shadow_memory = np.zeros(size), np.zeros(size)

    def parts(self, rows: Rows, shadow: Shadow) -> tuple[FloatLike, FloatLike]:
        """Share of cpu and of memory in use, shadows counted, at most 1."""
        cpu = ratio(column(rows, self.used_cpu) + shadow.cpu, column(rows, self.cpu_capacity))
        memory = ratio(column(rows, self.used_memory) + shadow.memory, column(rows, self.memory_capacity))
        return minimum(cpu, 1.0), minimum(memory, 1.0)

    def mean(self, rows: Rows, shadow: Shadow) -> FloatLike:
        """The weighted mean of both shares."""
        return self._mean(*self.parts(rows, shadow))

    def free(self, rows: Rows, shadow: Shadow) -> FloatLike:
        """The weighted mean of the shares that are free."""
        cpu, memory = self.parts(rows, shadow)
        return self._mean(1 - cpu, 1 - memory)

    def busy(self, node: int) -> float:
        """`mean` of one node as it is."""
        cpu = ratio(float(self.used_cpu[node] + self.shadow_cpu[node]), float(self.cpu_capacity[node]))
        memory = ratio(
            float(self.used_memory[node] + self.shadow_memory[node]), float(self.memory_capacity[node])
        )
        return float(self._mean(minimum(cpu, 1.0), minimum(memory, 1.0)))

    def _mean(self, cpu: FloatLike, memory: FloatLike) -> FloatLike:
        of_cpu, of_memory = self.weights
        return (cpu * of_cpu + memory * of_memory) / (of_cpu + of_memory or 1)
