"""Resource names <-> rows of the (R, ...) tables, and the unit of each row.

Amounts are exact int64: cpu in milli, memory, ephemeral-storage and hugepages in bytes, attachable volumes
and `pods` in whole counts, every other resource in milli (one GPU is 1000). Loading checks that totals stay
under 2**62, so sums cannot wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from vcray.core.arrays import Int

CPU, MEMORY, PODS = 0, 1, 2
"""The rows that every space has, in this order."""

FIRST = ("cpu", "memory", "pods")


@dataclass(frozen=True, slots=True)
class ResourceSpace:
    """The resources of a snapshot: `cpu`, `memory`, `pods`, then all others in name order."""

    names: tuple[str, ...]
    rows: Mapping[str, int] = field(compare=False, repr=False)

    @staticmethod
    def of(names: Iterable[str]) -> ResourceSpace:
        """A space with the three fixed rows and the given names (duplicates allowed)."""
        ordered = FIRST + tuple(sorted(set(names) - set(FIRST)))
        return ResourceSpace(ordered, {name: row for row, name in enumerate(ordered)})

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> int | None:
        """Row of a resource, None when no object of the snapshot names it."""
        return self.rows.get(name)

    def vector(self, amounts: Mapping[str, int]) -> Int:
        """(R,) amounts; names outside the space raise KeyError."""
        out = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in amounts.items():
            out[self.rows[name]] = amount
        return out

    def amounts(self, vector: Int) -> dict[str, int]:
        """The non-zero amounts of a (R,) vector by name."""
        return {self.names[row]: int(vector[row]) for row in np.flatnonzero(vector)}
