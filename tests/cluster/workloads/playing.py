"""A test as a plain function in a world that is made for it and ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar


class World(Protocol):
    """A store with whatever acts on it."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


W = TypeVar("W", bound=World)


def play(test: Callable[[W], Awaitable[None]], make: Callable[[], W]) -> Callable[[], None]:
    """Run a test in a world of its own, in an event loop of its own."""

    async def whole() -> None:
        world = make()
        await world.start()
        try:
            await test(world)
        finally:
            await world.stop()

    def wrapped() -> None:
        asyncio.run(whole())

    wrapped.__name__ = test.__name__
    return wrapped
