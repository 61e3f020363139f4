"""Watches on both servers: order, resume, bookmarks, lost history, selectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from tests.conformance.client.conftest import Backend
from vcray.api import wire
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, PODS
from vcray.kube.errors import ResourceMissing
from vcray.kube.watch import EventType, Watch, WatchEvent, watch_objects, watch_pods

WAIT_S = 10.0


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": {"test": "watch"}}, "data": dict(data)}


class Reader:
    """Events of a watch one by one, bookmarks left out."""

    def __init__(self, watch: Watch[JsonObject]) -> None:
        self._events = watch.events()

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events as type and name."""
        found: list[tuple[str, str]] = []
        while len(found) < count:
            event: WatchEvent[JsonObject] = await asyncio.wait_for(anext(self._events), WAIT_S)
            if event.type is not EventType.BOOKMARK:
                found.append((str(event.type), event.key.rpartition("/")[2]))
        return found

    async def close(self) -> None:
        await self._events.aclose()


@asynccontextmanager
async def reading(backend: Backend, **options: object) -> AsyncIterator[Reader]:
    watch = watch_objects(
        backend.client,
        CONFIGMAPS,
        namespace=backend.namespace,
        label_selector="test=watch",
        **options,  # type: ignore[arg-type]
    )
    reader = Reader(watch)
    yield reader
    await reader.close()


async def test_a_watch_begins_with_what_is_there_and_goes_on_with_what_happens(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    await client.create(CONFIGMAPS, namespace, config_map("a"))
    await client.create(CONFIGMAPS, namespace, config_map("b"))

    async with reading(backend) as reader:
        assert await reader.take(3) == [("ADDED", "a"), ("ADDED", "b"), ("SYNCED", "")]
        await client.create(CONFIGMAPS, namespace, config_map("c"))
        await client.patch(CONFIGMAPS, namespace, "a", {"data": {"x": "1"}})
        await client.delete(CONFIGMAPS, namespace, "b")
        assert await reader.take(3) == [("ADDED", "c"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_no_event_is_lost_or_repeated_when_the_server_ends_the_watch(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace

    async with reading(backend, timeout_seconds=1) as reader:
        assert await reader.take(1) == [("SYNCED", "")]
        seen: list[tuple[str, str]] = []
        for number in range(12):
            await client.create(CONFIGMAPS, namespace, config_map(f"m{number:02}"))
            if number % 4 == 1:
                backend.disconnect()
            await asyncio.sleep(0.2)
        seen += await reader.take(12)

    assert seen == [("ADDED", f"m{number:02}") for number in range(12)]


async def test_an_object_enters_and_leaves_the_view_of_a_selector(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    await client.create(CONFIGMAPS, namespace, config_map("a"))

    async with reading(backend) as reader:
        assert await reader.take(2) == [("ADDED", "a"), ("SYNCED", "")]
        await client.patch(CONFIGMAPS, namespace, "a", {"metadata": {"labels": {"test": "other"}}})
        await client.patch(CONFIGMAPS, namespace, "a", {"data": {"unseen": "1"}})
        await client.patch(CONFIGMAPS, namespace, "a", {"metadata": {"labels": {"test": "watch"}}})
        assert await reader.take(2) == [("DELETED", "a"), ("ADDED", "a")]


async def test_pods_are_watched_by_field_as_structs(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    for name in ("p", "q"):
        body: JsonObject = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await client.create(PODS, namespace, body)
    watch = watch_pods(client, namespace=namespace, field_selector="spec.nodeName=")

    async with aclosing(watch.events()) as events:
        first = [await asyncio.wait_for(anext(events), WAIT_S) for _ in range(3)]
        await client.bind(namespace, "p", "node-1")
        gone = await asyncio.wait_for(anext(events), WAIT_S)

    assert [event.type for event in first] == [EventType.ADDED, EventType.ADDED, EventType.SYNCED]
    assert (gone.type, gone.key) == (EventType.DELETED, f"{namespace}/p")
    assert isinstance(gone.object, wire.Pod)


async def test_versions_grow_and_the_last_state_of_a_deleted_object_has_that_of_its_deletion(
    backend: Backend,
) -> None:
    client, namespace = backend.client, backend.namespace
    start = (await client.list(CONFIGMAPS, namespace)).resource_version
    made = await client.create(CONFIGMAPS, namespace, config_map("a", x="1"))
    await client.delete(CONFIGMAPS, namespace, "a")

    query = {"watch": "true", "resourceVersion": start, "timeoutSeconds": "5"}
    async with aclosing(client.transport.stream(CONFIGMAPS.path(namespace), query)) as lines:
        events = [wire.decode_watch_line(await asyncio.wait_for(anext(lines), WAIT_S)) for _ in range(2)]

    last = wire.decode_object(events[1].object)
    assert [event.type for event in events] == ["ADDED", "DELETED"]
    assert last["data"] == {"x": "1"}
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (made, last)]  # type: ignore[index,call-overload,arg-type]
    assert int(start) < versions[0] < versions[1]


async def test_a_watch_without_a_version_begins_with_the_present_objects(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    await client.create(CONFIGMAPS, namespace, config_map("a"))

    query = {"watch": "true", "timeoutSeconds": "2", "labelSelector": "test=watch"}
    async with aclosing(client.transport.stream(CONFIGMAPS.path(namespace), query)) as lines:
        event = wire.decode_watch_line(await asyncio.wait_for(anext(lines), WAIT_S))

    assert event.type == "ADDED"


async def test_a_bookmark_moves_a_watch_on_past_events_that_it_does_not_see(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    version = (await client.list(CONFIGMAPS, namespace)).resource_version
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": "4",
        "labelSelector": "test=other",
    }

    async def meddle() -> str:
        await asyncio.sleep(0.2)
        made = await client.create(CONFIGMAPS, namespace, config_map("unseen"))
        return str(made["metadata"]["resourceVersion"])  # type: ignore[index,call-overload]

    meddling = asyncio.create_task(meddle())
    found: list[tuple[str, str]] = []
    async with aclosing(client.transport.stream(CONFIGMAPS.path(namespace), query)) as lines:
        async for line in lines:
            event = wire.decode_watch_line(line)
            found.append((event.type, wire.decode_object(event.object)["metadata"]["resourceVersion"]))  # type: ignore[index,call-overload,arg-type]

    assert found
    assert {kind for kind, _ in found} == {"BOOKMARK"}
    assert int(found[-1][1]) >= int(await meddling) > int(version)


async def test_a_watch_of_an_unknown_resource_fails_with_the_servers_word(backend: Backend) -> None:
    with pytest.raises(ResourceMissing):
        await anext(backend.client.transport.stream("/apis/nowhere.example/v1/things", {"watch": "true"}))


async def test_many_events_come_in_the_order_of_their_versions(backend: Backend) -> None:
    client, namespace = backend.client, backend.namespace
    async with reading(backend) as reader:
        await reader.take(1)
        await asyncio.gather(*(client.create(CONFIGMAPS, namespace, config_map(f"m{n}")) for n in range(100)))
        events = await reader.take(100)

    assert sorted(events) == sorted(("ADDED", f"m{n}") for n in range(100))
