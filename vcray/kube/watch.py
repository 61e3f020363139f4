"""Following one resource: list, then watch, for ever, through every way in which that can break.

A watch resumes behind the last version it saw, bookmarks move that on while nothing happens, a forgotten version (410)
leads to a new list whose difference to what was known comes as ordinary events, and errors are retried with growing
delays. The reader sees one stream in which every object is added once, and deleted once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import msgspec

from vcray.api import wire
from vcray.api.jsontypes import JsonObject
from vcray.api.resources import NODES, PODS, Resource
from vcray.errors import ServerError
from vcray.kube.backoff import Backoff, golden_jitter
from vcray.kube.client import PAGE_SIZE, KubeClient
from vcray.kube.errors import ApiError, Gone, NotFound, error_of_status
from vcray.kube.identity import identify
from vcray.log import get_logger

T = TypeVar("T", bound=JsonObject | wire.WireObject)
Decode = Callable[[msgspec.Raw], T]

log = get_logger("watch")

TIMEOUT_SECONDS = 300
TOLD_AFTER = 3
"""Failures in a row after which the log says so: a server that comes back at once is not worth a line."""


class EventType(StrEnum):
    """What an event tells. The last two are about the stream, not about an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    SYNCED = "SYNCED"
    """Everything that a list held has been told."""
    RELIST = "RELIST"
    """The history was forgotten; what changed meanwhile follows, then SYNCED."""


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One event. `key` and `object` are empty for BOOKMARK, SYNCED and RELIST; a deleted object is its last state."""

    type: EventType
    resource_version: str
    key: str = ""
    object: T | None = None


class WatchBroken(Exception):
    """The server reported an error within a watch: resuming would meet it again, so the reader lists anew."""

    def __init__(self, cause: ApiError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Watch(Generic[T]):
    """An endless stream of events of one resource; iterate over it once, in one task.

    `decode` turns raw JSON into what the reader gets. `timeout_seconds` is how long the server keeps one request open.
    With `fail_fast` the first list raises its error instead of retrying. A resource that is `optional` counts as read,
    and empty, once the server says that it does not serve it; it is asked for again all the same. `failures` counts failures in a row,
    `last_error` is the last one, `relists` counts how often the history was lost, `skipped` the objects that could not
    be decoded: for health and metrics.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        decode: Decode[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = PAGE_SIZE,
        timeout_seconds: int = TIMEOUT_SECONDS,
        backoff: Backoff | None = None,
        fail_fast: bool = False,
        optional: bool = False,
    ) -> None:
        self.client, self.resource = client, resource
        self.failures = 0
        self.relists = 0
        self.skipped = 0
        self.last_error: Exception | None = None
        self.resource_version = ""
        self._decode = decode
        self._namespace = namespace
        self._labels, self._fields = label_selector, field_selector
        self._page_size, self._timeout = page_size, timeout_seconds
        self._jitter = client.jitter or golden_jitter()
        self._backoff = backoff or Backoff(0.1, 30.0, jitter=self._jitter)
        self._fail_fast = fail_fast
        self._optional = optional
        self._told_absent = False
        self._known: dict[str, T] = {}

    def __aiter__(self) -> AsyncGenerator[WatchEvent[T], None]:
        return self.events()

    async def events(self) -> AsyncGenerator[WatchEvent[T], None]:
        """The stream. It ends only by an error of the reader or by cancellation."""
        first = True
        while True:
            items = await self._list(first)
            if items is None:
                yield self._event(EventType.SYNCED)
                continue
            if not first:
                self.relists += 1
                yield self._event(EventType.RELIST)
            for event in self._differences(items):
                yield event
            first = False
            yield self._event(EventType.SYNCED)
            async with aclosing(self._follow()) as followed:
                async for event in followed:
                    yield event

    # -- listing ----------------------------------------------------------------------------------------------

    async def _list(self, first: bool) -> dict[str, T] | None:
        """Objects by key; None, once, for an optional resource that is not served."""
        while True:
            try:
                page = await self.client.list_raw(
                    self.resource, self._namespace, self._labels, self._fields, self._page_size
                )
            except (ApiError, ServerError) as error:
                if first and self._fail_fast:
                    raise
                absent = self._optional and isinstance(error, NotFound)
                if absent and not self._told_absent:
                    self._told_absent = True
                    return None
                await self._failed(error, quietly=absent)
                continue
            self._succeeded()
            self.resource_version = page.resource_version
            decoded = (self._decoded(self._complete(item)) for item in page.items)
            return {identify(item).key: item for item in decoded if item is not None}

    def _decoded(self, raw: msgspec.Raw) -> T | None:
        """The object, or None if it is not of the expected shape: one bad object must not stop all others."""
        try:
            return self._decode(raw)
        except msgspec.DecodeError as error:
            self.skipped += 1
            self.last_error = error
            return None

    def _complete(self, item: msgspec.Raw) -> msgspec.Raw:
        """List items of built-in kinds lack apiVersion and kind; plain JSON readers want them."""
        if self._decode is not wire.decode_object or b'"kind"' in bytes(item)[:200]:
            return item
        head = b'{"apiVersion":"%s","kind":"%s",' % (
            self.resource.api_version.encode(),
            self.resource.kind.encode(),
        )
        return msgspec.Raw(head + bytes(item)[1:])

    def _differences(self, items: dict[str, T]) -> list[WatchEvent[T]]:
        """Events from what was known to what a list shows; vanished objects first."""
        events: list[WatchEvent[T]] = []
        for key, old in self._known.items():
            new = items.get(key)
            if new is None or identify(new).uid != identify(old).uid:
                events.append(self._event(EventType.DELETED, key, old))
        for key, new in items.items():
            before = self._known.get(key)
            if before is None or identify(before).uid != identify(new).uid:
                events.append(self._event(EventType.ADDED, key, new))
            elif identify(before).version != identify(new).version:
                events.append(self._event(EventType.MODIFIED, key, new))
        self._known = items
        return events

    # -- following --------------------------------------------------------------------------------------------

    async def _follow(self) -> AsyncGenerator[WatchEvent[T], None]:
        """Events behind the last version, over as many requests as it takes; returns when the history is lost."""
        loop = asyncio.get_running_loop()
        while True:
            started, heard = loop.time(), False
            try:
                stream = self.client.transport.stream(self.resource.path(self._namespace), self._query())
                async with aclosing(stream) as lines:
                    async for line in lines:
                        event = self._read(line)
                        if not heard:
                            heard = True
                            self._succeeded()
                        if event is not None:
                            yield event
            except Gone:
                self._succeeded()
                return
            except WatchBroken as error:
                await self._failed(error.cause)
                return
            except (ApiError, ServerError, msgspec.DecodeError) as error:
                await self._failed(error)
                continue
            if heard or loop.time() - started > 1.0:
                self._succeeded()
            else:
                await self.client.sleep(self._backoff.following())

    def _query(self) -> dict[str, str]:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(int(self._timeout * (1.0 + self._jitter()))),
        }
        if self._labels:
            query["labelSelector"] = self._labels
        if self._fields:
            query["fieldSelector"] = self._fields
        return query

    def _read(self, line: bytes) -> WatchEvent[T] | None:
        found = wire.decode_watch_line(line)
        if found.type == "ERROR":
            error = error_of_status(
                wire.decode_object(found.object), 500, self.resource.path(self._namespace)
            )
            raise error if isinstance(error, Gone) else WatchBroken(error)
        if found.type == "BOOKMARK":
            self.resource_version = (
                identify(wire.decode_object(found.object)).version or self.resource_version
            )
            return self._event(EventType.BOOKMARK)
        if found.type not in ("ADDED", "MODIFIED", "DELETED"):
            return None
        obj = self._decoded(found.object)
        if obj is None:
            return None
        key, _, version = identify(obj)
        self.resource_version = version
        if found.type == "DELETED":
            self._known.pop(key, None)
        else:
            self._known[key] = obj
        return self._event(EventType(found.type), key, obj)

    def _event(self, kind: EventType, key: str = "", obj: T | None = None) -> WatchEvent[T]:
        return WatchEvent(kind, self.resource_version, key, obj)

    # -- health -----------------------------------------------------------------------------------------------

    def _succeeded(self) -> None:
        if self.failures >= TOLD_AFTER:
            if not self.client.reachable:
                self.client.reachable = True
                log.info("the API server answers again", server=self.client.transport.address)
            elif isinstance(self.last_error, ApiError):
                log.info("reading again", resource=self.resource.full_name)
        self.failures = 0
        self._backoff.reset()

    async def _failed(self, error: Exception, quietly: bool = False) -> None:
        self.failures += 1
        self.last_error = error
        if self.failures == TOLD_AFTER and not quietly:
            if isinstance(error, ApiError):
                log.warning("cannot read, trying on", resource=self.resource.full_name, why=str(error))
            elif self.client.reachable:  # one line for all watches
                self.client.reachable = False
                log.warning("the API server cannot be used, trying on", why=str(error))
        asked = error.retry_after if isinstance(error, ApiError) else None
        await self.client.sleep(max(self._backoff.following(), asked or 0.0))


