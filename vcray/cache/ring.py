"""Which of several schedulers owns a name: Volcano's consistent hash ring, so that old and new replicas agree.

Each replica has 20 points, the CRC-32 (IEEE) of the point's number written before the replica's name. A key belongs to the
first point above its own CRC-32, and past the last point to the lowest.
"""

from __future__ import annotations

from bisect import bisect_right
from zlib import crc32

POINTS = 20


class Ring:
    """A ring of replicas, seen from one of them."""

    def __init__(self, own: str, replicas: tuple[str, ...]) -> None:
        self.own = own
        owners = {
            crc32(f"{point}{replica}".encode()): replica for replica in replicas for point in range(POINTS)
        }
        self._points = sorted(owners)
        self._owners = [owners[point] for point in self._points]

    @staticmethod
    def of(pod_name: str, count: str) -> Ring:
        """The ring of the replicas of a StatefulSet's pod; a count that is no whole number is 1."""
        stem = pod_name.rpartition("-")[0]
        return Ring(pod_name, tuple(f"{stem}-{index}" for index in range(_count(count))))

    def owner(self, key: str) -> str:
        """The replica that a key belongs to; empty on a ring without replicas."""
        if not self._points:
            return ""
        return self._owners[bisect_right(self._points, crc32(key.encode())) % len(self._points)]

    def owns(self, key: str) -> bool:
        """Does the key belong to this replica?"""
        return self.owner(key) == self.own


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 1
