"""Shapes by row, how many pods have each, and what each adds to a node.

A shape nobody has is retired at once (its selectors may die with it) and its row given to another only after the node
sums have been brought up to date, since they are taken away by shape row.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeAlias

import numpy as np

from vcray.cache.interning import grown
from vcray.cache.resolve import plain
from vcray.core.arrays import Int
from vcray.core.snapshot import SelectorSpec
from vcray.core.space import ResourceSpace
from vcray.core.tables import HostPort, PodTerm, ShapeSpec

CounterKey: TypeAlias = tuple[str, HostPort | PodTerm | int]
"""What a counter row counts: ("port", HostPort), ("match", selector row), ("anti", term) or ("preferred", term)."""

Counted: TypeAlias = tuple[tuple[int, int, bool], ...]
"""(counter row, amount, only while not being deleted) of one shape."""

NO_SHAPE: Final = ShapeSpec(requests=())


class ShapeTable:
    """Interned shapes. Columns are by shape row; counters are rows of `NodeSums.counter`."""

    def __init__(self, space: ResourceSpace, selectors: list[SelectorSpec]) -> None:
        self.space = space
        self.selectors = selectors
        self.specs: list[ShapeSpec] = []
        self.request: Int = np.zeros((len(space), 64), np.int64)
        self.floor: Int = np.zeros((2, 64), np.int64)
        self.refs: Int = np.zeros(64, np.int64)
        self.counts: Int = np.zeros(64, np.int64)
        self.counted: list[Counted] = []
        self.reads: list[tuple[int, ...]] = []
        self.selector_refs: dict[int, int] = {}
        self.counters = 0
        self.counter_of: dict[CounterKey, int] = {}
        self._row_of: dict[ShapeSpec, int] = {}
        self._cache: dict[Hashable, int] = {}
        self._cached: list[list[Hashable]] = []
        self._counter_refs: dict[CounterKey, int] = {}
        self._free: list[int] = []
        self._free_counters: list[int] = []

    def __len__(self) -> int:
        return len(self.specs)

    def cached(self, key: Hashable) -> int | None:
        """The row found for this key before, if its shape is still there."""
        return self._cache.get(key)

    def row(self, key: Hashable, spec: ShapeSpec) -> int:
        """The row of a shape, a new one if need be; remembered under the key."""
        row = self._row_of.get(spec)
        if row is None:
            row = self._new(spec)
        self._cache[key] = row
        self._cached[row].append(key)
        return row

    def _new(self, spec: ShapeSpec) -> int:
        if self._free:
            row = self._free.pop()
            self.specs[row] = spec
            self._cached[row] = []
        else:
            row = len(self.specs)
            self.specs.append(spec)
            self._cached.append([])
            self.counted.append(())
            self.reads.append(())
            self.request, self.floor = grown(self.request, row), grown(self.floor, row)
            self.refs, self.counts = grown(self.refs, row), grown(self.counts, row)
        self._row_of[spec] = row
        self.request[:, row] = self.space.vector(dict(spec.requests))
        self.floor[:, row] = spec.floor
        self.refs[row] = 0
        read = [term.selector for term in (*spec.affinity, *spec.anti_affinity, *spec.preferred)]
        self.reads[row] = tuple(dict.fromkeys([*read, *(term.selector for term in spec.spread)]))
        for selector in self.reads[row]:
            self.selector_refs[selector] = self.selector_refs.get(selector, 0) + 1
        self.counted[row] = self._counted(spec)
        self.counts[row] = len(self.counted[row])
        return row

    def _keys(self, spec: ShapeSpec) -> list[tuple[CounterKey, int, bool]]:
        keys: list[tuple[CounterKey, int, bool]] = [(("port", port), 1, False) for port in spec.ports]
        keys += [(("match", row), 1, self.selectors[row].living) for row in spec.matches]
        keys += [(("anti", term), 1, False) for term in dict.fromkeys(map(plain, spec.anti_affinity))]
        return keys + [(("preferred", plain(term)), term.weight, False) for term in spec.preferred]

    def _counted(self, spec: ShapeSpec) -> Counted:
        found: list[tuple[int, int, bool]] = []
        for key, amount, living in self._keys(spec):
            found.append((self._counter(key), amount, living))
            self._counter_refs[key] = self._counter_refs.get(key, 0) + 1
        return tuple(found)

    def _counter(self, key: CounterKey) -> int:
        found = self.counter_of.get(key)
        if found is None:
            if self._free_counters:
                found = self._free_counters.pop()
            else:
                found = self.counters
                self.counters += 1
            self.counter_of[key] = found
        return found

    def retire(self, rows: list[int]) -> list[int]:
        """Of these rows, those that no pod has: no longer found. Their rows are free after `release`."""
        idle = [
            row
            for row in dict.fromkeys(rows)
            if not self.refs[row] and self._row_of.get(self.specs[row]) == row
        ]
        for row in idle:
            del self._row_of[self.specs[row]]
            for key in self._cached[row]:
                self._cache.pop(key, None)
            for selector in self.reads[row]:
                self.selector_refs[selector] -= 1
        return idle

    def release(self, rows: list[int]) -> None:
        """Give retired rows, and the counters that only they had, to others."""
        for row in rows:
            for key, _, _ in self._keys(self.specs[row]):
                self._counter_refs[key] -= 1
                if not self._counter_refs[key]:
                    del self._counter_refs[key]
                    self._free_counters.append(self.counter_of.pop(key))
            self.specs[row], self.counted[row], self.counts[row] = NO_SHAPE, (), 0
            self._free.append(row)
