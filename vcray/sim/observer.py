"""What a server has told by now: one watch of our own for each resource that the control plane watches.

Nobody disconnects these watches or withholds anything from them, so they know up to which change a watch of the control plane
must have come, and tell when what was written has been told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import msgspec

from vcray.api.jsonview import dig_int, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.errors import Problem, Unreachable, VcrayError
from vcray.kube.errors import Gone, error_of
from vcray.kube.transport import Transport

WATCH_S = 3600


def version_of(obj: JsonObject) -> int:
    """The resource version as a number; 0 when there is none."""
    found = dig_str(obj, "metadata", "resourceVersion")
    return int(found) if found.isdigit() else 0


class Observer:
    """The objects of one resource as its watch tells them. `position` is the version of the last change."""

    def __init__(self, transport: Transport, collection: str, heard: Callable[[], None]) -> None:
        self.collection = collection
        self.position = 0
        self._positions: dict[str, int] = {}  # by namespace
        self.objects: dict[str, JsonObject] = {}  # by uid
        self._uids: dict[tuple[str, str], str] = {}
        self._transport = transport
        self._heard = heard
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """List, and watch from there."""
        since = await self._list()
        self._task = asyncio.create_task(self._watch(since), name=f"observer {self.collection}")

    async def stop(self) -> None:
        """End the watch."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def position_of(self, namespace: str) -> int:
        """The version of the last change in a namespace; in all of them where none is named."""
        return self._positions.get(namespace, 0) if namespace else self.position

    def named(self, namespace: str, name: str) -> JsonObject | None:
        """The object of that name, if it is there."""
        return self.objects.get(self._uids.get((namespace, name), ""))

    def _keep(self, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        uid = dig_str(metadata, "uid")
        self.objects[uid] = obj
        self._uids[dig_str(metadata, "namespace"), dig_str(metadata, "name")] = uid

    async def _list(self) -> str:
        answer = await self._transport.request("GET", self.collection)
        if not answer.ok:
            raise error_of("GET", self.collection, self._transport.address, answer)
        page: JsonObject = msgspec.json.decode(answer.body)
        self.objects.clear()
        for obj in dig_objects(page, "items"):
            self._keep(obj)
        self.position = max((self.position, *map(version_of, self.objects.values())))
        return dig_str(page, "metadata", "resourceVersion")

    async def _watch(self, since: str) -> None:
        while True:
            query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": str(WATCH_S)}
            try:
                async with contextlib.aclosing(self._transport.stream(self.collection, query)) as lines:
                    async for line in lines:
                        since = self._read(msgspec.json.decode(line)) or since
            except (Gone, Unreachable):
                since = await self._list()
            self._heard()

    def _read(self, event: JsonObject) -> str:
        kind, obj = event.get("type"), event.get("object")
        if kind == "ERROR" or not isinstance(obj, dict):
            raise Gone(dig_str(obj, "message"))
        uid = dig_str(obj, "metadata", "uid")
        if kind == "DELETED":
            self.objects.pop(uid, None)
        elif kind in ("ADDED", "MODIFIED"):
            self._keep(obj)
        if kind != "BOOKMARK":
            self._positions[dig_str(obj, "metadata", "namespace")] = version_of(obj)
            self.position = max(self.position, version_of(obj))
            self._heard()
        return dig_str(obj, "metadata", "resourceVersion")


class Observers:
    """The observers of one server, begun as they are needed, and what they must have told before all is at rest."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._by_collection: dict[str, Observer] = {}
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._awaited: list[Awaited] = []
        self.changed = asyncio.Event()

    @property
    def all(self) -> Mapping[str, Observer]:
        """The observers by the path of their resource."""
        return self._by_collection

    async def ensure(self, collection: str) -> Observer:
        """The observer of a resource, begun if there is none yet."""
        if collection not in self._starting:
            observer = Observer(self._transport, collection, self.changed.set)
            self._starting[collection] = asyncio.create_task(observer.start())
            self._by_collection[collection] = observer
        await asyncio.shield(self._starting[collection])
        return self._by_collection[collection]

    def expect(self, awaited: Awaited) -> None:
        """Remember that something was written."""
        self._awaited.append(awaited)

    def behind(self) -> list[str]:
        """What was written and has not been told yet."""
        self._awaited = [each for each in self._awaited if not self._told(each)]
        return [each.what for each in self._awaited]

    def _told(self, awaited: Awaited) -> bool:
        observer = self._by_collection.get(awaited.collection)
        return observer is None or awaited.holds(observer)

    async def stop(self) -> None:
        """End all watches."""
        for task in self._starting.values():
            with contextlib.suppress(VcrayError, asyncio.CancelledError):
                await task
        for observer in self._by_collection.values():
            await observer.stop()


class Awaited:
    """One write that an observer is to tell: `what` in words, `holds` whether it has."""

    def __init__(self, collection: str, what: str, holds: Callable[[Observer], bool]) -> None:
        self.collection = collection
        self.what = what
        self.holds = holds


def ends(obj: JsonObject) -> bool:
    """Is this the last state of an object: told to go, with nothing that holds it?"""
    return (
        bool(dig_str(obj, "metadata", "deletionTimestamp"))
        and not dig_int(obj, "metadata", "deletionGracePeriodSeconds")
        and not obj["metadata"].get("finalizers")  # type: ignore[union-attr]
        and not dig_str(obj, "spec", "finalizers", 0)
    )


def too_late(waiting: list[str], address: str) -> Unreachable:
    """The error for changes that a server never told."""
    return Unreachable(Problem("VC0401", address, f"its watches do not tell what was written: {waiting[0]}"))
