"""Source `label`: nodes say with their labels what they are near to.

Each type of network names labels from the widest to the narrowest, and at the end the one that names the node itself, which is
left out. All nodes with one value of the narrowest make a HyperNode of tier 1; those with one value of the next make one of tier 2,
whose members are HyperNodes of tier 1, and so on. A node climbs as far as it has labels without a gap.

A HyperNode keeps its name as long as it exists, since it is found by its labels. A new one's name ends in five letters that come
from what it stands for, where Volcano throws dice: a look that is cut short and begun again finds the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from vcray.api import names, suffixes
from vcray.api.resources import HYPERNODES, NODES
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.controllers.hypernode.discovery import Discovery, Found

SOURCE: Final = "label"
LONGEST_TYPE: Final = 20
_SUFFIX: Final = 5


@dataclass(frozen=True, slots=True)
class LabelDiscoverer:
    """`types`: name of a type of network -> its labels from tier 1 upwards."""

    types: Mapping[str, tuple[str, ...]]
    interval_s: float = 0.0

    def wakes(self, change: Change) -> bool:
        """A node with such labels comes, goes or changes them, or a HyperNode is gone."""
        if change.resource == HYPERNODES:
            return change.new is None
        if change.resource != NODES:
            return False
        before = {} if change.old is None or change.new is None else self._of(raw.labels_of(change.old))
        return before != self._of(raw.labels_of(change.object))

    def discover(self, seen: Seen) -> Discovery:
        """All HyperNodes that the labels of the present nodes make."""
        yield from ()
        places = _Places(seen)
        for node in seen.list(NODES):
            labels = raw.labels_of(node)
            for kind in sorted(self.types):
                member = raw.name(node)
                for tier, key in enumerate(self.types[kind], start=1):
                    if key not in labels:
                        break
                    member = places.add(kind, tier, key, labels[key], member)
        return places.found()

    def _of(self, labels: Mapping[str, str]) -> dict[str, str]:
        return {key: labels[key] for keys in self.types.values() for key in keys if key in labels}


@dataclass(slots=True)
class _Place:
    name: str
    tier: int
    members: set[str] = field(default_factory=set)


class _Places:
    """HyperNodes in the making, by label, value and tier: two types that share a label share its HyperNodes."""

    def __init__(self, seen: Seen) -> None:
        self._places: dict[tuple[str, str, int], _Place] = {}
        self._taken: set[str] = set()
        self._own: dict[tuple[str, str], list[str]] = {}
        for each in seen.list(HYPERNODES):
            self._taken.add(raw.name(each))
            labels = raw.labels_of(each)
            if labels.get(names.NETWORK_TOPOLOGY_SOURCE) == SOURCE:
                for pair in labels.items():
                    self._own.setdefault(pair, []).append(raw.name(each))

    def add(self, kind: str, tier: int, key: str, value: str, member: str) -> str:
        """Put a member into its HyperNode; the name of that."""
        place = self._places.get((key, value, tier))
        if place is None:
            name = self._named(f"hypernode-{cleaned(kind)}-tier{tier}-", key, value)
            self._taken.add(name)
            place = self._places[key, value, tier] = _Place(name, tier)
        place.members.add(member)
        return place.name

    def _named(self, prefix: str, key: str, value: str) -> str:
        for name in sorted(self._own.get((key, value), ())):
            if name.startswith(prefix):
                return name
        return next(name for name in _candidates(prefix, key, value) if name not in self._taken)

    def found(self) -> tuple[Found, ...]:
        return tuple(
            Found(place.name, tier, frozenset(place.members), key, {key: value})
            for (key, value, tier), place in self._places.items()
        )


def cleaned(kind: str) -> str:
    """A type as a part of a name: letters in lower case, digits, dots and dashes stay, all else becomes a dash."""
    return "".join(
        each.lower() if each.isascii() and (each.isalnum() or each in ".-") else "-" for each in kind
    )


def _candidates(prefix: str, key: str, value: str) -> Iterator[str]:
    """Names for what stands for a value of a label, for ever."""
    salt = 0
    while True:
        yield prefix + suffixes.of_content(f"{prefix}\0{key}\0{value}\0{salt}".encode(), _SUFFIX)
        salt += 1
