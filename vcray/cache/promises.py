"""What decisions gave away of volumes and devices, until the API server's objects say so themselves.

A binding that must write to claims first takes a while, and its watch events come in any order: a volume or device that is
promised is nobody else's until its own object shows the claim, or the placement is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vcray.core.decisions import Preparation

PROMISES: Final = "promise"
"""The kind that tables look at which show promises (`vcray.cache.details`)."""


class Promises:
    """Preparations of placements by pod UID, in the order in which they were decided."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Preparation] = {}

    def __len__(self) -> int:
        return len(self._by_uid)

    def __iter__(self) -> Iterator[tuple[str, Preparation]]:
        return iter(self._by_uid.items())

    def put(self, uid: str, before: Preparation) -> None:
        """A placement was decided."""
        self._by_uid.pop(uid, None)
        self._by_uid[uid] = before

    def drop(self, uid: str) -> bool:
        """A placement came to nothing; was there anything?"""
        return self._by_uid.pop(uid, None) is not None

    def keep(self, owed: Callable[[str, Preparation], bool]) -> None:
        """Leave out those of which the objects tell all by now (pod UID, preparation)."""
        self._by_uid = {uid: before for uid, before in self._by_uid.items() if owed(uid, before)}
