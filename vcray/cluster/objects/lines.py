"""The lines on their way to one watcher: put in by whoever changes objects, taken out by whoever writes to the client."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Lines:
    """A queue of bytes with an end. With a `limit`, a reader that falls behind by more lines is cut off, by `cut`."""

    def __init__(self, limit: int = 0) -> None:
        self.cut: Callable[[], None] | None = None
        self._items: deque[bytes | None] = deque()
        self._limit = limit
        self._waiter: asyncio.Future[None] | None = None
        self.overrun = False

    def put(self, item: bytes | None) -> None:
        """Add a line, or with None the end."""
        if self.overrun:
            return
        if self._limit and len(self._items) >= self._limit:
            self.overrun = True
            self._items.clear()
            item = None
            if self.cut is not None:
                self.cut()
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def empty(self) -> bool:
        """Whether everything has been taken."""
        return not self._items

    def take(self) -> list[bytes | None]:
        """All lines that are there, without waiting; None marks the end."""
        taken = list(self._items)
        self._items.clear()
        return taken

    async def some(self) -> None:
        """Wait until there is a line, or the end."""
        while not self._items:
            await self._wait()

    async def next(self) -> bytes | None:
        """The next line; None at the end."""
        await self.some()
        return self._items.popleft()

    async def batch(self, size: int) -> list[bytes | None]:
        """The next lines, at least one, as many as there are up to about `size` bytes; None marks the end."""
        await self.some()
        taken: list[bytes | None] = []
        left = size
        while self._items and left > 0:
            item = self._items.popleft()
            taken.append(item)
            if item is None:
                break
            left -= len(item)
        return taken

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
