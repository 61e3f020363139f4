"""Watch events, and the newest version of each object whatever the order in which they come.

Events may be late, repeated or out of order. The larger resourceVersion wins; at the same version a deletion wins.
A deletion leaves a tombstone, so that an older event cannot bring the object back. Objects without a
resourceVersion (plain manifests) count as newer than all before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from vcray.api.meta import JsonObject
from vcray.api.wire import WireObject

T = TypeVar("T")

KubeObject: TypeAlias = JsonObject | WireObject
"""An object as a watcher decodes it: a typed struct where there is one, else JSON."""

TOMBSTONES = 65536
"""How many deletions are remembered; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Event:
    """One change: `type` ADDED, MODIFIED or DELETED (with the last known object), the kind, the object."""

    type: str
    kind: str
    object: KubeObject


def version_of(text: str) -> int:
    """A resourceVersion as a number; 0 when it is missing or no number."""
    return int(text) if text.isascii() and text.isdecimal() else 0


class Tombstones:
    """Versions at which keys were deleted."""

    def __init__(self) -> None:
        self._gone: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._gone)

    def put(self, key: str, version: int) -> None:
        """Remember a deletion; without a version there is nothing to compare later."""
        if version > self._gone.get(key, 0):
            self._gone.pop(key, None)
            self._gone[key] = version
            if len(self._gone) > TOMBSTONES:
                del self._gone[next(iter(self._gone))]

    def covers(self, key: str, version: int) -> bool:
        """Was the key deleted at this version or later?"""
        return 0 < version <= self._gone.get(key, 0)

    def forget(self, key: str) -> None:
        """The key is there again."""
        self._gone.pop(key, None)


class Store(Generic[T]):
    """The newest value of each key."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[int, T]] = {}
        self._gone = Tombstones()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        """Values in the order in which their keys came; sort what you make of them."""
        return (value for _, value in self._values.values())

    def items(self) -> Iterator[tuple[str, int, T]]:
        """(key, version, value) in the order in which the keys came."""
        return ((key, version, value) for key, (version, value) in self._values.items())

    def get(self, key: str) -> T | None:
        """The value of a key."""
        entry = self._values.get(key)
        return entry[1] if entry else None

    def outdates(self, key: str, version: int) -> bool:
        """Is something newer than this version kept?"""
        known = self._values.get(key)
        return known is not None and 0 < version < known[0]

    def put(self, key: str, version: int, value: T) -> bool:
        """Keep the value unless something newer is known; tells whether it was kept."""
        if self.outdates(key, version) or self._gone.covers(key, version):
            return False
        self._gone.forget(key)
        self._values[key] = (version, value)
        return True

    def drop(self, key: str, version: int) -> bool:
        """Forget a key deleted at that version; tells whether it was there."""
        if self.outdates(key, version):
            return False
        self._gone.put(key, version)
        return self._values.pop(key, None) is not None

    def move_away(self, key: str) -> bool:
        """Forget a key that another store keeps from now on; nothing is remembered of it."""
        return self._values.pop(key, None) is not None
