"""Placements that were decided and not yet seen in the watch: until then the pod counts as Binding on its node.

A watch event that shows the pod with a node, or otherwise moved on, is the final word; a refused binding is forgotten by
UID; one that is neither confirmed nor refused expires, and the pod waits again. Its time begins anew when the binder has
answered: a request that takes long is not lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vcray.core.arrays import Int
from vcray.core.tables import Notes

ASSUMED_S = 30.0
"""Seconds after the binder's answer after which an unconfirmed placement is given up."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """A placement in flight; `hidden` is the pod's own column (fields of a delta) as the watch last told it;
    `notes` are the annotations that go out with the binding."""

    key: str
    uid: str
    node: str
    patience_s: float
    deadline: float
    hidden: Int
    notes: Notes = ()


class Assumptions:
    """Placements in flight, by pod key."""

    def __init__(self) -> None:
        self._by_key: dict[str, Assumption] = {}
        self._key_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def get(self, key: str) -> Assumption | None:
        """The placement in flight of a pod."""
        return self._by_key.get(key)

    def put(self, assumption: Assumption) -> None:
        """Note a placement; it replaces an earlier one of the pod."""
        self.drop(assumption.key)
        self._by_key[assumption.key] = assumption
        self._key_of[assumption.uid] = assumption.key

    def drop(self, key: str) -> Assumption | None:
        """Forget the placement of a pod."""
        found = self._by_key.pop(key, None)
        if found is not None:
            self._key_of.pop(found.uid, None)
        return found

    def of_uid(self, uid: str) -> Assumption | None:
        """The placement in flight of the pod with that UID."""
        key = self._key_of.get(uid)
        return self._by_key[key] if key is not None else None

    def renew(self, uid: str, now: float) -> None:
        """Begin the time of a pod's placement anew."""
        found = self.of_uid(uid)
        if found is not None:
            self._by_key[found.key] = replace(found, deadline=now + found.patience_s)

    def hidden(self) -> list[Int]:
        """The hidden columns of all placements, to be numbered anew in place."""
        return [item.hidden for item in self._by_key.values()]

    def overdue(self, now: float) -> list[Assumption]:
        """Placements whose time is up, in the order of their keys."""
        found = [item for item in self._by_key.values() if item.deadline <= now]
        return sorted(found, key=lambda item: item.key)
