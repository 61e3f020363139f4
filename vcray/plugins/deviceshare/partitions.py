"""Parts of partitioned (MIG) cards: the smallest instance that is large enough, in a geometry that the card can still take.

A card without any part in use may take each of its geometries, the first that has such an instance; from then on it keeps it
until its last pod is gone.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from vcray.core.cards import MigGroup, MigInstance, MigModel


class Instance(NamedTuple):
    """An instance of a geometry: where it stands and how much memory it has."""

    geometry: str
    place: int
    memory: int


def geometries_of(kind: str, models: tuple[MigModel, ...]) -> tuple[MigGroup, ...]:
    """Geometries of a card of that type; none when no model is known."""
    for model in models:
        if any(name in kind for name in model.models):
            return model.groups
    return ()


def find(
    groups: tuple[MigGroup, ...], fixed: str, taken: Set[int], memory: int, profile: str = ""
) -> Instance | None:
    """An instance with at least that much memory (of that profile, when one is named); `fixed`: the geometry in use."""
    for group in groups:
        if fixed and group.name != fixed:
            continue
        found = _in_group(group, taken if fixed else frozenset(), memory, profile)
        if found is not None:
            return found
    return None


def _in_group(group: MigGroup, taken: Set[int], memory: int, profile: str) -> Instance | None:
    places = {}
    start = 0
    for instance in group.instances:
        places[start] = instance
        start += instance.count
    by_size: list[tuple[int, MigInstance]] = sorted(places.items(), key=lambda item: item[1].memory)
    for first, instance in by_size:
        if instance.memory < memory or (profile and instance.name != profile):
            continue
        for place in range(first, first + instance.count):
            if place not in taken:
                return Instance(group.name, place, instance.memory)
    return None


def memory_at(groups: tuple[MigGroup, ...], geometry: str, place: int) -> int:
    """Memory of the instance at a place of a geometry; 0 when there is none."""
    for group in groups:
        if group.name == geometry:
            start = 0
            for instance in group.instances:
                start += instance.count
                if place < start:
                    return instance.memory
    return 0
