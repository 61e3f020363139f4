"""Label sets of pods and the live selectors, each side indexed by the other.

A label set knows which live selectors it satisfies; that knowledge changes only where a selector comes or goes. Label
keys are indexed when the first selector asks for them, so labels that nobody selects on cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vcray.cache.interning import Interner, grown
from vcray.cache.labels import NOTHING, Labels, selects
from vcray.core.arrays import Int
from vcray.core.selectors import satisfies
from vcray.core.snapshot import SelectorSpec
from vcray.core.tables import Requirement

DEAD = SelectorSpec((), NOTHING)
"""Stands in the row of a selector that nobody reads any more: it selects nothing."""


class LabelSets:
    """Namespaced label sets by number. `match[id]` numbers in `matches` the rows of the selectors it satisfies."""

    def __init__(self) -> None:
        self.match: Int = np.zeros(64, np.int64)
        self.refs: Int = np.zeros(64, np.int64)
        self.matches: Interner[tuple[int, ...]] = Interner(((),))
        self._of: dict[tuple[str, Labels], int] = {}
        self._items: list[tuple[str, dict[str, str]]] = []
        self._keys: list[tuple[str, Labels]] = []
        self._sets: list[Labels] = []
        self._free: list[int] = []
        self._index: dict[str, dict[str, dict[int, None]]] = {}
        self.selectors: list[SelectorSpec] = []
        self.row_of: dict[SelectorSpec, int] = {}
        self._free_rows: list[int] = []
        self._asking: dict[tuple[str, str], dict[int, None]] = {}
        self._asking_all: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._items)

    def item(self, number: int) -> tuple[str, Labels]:
        """Namespace and labels."""
        return self._keys[number]

    def sets(self) -> tuple[Labels, ...]:
        """Labels by number; those of numbers that are free may be anything."""
        return tuple(self._sets)

    def number(self, namespaced: tuple[str, Labels]) -> int:
        """The number of a label set, new ones with their matches."""
        found = self._of.get(namespaced)
        if found is not None:
            return found
        namespace, labels = namespaced
        mapping = dict(labels)
        if self._free:
            number = self._free.pop()
            self._items[number], self._keys[number] = (namespace, mapping), namespaced
            self._sets[number] = labels
        else:
            number = len(self._items)
            self._items.append((namespace, mapping))
            self._keys.append(namespaced)
            self._sets.append(labels)
            self.match, self.refs = grown(self.match, number), grown(self.refs, number)
        self._of[namespaced] = number
        for key, by_value in self._index.items():
            if key in mapping:
                by_value.setdefault(mapping[key], {})[number] = None
        self.match[number] = self._matches_of(namespace, mapping)
        return number

    def numbers(self, several: Iterable[tuple[str, Labels]]) -> Int:
        """The numbers of several label sets."""
        get, number = self._of.get, self.number
        found = [(get(item), item) for item in several]
        return np.array([number(item) if known is None else known for known, item in found], np.int64)

    def release(self, numbers: Iterable[int]) -> None:
        """Forget those of the label sets that no pod has any more."""
        for number in dict.fromkeys(numbers):
            if self.refs[number] or self._of.get(self._keys[number]) != number:
                continue
            del self._of[self._keys[number]]
            mapping = self._items[number][1]
            for key, by_value in self._index.items():
                if key in mapping:
                    del by_value[mapping[key]][number]
                    if not by_value[mapping[key]]:
                        del by_value[mapping[key]]
            self._free.append(number)

    def selected(
        self, namespaces: tuple[str, ...] | None, requirements: tuple[Requirement, ...]
    ) -> list[int]:
        """Numbers of the label sets that the requirements select in these namespaces (None: in all)."""
        selector = SelectorSpec(namespaces, requirements)
        return [
            number for number in self._candidates(requirements) if selects(selector, *self._items[number])
        ]

    def _candidates(self, requirements: tuple[Requirement, ...]) -> list[int]:
        for requirement in requirements:
            if requirement.operator in ("In", "Exists"):
                by_value = self._by_value(requirement.key)
                values = requirement.values if requirement.operator == "In" else tuple(by_value)
                return [number for value in values for number in by_value.get(value, ())]
        return list(self._of.values())

    def _by_value(self, key: str) -> dict[str, dict[int, None]]:
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = {}
            for number in self._of.values():
                mapping = self._items[number][1]
                if key in mapping:
                    found.setdefault(mapping[key], {})[number] = None
        return found

    def add_selector(self, selector: SelectorSpec) -> list[int]:
        """Give a selector a row; the label sets that satisfy it."""
        if self._free_rows:
            row = self._free_rows.pop()
            self.selectors[row] = selector
        else:
            row = len(self.selectors)
            self.selectors.append(selector)
        self.row_of[selector] = row
        for place in self._places(selector):
            self._asking.setdefault(place, {})[row] = None
        if not self._places(selector):
            self._asking_all[row] = None
        found = self.selected(selector.namespaces, selector.requirements)
        for number in found:
            rows = (*self.matches.values[int(self.match[number])], row)
            self.match[number] = self.matches.number(tuple(sorted(rows)))
        return found

    def drop_selector(self, row: int) -> list[int]:
        """Take a selector out of all matches; the label sets that satisfied it. Its row is free after `free_row`."""
        selector = self.selectors[row]
        del self.row_of[selector]
        for place in self._places(selector):
            del self._asking[place][row]
            if not self._asking[place]:
                del self._asking[place]
        self._asking_all.pop(row, None)
        found = []
        for number in self._candidates(selector.requirements):
            rows = self.matches.values[int(self.match[number])]
            if row in rows:
                found.append(number)
                self.match[number] = self.matches.number(tuple(item for item in rows if item != row))
        self.selectors[row] = DEAD
        return found

    def free_row(self, row: int) -> None:
        """The row of a dropped selector may be given to another."""
        self._free_rows.append(row)

    def _places(self, selector: SelectorSpec) -> list[tuple[str, str]]:
        """Label pairs under which a selector is looked up: those of its first In requirement."""
        for requirement in selector.requirements:
            if requirement.operator == "In":
                return [(requirement.key, value) for value in requirement.values]
        return []

    def is_selected(self, namespace: str, labels: Labels) -> bool:
        """Does a live selector select pods of that namespace with these labels?"""
        known = self._of.get((namespace, labels))
        match = self._matches_of(namespace, dict(labels)) if known is None else int(self.match[known])
        return bool(self.matches.values[match])

    def _matches_of(self, namespace: str, labels: dict[str, str]) -> int:
        if not self.row_of:
            return 0
        rows = dict.fromkeys(row for pair in labels.items() for row in self._asking.get(pair, ()))
        found = [
            row
            for row in (*rows, *self._asking_all)
            if _in(self.selectors[row], namespace) and satisfies(self.selectors[row].requirements, labels)
        ]
        return self.matches.number(tuple(sorted(found)))

    def forget_selectors(self) -> None:
        """Start anew without any selector; label sets stay."""
        self.selectors, self.row_of, self._free_rows = [], {}, []
        self._asking, self._asking_all = {}, {}
        self.matches = Interner(((),))
        self.match[:] = 0


def _in(selector: SelectorSpec, namespace: str) -> bool:
    return selector.namespaces is None or namespace in selector.namespaces
