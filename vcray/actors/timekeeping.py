"""Wall time and virtual time behind one protocol.

`VirtualTime` moves only when told, and then from one sleeper's due time to the next, so timers that set timers fire in the
right order and no test waits.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable

from vcray.clock import ManualClock, WallClock


class WallTime:
    """The machine's clock and asyncio's sleep."""

    def __init__(self) -> None:
        self._clock = WallClock()

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualTime:
    """A clock that a test or the simulator moves; sleepers wake in order of their due time."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._clock = ManualClock(start)
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now() + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float, settle: Callable[[], Awaitable[None]]) -> None:
        """Move forward; `settle` is awaited after each moment at which someone wakes, and at the end."""
        end = self.now() + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due = self._sleepers[0][0]
            self._clock.advance(max(0.0, due - self.now()))
            while self._sleepers and self._sleepers[0][0] <= due:
                _, _, future = heapq.heappop(self._sleepers)
                if not future.done():
                    future.set_result(None)
            await settle()
        self._clock.advance(end - self.now())
        await settle()
