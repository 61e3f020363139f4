"""Requests that are carried to their end, whatever becomes of who asked for them.

A write that is broken off half-way may or may not have happened. So whoever stops waits for its writes: the next one to act,
often another process that has just got the lease, must find their result in the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")

LAST_WORDS_S = 10.0
"""How long a stop waits for requests that are under way."""


class UnderWay:
    """The requests of one actor."""

    def __init__(self) -> None:
        self._requests: set[asyncio.Future[Any]] = set()

    async def to_its_end(self, request: Awaitable[T]) -> T:
        """Carry out a request; it goes on when the caller is cancelled."""
        future = asyncio.ensure_future(request)
        self._requests.add(future)
        future.add_done_callback(self._ended)
        return await asyncio.shield(future)

    async def finish(self) -> None:
        """Wait for all that is under way."""
        if self._requests:
            await asyncio.wait(self._requests, timeout=LAST_WORDS_S)

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._requests.discard(future)
        if not future.cancelled():
            future.exception()  # told to who asked, if it still listens
