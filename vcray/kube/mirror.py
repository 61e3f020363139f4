"""A present copy of one resource, kept by a watch: what other clients call an informer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Generic, TypeVar

from vcray.api.meta import JsonObject
from vcray.api.wire import WireObject
from vcray.kube.watch import EventType, Watch, WatchEvent

T = TypeVar("T", bound=JsonObject | WireObject)

Handler = Callable[[WatchEvent[T], T | None], None]
"""Called with each event and the object as it was before; within the loop, so it must be quick and must not raise."""


class Mirror(Generic[T]):
    """Objects by `namespace/name`. Run it in one task; read it from the same event loop.

    Handlers are called after the store has changed, in the order they were added, also for SYNCED and RELIST.
    """

    def __init__(self, watch: Watch[T]) -> None:
        self.watch = watch
        self._objects: dict[str, T] = {}
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()

    @property
    def synced(self) -> bool:
        """True once the first list is in the store."""
        return self._synced.is_set()

    def add_handler(self, handler: Handler[T]) -> None:
        """Call `handler` on every event from now on; objects already known are told first, as ADDED."""
        self._handlers.append(handler)
        for key, obj in self._objects.items():
            handler(WatchEvent(EventType.ADDED, self.watch.resource_version, key, obj), None)

    def get(self, key: str) -> T | None:
        """One object by `namespace/name`, or the bare name of a cluster-scoped one."""
        return self._objects.get(key)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    async def run(self) -> None:
        """Follow the watch until cancelled."""
        async with aclosing(self.watch.events()) as events:
            async for event in events:
                self.apply(event)

    def apply(self, event: WatchEvent[T]) -> None:
        """Take one event in; `run` does this, a test may."""
        old = self._objects.get(event.key)
        if event.type is EventType.DELETED:
            self._objects.pop(event.key, None)
        elif event.object is not None:
            self._objects[event.key] = event.object
        elif event.type is EventType.BOOKMARK:
            return
        for handler in self._handlers:
            handler(event, old)
        if event.type is EventType.SYNCED:
            self._synced.set()

    async def wait_synced(self, timeout_s: float | None = None) -> None:
        """Return once the first list is in the store. Raises TimeoutError."""
        await asyncio.wait_for(self._synced.wait(), timeout_s)
