"""No more requests a second than are allowed: Kubernetes clients' `qps` and `burst`, as a token bucket.

Requests that come too fast wait their turn in order; watches are one request each and then free.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from vcray.clock import Clock, WallClock
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport


class PacedTransport(PassingTransport):
    """At most `burst` requests at once, and `qps` a second on the long run."""

    def __init__(
        self,
        transport: Transport,
        qps: float,
        burst: int,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(transport)
        self._gap_s = 1.0 / qps
        self._slack_s = (max(burst, 1) - 1) * self._gap_s
        self._clock = clock or WallClock()
        self._sleep = sleep
        self._next = (
            self._clock.now() - self._slack_s
        )  # when the next request would leave, did all leave evenly

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        await self._turn()
        return await self._transport.request(method, path, query, body, content_type)

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        await self._turn()
        async with contextlib.aclosing(self._transport.stream(path, query)) as lines:
            async for line in lines:
                yield line

    async def _turn(self) -> None:
        now = self._clock.now()
        at = max(self._next, now - self._slack_s)
        self._next = at + self._gap_s
        if at > now:
            await self._sleep(at - now)


def paced(transport: Transport, qps: float, burst: int) -> Transport:
    """The transport itself when `qps` is 0, else one that keeps to it."""
    return PacedTransport(transport, qps, burst) if qps > 0 else transport
