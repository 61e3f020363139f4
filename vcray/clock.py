"""Time as a thing that is passed in.

Pure code receives `now` as a number (seconds since the epoch); actors and servers hold a `Clock`.
Tests and the simulator hold a `ManualClock` that moves only when told.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch."""

    def now(self) -> float: ...


class WallClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()


class ManualClock:
    """A clock that a test or the simulator advances by hand."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward; time never runs backwards."""
        if seconds < 0:
            raise ValueError(f"cannot advance a clock by {seconds} s")
        self._now += seconds


def rfc3339(seconds: float) -> str:
    """Kubernetes' wire form of a time, whole seconds in UTC: `2026-01-02T03:04:05Z`."""
    return _spoken(int(seconds))


@lru_cache(maxsize=256)
def _spoken(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
