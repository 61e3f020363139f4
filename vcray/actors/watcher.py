"""Lists, then watches one resource, and feeds what it sees to actors in batches.

It decodes at the edge and holds no state: whatever it is told twice, the receivers recognise by resourceVersion. One task
reads, one feeds; what comes while the receiver is busy goes on together, so batches grow with the load.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeAlias

from vcray.actors.messages import (
    Message,
    NodeChange,
    NodeChanges,
    ObjectChange,
    ObjectChanges,
    PodChange,
    PodChanges,
    Synced,
)
from vcray.actors.runtime import Handle
from vcray.api.meta import JsonObject
from vcray.api.wire import Node, Pod
from vcray.kube.watch import EventType, Watch, WatchEvent
from vcray.metrics import Metrics

BACKLOG = 4096
"""Events read ahead of the receiver; then the reader waits, and with it the server's stream."""

AnyWatch: TypeAlias = Watch[Pod] | Watch[Node] | Watch[JsonObject]
AnyEvent: TypeAlias = WatchEvent[Pod] | WatchEvent[Node] | WatchEvent[JsonObject]

_CHANGES = (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)


class Watcher:
    """One resource, some receivers; `run` ends only by being cancelled."""

    def __init__(
        self,
        watch: AnyWatch,
        targets: Sequence[Handle],
        metrics: Metrics,
    ) -> None:
        self._watch = watch
        self._targets = targets
        self._metrics = metrics
        self._name = watch.resource.full_name

    async def run(self) -> None:
        """Feed, for ever."""
        backlog: asyncio.Queue[AnyEvent]
        backlog = asyncio.Queue(BACKLOG)

        async def read() -> None:
            async for event in self._watch.events():
                await backlog.put(event)

        reader = asyncio.create_task(read(), name=f"read {self._name}")
        try:
            while True:
                events = [await _next(backlog, reader)]
                while not backlog.empty():
                    events.append(backlog.get_nowait())
                await self._feed(events)
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _feed(self, events: Sequence[AnyEvent]) -> None:
        message = self._message(events)
        synced = any(event.type is EventType.SYNCED for event in events)
        relists = sum(event.type is EventType.RELIST for event in events)
        if relists:
            self._metrics.watch_relists.labels(resource=self._name).inc(relists)
        for target in self._targets:
            if message is not None:
                await target.send(message)
            if synced:
                await target.send(Synced(self._name))

    def _message(self, events: Sequence[AnyEvent]) -> Message | None:
        pods, nodes, objects = [], [], []
        for event in events:
            if event.type not in _CHANGES:
                continue
            if isinstance(event.object, Pod):
                pods.append(PodChange(event.type.value, event.object))
            elif isinstance(event.object, Node):
                nodes.append(NodeChange(event.type.value, event.object))
            elif event.object is not None:
                objects.append(ObjectChange(event.type.value, event.object))
        if pods:
            return PodChanges(tuple(pods))
        if nodes:
            return NodeChanges(tuple(nodes))
        return ObjectChanges(self._name, tuple(objects)) if objects else None


async def _next(backlog: asyncio.Queue[AnyEvent], reader: asyncio.Task[None]) -> AnyEvent:
    """The next event; the reader's failure when it has ended."""
    taking = asyncio.create_task(backlog.get())
    try:
        await asyncio.wait({taking, reader}, return_when=asyncio.FIRST_COMPLETED)
        if not taking.done():
            reader.result()
            raise RuntimeError("the watch ended")
        return taking.result()
    finally:
        taking.cancel()
