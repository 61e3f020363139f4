"""Waiting times between attempts: exponential, bounded, spread by a sequence instead of dice.

The spread comes from multiples of the golden ratio, which fill an interval evenly; two clients with different offsets
do not meet, and a test sees the same times on every run.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[object]]
"""`asyncio.sleep` or a test's stand-in."""

Jitter = Callable[[], float]
"""The next number of a spread in [0, 1)."""

_GOLDEN = 0.6180339887498949


def golden_jitter(offset: float | None = None) -> Jitter:
    """A spread that starts at `offset`; without one, at a place that depends on the process."""
    state = (os.getpid() * _GOLDEN) % 1.0 if offset is None else offset % 1.0

    def following() -> float:
        nonlocal state
        state = (state + _GOLDEN) % 1.0
        return state

    return following


class Backoff:
    """Delays `initial`, times `factor` each, at most `maximum`, each shortened by up to `spread` of itself."""

    def __init__(
        self,
        initial: float = 0.1,
        maximum: float = 30.0,
        factor: float = 2.0,
        spread: float = 0.5,
        jitter: Jitter | None = None,
    ) -> None:
        self._initial, self._maximum, self._factor, self._spread = initial, maximum, factor, spread
        self._jitter = jitter or golden_jitter()
        self._delay = initial

    def reset(self) -> None:
        """Start over after a success."""
        self._delay = self._initial

    def following(self) -> float:
        """Seconds to wait now; the next call answers more."""
        delay = self._delay
        self._delay = min(self._delay * self._factor, self._maximum)
        return delay * (1.0 - self._spread * self._jitter())
