"""Delivery of watch lines: order, holding one object back, shuffling, ends and bookmarks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from vcray.api import wire
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, QUEUES, Resource
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient
from vcray.kube.identity import identify


class Lines:
    """One open watch, read without waiting."""

    def __init__(self, transport: InProcessTransport, resource: Resource, **query: str) -> None:
        since = query.pop("resourceVersion", str(transport.store.storage.version))
        self._lines = transport.stream(resource.path(), {"resourceVersion": since, **query})
        self._pending: asyncio.Task[bytes] | None = None

    async def take(self) -> list[tuple[str, str]]:
        """What has come so far, as type and name."""
        found: list[tuple[str, str]] = []
        while True:
            if self._pending is None:
                self._pending = asyncio.ensure_future(anext(self._lines))
            for _ in range(50):
                await asyncio.sleep(0)
            if not self._pending.done():
                return found
            try:
                event = wire.decode_watch_line(self._pending.result())
            except StopAsyncIteration:
                return [*found, ("END", "")]
            self._pending = None
            found.append((event.type, identify(wire.decode_object(event.object)).key.rpartition("/")[2]))

    async def close(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.gather(self._pending, return_exceptions=True)
        await self._lines.aclose()


@asynccontextmanager
async def watching(
    transport: InProcessTransport, *resources: Resource, **query: str
) -> AsyncIterator[list[Lines]]:
    opened = [Lines(transport, resource, **query) for resource in resources]
    for lines in opened:
        assert await lines.take() == []
    yield opened
    for lines in opened:
        await lines.close()


@pytest.fixture
def store() -> Store:
    return Store(ManualClock())


def put(store: Store, name: str, value: str = "0") -> None:
    """Create or change a ConfigMap."""
    if store.storage.get(CONFIGMAPS, "default", name) is None:
        store.create(CONFIGMAPS, "default", {"metadata": {"name": name}})
    merge = "application/merge-patch+json"
    store.patch(CONFIGMAPS, "default", name, {"data": {"v": value}}, merge)


async def test_a_held_objects_events_come_in_order_once_it_is_released(store: Store) -> None:
    transport = InProcessTransport(store)
    async with watching(transport, CONFIGMAPS) as (lines,):
        transport.hold(CONFIGMAPS, "default", "held")
        put(store, "held")
        put(store, "free")
        assert await lines.take() == [("ADDED", "free"), ("MODIFIED", "free")]
        assert transport.idle()

        put(store, "held", "1")
        store.delete(CONFIGMAPS, "default", "held")
        transport.release(CONFIGMAPS, "default", "held")
        assert await lines.take() == [
            ("ADDED", "held"),
            ("MODIFIED", "held"),
            ("MODIFIED", "held"),
            ("DELETED", "held"),
        ]

        put(store, "held", "2")
        assert await lines.take() == [("ADDED", "held"), ("MODIFIED", "held")]


async def test_a_watch_that_opens_meanwhile_is_held_back_too(store: Store) -> None:
    transport = InProcessTransport(store)
    start = str(store.storage.version)
    transport.hold(CONFIGMAPS, "default", "held")
    put(store, "held")

    async with watching(transport, CONFIGMAPS, resourceVersion=start) as (lines,):
        transport.release(CONFIGMAPS, "default", "held")
        assert await lines.take() == [("ADDED", "held"), ("MODIFIED", "held")]


async def test_holding_on_one_transport_leaves_others_alone(store: Store) -> None:
    held, free = InProcessTransport(store), InProcessTransport(store)
    held.hold(CONFIGMAPS, "default", "a")
    async with watching(held, CONFIGMAPS) as (first,), watching(free, CONFIGMAPS) as (second,):
        put(store, "a")
        assert await first.take() == []
        assert await second.take() == [("ADDED", "a"), ("MODIFIED", "a")]


async def _interleaving(seed: int | None) -> list[str]:
    """In which order two watchers get ten events each."""
    store = Store(ManualClock())
    transport = InProcessTransport(store, shuffle_seed=seed)
    order: list[str] = []

    async def follow(resource: Resource) -> None:
        lines: AsyncGenerator[bytes, None] = transport.stream(
            resource.path(), {"resourceVersion": str(store.storage.version)}
        )
        async for line in lines:
            found = wire.decode_object(wire.decode_watch_line(line).object)
            order.append(identify(found).key.rpartition("/")[2])

    tasks = [asyncio.create_task(follow(resource)) for resource in (CONFIGMAPS, QUEUES)]
    await asyncio.sleep(0)
    for number in range(10):
        store.create(CONFIGMAPS, "default", {"metadata": {"name": f"c{number}"}})
        store.create(QUEUES, "", {"metadata": {"name": f"q{number}"}})
    for _ in range(500):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return order


async def test_shuffling_mixes_kinds_but_keeps_the_order_within_each() -> None:
    orders = [await _interleaving(seed) for seed in range(8)]

    assert len({tuple(order) for order in orders}) > 3
    for order in orders:
        assert [name for name in order if name[0] == "c"] == [f"c{n}" for n in range(10)]
        assert [name for name in order if name[0] == "q"] == [f"q{n}" for n in range(10)]


async def test_the_same_seed_shuffles_alike() -> None:
    assert await _interleaving(5) == await _interleaving(5)


async def test_a_disconnect_ends_watches_after_what_was_sent(store: Store) -> None:
    transport = InProcessTransport(store)
    async with watching(transport, CONFIGMAPS) as (lines,):
        put(store, "a")
        transport.disconnect()
        put(store, "b")
        assert await lines.take() == [("ADDED", "a"), ("MODIFIED", "a"), ("END", "")]


async def test_a_bookmark_on_request_names_the_present_version(store: Store) -> None:
    transport = InProcessTransport(store)
    async with watching(transport, QUEUES) as (lines,):
        put(store, "a")
        transport.delivery.bookmark_all()
        assert await lines.take() == [("BOOKMARK", "")]


async def test_no_bookmark_runs_ahead_of_a_held_event(store: Store) -> None:
    transport = InProcessTransport(store)
    async with watching(transport, CONFIGMAPS) as (lines,):
        transport.hold(CONFIGMAPS, "default", "held")
        put(store, "held")
        transport.delivery.bookmark_all()
        assert await lines.take() == []


async def test_a_closed_transport_costs_the_store_nothing_more(store: Store) -> None:
    transport = InProcessTransport(store)
    async with watching(transport, CONFIGMAPS) as (lines,):
        await transport.close()
        put(store, "a")
        assert await lines.take() == [("END", "")]
    assert list(transport.delivery.watchers()) == []


async def test_an_answer_cannot_be_used_to_alter_what_is_stored(store: Store) -> None:
    client = KubeClient(InProcessTransport(store))
    body: JsonObject = {"metadata": {"name": "a"}, "data": {"v": "0"}}
    made = await client.create(CONFIGMAPS, "default", body)

    made["data"]["v"] = "changed"  # type: ignore[index,call-overload]
    body["data"]["v"] = "changed"  # type: ignore[index,call-overload]

    assert (await client.get(CONFIGMAPS, "default", "a"))["data"] == {"v": "0"}
