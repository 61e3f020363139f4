"""Calls back at the earliest of the moments that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TypeAlias

from vcray.actors.runtime import Time

Starter: TypeAlias = Callable[[Coroutine[object, object, None], str], None]
"""Runs a coroutine in the background, under a name."""


class Reminder:
    """`ring` is called when the time comes; `start` runs what waits for it."""

    def __init__(self, time: Time, ring: Callable[[], None], start: Starter) -> None:
        self._time = time
        self._ring = ring
        self._start = start
        self._next: float | None = None

    def by(self, moment: float | None) -> None:
        """At that moment at the latest; None: no need."""
        if moment is not None and (self._next is None or moment < self._next):
            self._next = moment
            self._start(self._wait(moment), "reminder")

    async def _wait(self, moment: float) -> None:
        await self._time.sleep(max(0.0, moment - self._time.now()))
        if self._next == moment:
            self._next = None
        self._ring()
