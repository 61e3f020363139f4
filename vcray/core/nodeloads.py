"""Measured loads and capacities of nodes by row of a snapshot."""

from __future__ import annotations

import numpy as np

from vcray.core.snapshot import Snapshot
from vcray.core.space import CPU, MEMORY
from vcray.core.usage import FRESH_S, UsageTable


class NodeLoads:
    """(N,) columns: `cpu`, `memory` in per cent, `at` when that was so, `known`: measured, and not too old.

    `cpu_capacity` (milli), `memory_capacity` (bytes) are status.capacity with oversubscription."""

    def __init__(self, snapshot: Snapshot) -> None:
        nodes, table = snapshot.nodes, snapshot.details.usage or UsageTable()
        size = len(nodes)
        self.cpu, self.memory, self.at = np.zeros(size), np.zeros(size), np.zeros(size)
        self.known = np.zeros(size, dtype=np.bool_)
        if table.others_at is not None:
            self.at[:] = table.others_at
            self.known[:] = snapshot.now - table.others_at <= FRESH_S
        row_of = (
            {name: row for row, name in enumerate(nodes.names)} if table.loads or self.known.any() else {}
        )
        for load in table.loads:
            row = row_of.get(load.node)
            if row is not None:
                self.cpu[row], self.memory[row], self.at[row] = load.cpu, load.memory, load.at
                self.known[row] = snapshot.now - load.at <= FRESH_S
        self.any = bool(self.known.any())
        self.cpu_capacity = nodes.allocatable[CPU].astype(np.float64)
        self.memory_capacity = nodes.allocatable[MEMORY].astype(np.float64)
        capacities = snapshot.details.capacities
        for name, (cpu, memory) in capacities.of if capacities is not None and self.any else ():
            row = row_of.get(name)
            if row is not None:
                self.cpu_capacity[row], self.memory_capacity[row] = cpu, memory
