"""Keys that want attention, each worked on by one worker at a time: how every level-triggered controller takes its turns.

A key that is added while it is worked on is worked on once more afterwards, one that is added often in between counts
once. What fails comes back with a growing delay. All delays are one heap with one sleeper, so a hundred thousand
waiting keys cost a hundred thousand heap entries and no task.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from vcray.clock import WallClock
from vcray.errors import VcrayError
from vcray.kube.errors import Conflict
from vcray.log import get_logger

K = TypeVar("K", bound=Hashable)
Work = Callable[[K], Awaitable[float | None]]
"""One turn of a key; returns the seconds after which it wants another, or None."""

log = get_logger("workqueue")

FIRST_RETRY_S, LAST_RETRY_S = 0.01, 30.0
DOUBLINGS = 30
"""After so many failures a retry comes no later: a key may fail for days, and a power of two outgrow a float."""
TOLD_AFTER = 5
"""Failures in a row of one key after which the log says so."""


class Time(Protocol):
    """Wall time, or a stand-in that a test moves."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemTime:
    """The machine's clock and asyncio's sleep."""

    def __init__(self) -> None:
        self._clock = WallClock()

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Timers(Generic[K]):
    """Calls `fire` with each key at its time; of several times for one key the earliest holds."""

    def __init__(self, time: Time, fire: Callable[[K], None]) -> None:
        self._time = time
        self._fire = fire
        self._heap: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._order = itertools.count()
        self._sleeper: asyncio.Task[None] | None = None
        self._wakes_at = 0.0

    def __len__(self) -> int:
        return len(self._due)

    def at(self, key: K, due: float) -> None:
        """Fire `key` at `due` (seconds since the epoch), unless it is to be fired before."""
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        if self._sleeper is None or due < self._wakes_at:
            self._sleep_until(due)

    def cancel(self, key: K) -> None:
        """Forget the time of a key."""
        self._due.pop(key, None)

    def stop(self) -> None:
        """Forget all times."""
        self._due.clear()
        self._heap.clear()
        if self._sleeper is not None:
            self._sleeper.cancel()
            self._sleeper = None

    def _sleep_until(self, due: float) -> None:
        if self._sleeper is not None:
            self._sleeper.cancel()
        self._wakes_at = due
        self._sleeper = asyncio.get_running_loop().create_task(self._run(due))

    async def _run(self, due: float) -> None:
        while True:
            await self._time.sleep(max(0.0, due - self._time.now()))
            now = self._time.now()
            while self._heap and self._heap[0][0] <= now:
                at, _, key = heapq.heappop(self._heap)
                if self._due.get(key) == at:
                    del self._due[key]
                    self._fire(key)
            if not self._heap:
                self._sleeper = None
                return
            due = self._wakes_at = self._heap[0][0]


class WorkQueue(Generic[K]):
    """Calls `work` for each key that was added, over `workers` tasks.

    Refusals of the API server and outages are tried again later; any other exception is a fault, is told with its traceback
    and costs only its key a long wait. `failures` counts both for statistics.
    """

    def __init__(self, name: str, time: Time, work: Work[K], workers: int = 4) -> None:
        self.name = name
        self.failures = 0
        self.timers: Timers[K] = Timers(time, self.add)
        self._time = time
        self._work = work
        self._workers = workers
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._busy: set[K] = set()
        self._failed: dict[K, int] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to work; keys may have been added before."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(), name=f"{self.name}-{number}") for number in range(self._workers)
        ]

    async def stop(self) -> None:
        """End all workers; what is being worked on is broken off."""
        self.timers.stop()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []

    def __len__(self) -> int:
        return len(self._dirty) + len(self._busy)

    @property
    def idle(self) -> bool:
        """True when nothing waits but timers."""
        return not self._dirty and not self._busy

    def add(self, key: K) -> None:
        """Ask for a turn of this key, as soon as may be."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._busy:
            self._put(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a turn in that many seconds."""
        self.timers.at(key, self._time.now() + seconds)

    def forget(self, key: K) -> None:
        """Drop what is remembered of a key that is gone: its timer and its failures."""
        self.timers.cancel(key)
        self._failed.pop(key, None)

    def _put(self, key: K) -> None:
        self._ready.append(key)
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break

    async def _run(self) -> None:
        while True:
            while not self._ready:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter
            key = self._ready.popleft()
            self._dirty.discard(key)
            self._busy.add(key)
            try:
                await self._turn(key)
            finally:
                self._busy.discard(key)
            if key in self._dirty:
                self._put(key)
            await asyncio.sleep(0)  # work on an in-process server never waits: let others have a turn

    async def _turn(self, key: K) -> None:
        try:
            again = await self._work(key)
        except VcrayError as error:
            self.failures += 1
            count = self._failed[key] = self._failed.get(key, 0) + 1
            if count == TOLD_AFTER and not isinstance(error, Conflict):
                log.warning("cannot finish, trying on", queue=self.name, key=str(key), why=str(error))
            self.add_after(key, min(FIRST_RETRY_S * 2 ** min(count - 1, DOUBLINGS), LAST_RETRY_S))
            return
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopping():
                raise
            self.failures += 1
            log.exception("a turn has failed; it is tried again in a while", queue=self.name, key=str(key))
            self.add_after(key, LAST_RETRY_S)
            return
        if self._failed:
            self._failed.pop(key, None)
        if again is not None:
            self.add_after(key, again)


def _is_stopping() -> bool:
    """True when this worker itself is cancelled, rather than a task that its turn waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
