"""The cache as actors: a router in front, one shard per node pool and one for all other kinds behind it.

Both are thin: which shard sees an event and what a shard makes of it is decided by pure code (`vcray.cache.shard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vcray.actors.messages import (
    Changed,
    Mark,
    Message,
    NodeChange,
    NodeChanges,
    ObjectChange,
    ObjectChanges,
    Parcel,
    PodChange,
    PodChanges,
    ShardChanges,
    Synced,
)
from vcray.actors.runtime import Handle
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PODS
from vcray.api.wire import Node, Pod
from vcray.cache.shard import CacheShard, Router
from vcray.cache.store import Event
from vcray.log import get_logger

log = get_logger("cache")


def sources(resources: Iterable[str], pools: int) -> set[tuple[str, int]]:
    """(resource, shard) pairs whose `Synced` the coordinator must hear before it may decide."""
    spread = (PODS.full_name, NODES.full_name)
    return {
        (resource, shard)
        for resource in resources
        for shard in (range(pools) if resource in spread else (pools,))
    }


class RouterActor:
    """Sends each change to the shards that must see it. `shards` are the pools' in order, then the cluster shard."""

    def __init__(self, router: Router, shards: Sequence[Handle]) -> None:
        self._router = router
        self._shards = shards

    async def start(self) -> None:
        """Nothing to prepare."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    async def receive(self, message: Message) -> Message | None:
        match message:
            case PodChanges(changes=pods):
                await self._route(Event(change.type, "Pod", change.pod) for change in pods)
            case NodeChanges(changes=nodes):
                await self._route(Event(change.type, "Node", change.node) for change in nodes)
            case ObjectChanges(changes=objects):
                await self._route(
                    Event(each.type, str(each.object.get("kind")), each.object) for each in objects
                )
            case Synced(resource=resource):
                for shard, handle in enumerate(self._shards):
                    await handle.send(Synced(resource, shard))
            case Mark(name=name):
                for shard, handle in enumerate(self._shards):
                    await handle.send(Mark(name, shard))
            case _:
                raise TypeError(type(message).__name__)
        return None

    async def _route(self, events: Iterable[Event]) -> None:
        pods: dict[int, list[PodChange]] = {}
        nodes: dict[int, list[NodeChange]] = {}
        objects: dict[int, list[ObjectChange]] = {}
        for event in events:
            for shard, routed in self._router.route(event):
                if isinstance(routed.object, Pod):
                    pods.setdefault(shard, []).append(PodChange(routed.type, routed.object))
                elif isinstance(routed.object, Node):
                    nodes.setdefault(shard, []).append(NodeChange(routed.type, routed.object))
                else:
                    objects.setdefault(shard, []).append(ObjectChange(routed.type, _json(routed.object)))
        for shard in sorted({*pods, *nodes, *objects}):
            await self._shards[shard].send(
                ShardChanges(
                    tuple(pods.get(shard, ())), tuple(nodes.get(shard, ())), tuple(objects.get(shard, ()))
                )
            )


class ShardActor:
    """One cache shard: changes in, deltas out to the coordinator."""

    def __init__(self, shard: CacheShard, coordinator: Handle) -> None:
        self._shard = shard
        self._coordinator = coordinator

    async def start(self) -> None:
        """Nothing to prepare."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    async def receive(self, message: Message) -> Message | None:
        match message:
            case ShardChanges(pods=pods, nodes=nodes, objects=objects):
                events = [Event(change.type, "Pod", change.pod) for change in pods]
                events += [Event(change.type, "Node", change.node) for change in nodes]
                events += [Event(each.type, str(each.object.get("kind")), each.object) for each in objects]
                delta = self._shard.apply(events)
                for kind, key, why in delta.refused:
                    log.warning("object left out", kind=kind, name=key, why=why)
                if delta:
                    await self._coordinator.send(Changed(Parcel(delta)))
            case Synced() | Mark():
                await self._coordinator.send(message)
            case _:
                raise TypeError(type(message).__name__)
        return None


def _json(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(type(value).__name__)
    return value
