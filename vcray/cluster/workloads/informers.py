"""Present copies of resources, shared by all workload controllers, with one door for events and for answers of writes.

A controller that has created an object puts the server's answer here at once, so its next turn counts it even if the watch is
late; an object whose version is not above the one held is old news. Objects of which no controller wants the content are
known by name only.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vcray.api import wire
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.kube.client import KubeClient
from vcray.kube.watch import EventType, Watch
from vcray.log import get_logger

T = TypeVar("T")

log = get_logger("informer")

_TOMBSTONES = 4096


class Head(NamedTuple):
    """What an informer asks of an object. `owner` is the UID of its controller, empty without one."""

    namespace: str
    name: str
    uid: str
    version: int
    owner: str

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def head_of(obj: JsonObject) -> Head:
    """The head of a JSON object."""
    owner = controller_of(obj)
    version = dig_str(obj, "metadata", "resourceVersion")
    return Head(
        dig_str(obj, "metadata", "namespace"),
        dig_str(obj, "metadata", "name"),
        dig_str(obj, "metadata", "uid"),
        int(version) if version.isdigit() else 0,
        dig_str(owner, "uid"),
    )


def controller_of(obj: JsonObject) -> JsonObject | None:
    """The owner reference of an object's controller."""
    for owner in dig_objects(obj, "metadata", "ownerReferences"):
        if owner.get("controller") is True:
            return owner
    return None


Handler = Callable[[T | None, T | None], None]
"""Called with an object before and after a change; None before an addition and after a deletion."""

Read = Callable[[msgspec.Raw], T | None]


class Informer(Generic[T]):
    """One resource. `read` makes of an object's bytes what is kept; None leaves it out."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        read: Read[T],
        head: Callable[[T], Head],
        *,
        namespace: str | None = None,
    ) -> None:
        self.resource = resource
        self.objects: dict[str, T] = {}
        self.synced = asyncio.Event()
        self._read, self._head = read, head
        self._watch = Watch(client, resource, wire.decode_sighting, namespace=namespace)
        self._handlers: list[Handler[T]] = []
        self._owned: dict[str, set[str]] = {}
        self._spaces: dict[str, set[str]] = {}
        self._orphans: dict[str, set[str]] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    def on_change(self, handler: Handler[T]) -> None:
        """Call `handler` on every change from now on."""
        self._handlers.append(handler)

    def get(self, namespace: str, name: str) -> T | None:
        """The object of that name."""
        return self.objects.get(f"{namespace}/{name}" if namespace else name)

    def owned(self, uid: str) -> Iterator[T]:
        """The objects whose controller has this UID, by name."""
        for key in sorted(self._owned.get(uid, ())):
            yield self.objects[key]

    def in_namespace(self, namespace: str) -> Iterator[T]:
        """The objects of a namespace, by name."""
        for key in sorted(self._spaces.get(namespace, ())):
            yield self.objects[key]

    def orphans(self, namespace: str) -> Iterator[T]:
        """The objects of a namespace that have no controller, by name."""
        for key in sorted(self._orphans.get(namespace, ())):
            yield self.objects[key]

    def put(self, obj: T) -> None:
        """Take in an object, from a write's answer or an event, unless it is old news."""
        head = self._head(obj)
        key = head.key
        old = self.objects.get(key)
        if head.uid in self._gone:
            return
        if old is not None:
            known = self._head(old)
            if known.uid == head.uid and known.version >= head.version:
                return
            self._unlink(known)
        self.objects[key] = obj
        index, name = (self._owned, head.owner) if head.owner else (self._orphans, head.namespace)
        index.setdefault(name, set()).add(key)
        if head.namespace:
            self._spaces.setdefault(head.namespace, set()).add(key)
        self._tell(old, obj)

    def remove(self, key: str, uid: str) -> None:
        """An object is gone, by an event or by the answer of a delete."""
        if uid:
            self._gone[uid] = None
            if len(self._gone) > _TOMBSTONES:
                self._gone.popitem(last=False)
        old = self.objects.get(key)
        if old is None or (uid and self._head(old).uid != uid):
            return
        self._unlink(self._head(old))
        del self.objects[key]
        self._tell(old, None)

    async def run(self) -> None:
        """Follow the resource until cancelled."""
        async with aclosing(self._watch.events()) as events:
            async for event in events:
                if event.type is EventType.SYNCED:
                    self.synced.set()
                if event.object is None:
                    continue
                body, event.object.body = event.object.body, None
                if event.type is EventType.DELETED:
                    self.remove(event.key, event.object.metadata.uid)
                elif body is not None:
                    self._see(event.key, event.object.metadata.uid, body)

    def _see(self, key: str, uid: str, body: msgspec.Raw) -> None:
        try:
            obj = self._read(body)
        except msgspec.DecodeError as error:
            log.warning("cannot read an object", resource=self.resource.plural, key=key, why=str(error))
            return
        if obj is not None:
            self.put(obj)
        elif key in self.objects:  # it is of no interest any more
            old = self.objects[key]
            self._unlink(self._head(old))
            del self.objects[key]
            self._tell(old, None)

    def _unlink(self, head: Head) -> None:
        linked = (self._owned, head.owner) if head.owner else (self._orphans, head.namespace)
        for index, name in (linked, (self._spaces, head.namespace)):
            keys = index.get(name)
            if keys is not None:
                keys.discard(head.key)
                if not keys:
                    del index[name]

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            handler(old, new)


def json_informer(client: KubeClient, resource: Resource) -> Informer[JsonObject]:
    """An informer of plain JSON objects."""
    start = b'{"apiVersion":"%s","kind":"%s",' % (resource.api_version.encode(), resource.kind.encode())

    def read(raw: msgspec.Raw) -> JsonObject:
        data = bytes(raw)
        return wire.decode_object(data if b'"kind"' in data[:200] else start + data[1:])

    return Informer(client, resource, read, head_of)
