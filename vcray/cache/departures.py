"""Evictions that were decided and not yet seen in the watch: until then the pod counts as Releasing on its node.

Else the next round, milliseconds later, would evict again for the same claim. A watch event that shows the pod being deleted,
gone or replaced is the final word; an eviction that was refused is forgotten by UID; one that nothing confirms expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vcray.core.tables import Status

STAYS: Final = (Status.BOUND, Status.RUNNING)
"""What the watch says of a pod that it does not know to be leaving."""


@dataclass(slots=True)
class Departure:
    """An eviction in flight; `hidden` is the pod's status as the watch last told it."""

    uid: str
    deadline: float
    hidden: int


class Departures:
    """Evictions in flight, by pod key."""

    def __init__(self) -> None:
        self._by_key: dict[str, Departure] = {}
        self._key_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def put(self, key: str, uid: str, deadline: float, hidden: int) -> None:
        """Note an eviction."""
        self._by_key[key] = Departure(uid, deadline, hidden)
        self._key_of[uid] = key

    def drop(self, key: str) -> None:
        """Forget the eviction of a pod."""
        found = self._by_key.pop(key, None)
        if found is not None:
            self._key_of.pop(found.uid, None)

    def told(self, key: str, uid: str, status: int) -> bool:
        """The watch tells of a pod: does it go on counting as Releasing?"""
        found = self._by_key.get(key)
        if found is None:
            return False
        if uid != found.uid or status not in STAYS:
            self.drop(key)
            return False
        found.hidden = status
        return True

    def take(self, uid: str) -> tuple[str, int] | None:
        """Forget an eviction that did not come to be: key and status of its pod."""
        key = self._key_of.get(uid)
        if key is None:
            return None
        hidden = self._by_key[key].hidden
        self.drop(key)
        return key, hidden

    def renew(self, uid: str, deadline: float) -> None:
        """Give the eviction of a pod another deadline."""
        key = self._key_of.get(uid)
        if key is not None:
            self._by_key[key].deadline = deadline

    def overdue(self, now: float) -> list[str]:
        """UIDs of evictions whose time is up, in the order of their keys."""
        return [item.uid for _, item in sorted(self._by_key.items()) if item.deadline <= now]