class WatchOptions(TypedDict, total=False):
    """The options of `Watch`, for those that pass them on."""

    namespace: str | None
    label_selector: str
    field_selector: str
    page_size: int
    timeout_seconds: int
    backoff: Backoff
    fail_fast: bool
    optional: bool


def watch_objects(
    client: KubeClient, resource: Resource, **options: Unpack[WatchOptions]
) -> Watch[JsonObject]:
    """A watch of plain JSON objects."""
    return Watch(client, resource, wire.decode_object, **options)


def watch_heads(client: KubeClient, resource: Resource, **options: Unpack[WatchOptions]) -> Watch[JsonObject]:
    """A watch of metadata alone, of objects whose rest nobody reads; what is managed by whom is left out."""
    return Watch(client, resource, _decode_head, **options)


class _Head(msgspec.Struct):
    metadata: dict[str, Any]


def _decode_head(data: msgspec.Raw) -> JsonObject:
    metadata: JsonObject = msgspec.json.decode(data, type=_Head).metadata
    metadata.pop("managedFields", None)
    return {"metadata": metadata}


def watch_pods(client: KubeClient, **options: Unpack[WatchOptions]) -> Watch[wire.Pod]:
    """A watch of pods as structs."""
    return Watch(client, PODS, wire.decode_pod, **options)


def watch_nodes(client: KubeClient, **options: Unpack[WatchOptions]) -> Watch[wire.Node]:
    """A watch of nodes as structs."""
    return Watch(client, NODES, wire.decode_node, **options)
