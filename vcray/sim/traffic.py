"""All requests to a server beside us, counted and noted: what is under way, what was written, what was created.

Everything that changes a scenario's cluster goes through a transport of one `Traffic`: so it is known what the watches must
tell before all is at rest, and what must go when the scenario is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport
from vcray.sim.observer import Awaited, Observer, Observers, ends, version_of
from vcray.sim.requestpath import Target, target_of
from vcray.sim.stamps import Stamps, unstamped

NAMESPACES = "/api/v1/namespaces"
_MADE = 201


class Traffic:
    """What went to one server. `version` is the latest change known of; `created` holds the objects by UID.

    `heard`: objects by collection, namespace and name, as an answer or a watch of the control plane or of operators told last."""

    def __init__(self, observers: Observers, now: Callable[[], float]) -> None:
        self.observers = observers
        self.stamps = Stamps(now)
        self.under_way = 0
        self.created: dict[str, tuple[Target, JsonObject]] = {}
        self.heard: dict[tuple[str, str, str], JsonObject] = {}
        self._written = 0

    @property
    def version(self) -> int:
        """Grows with every change."""
        told = (each.position for each in self.observers.all.values())
        return max((self._written, *told))

    def begin(self) -> None:
        """A request is on its way."""
        self.under_way += 1

    def end(self) -> None:
        """It has been answered."""
        self.under_way -= 1
        self.observers.changed.set()

    def note(self, method: str, target: Target, answer: JsonObject, made: bool) -> None:
        """A write was accepted (`made` an object): remember what the watches must tell of it."""
        collection, what = target.collection, f"{method} {target.path} {target.subresource}".strip()
        holds: Callable[[Observer], bool]
        if method == "POST" and target.subresource == "binding":
            holds = _bound(target)
        elif method == "POST" and target.subresource == "eviction":
            holds = _going(target)
        elif answer.get("kind") == "Status":
            holds = _gone(dig_str(answer, "details", "uid"), target)
        elif ends(answer):
            holds = _gone(dig_str(answer, "metadata", "uid"), target)
        else:
            version = version_of(answer)
            self._written = max(self._written, version)
            if made:
                self._note_created(target, answer)
            holds = _reached(version)
        self.observers.expect(Awaited(collection, what, holds))

    def hear(self, collection: str, obj: JsonObject, gone: bool = False) -> None:
        """Somebody who may act on it has been told of an object, or (`gone`) of its end."""
        key = (collection, dig_str(obj, "metadata", "namespace"), dig_str(obj, "metadata", "name"))
        if version_of(obj) < version_of(self.heard.get(key, {})):
            return
        if gone:
            self.heard.pop(key, None)
        else:
            self.heard[key] = obj

    def _note_created(self, target: Target, answer: JsonObject) -> None:
        metadata = answer.get("metadata")
        uid, name = dig_str(metadata, "uid"), dig_str(metadata, "name")
        if uid and not target.subresource:
            self.created.setdefault(uid, (Target(target.collection, target.namespace, name), answer))
            self.hear(target.collection, answer)


def _reached(version: int) -> Callable[[Observer], bool]:
    return lambda seen: seen.position >= version


def _bound(target: Target) -> Callable[[Observer], bool]:
    def holds(seen: Observer) -> bool:
        pod = seen.named(target.namespace, target.name)
        return pod is None or bool(dig_str(pod, "spec", "nodeName"))

    return holds


def _going(target: Target) -> Callable[[Observer], bool]:
    def holds(seen: Observer) -> bool:
        pod = seen.named(target.namespace, target.name)
        return pod is None or bool(dig_str(pod, "metadata", "deletionTimestamp"))

    return holds


def _gone(uid: str, target: Target) -> Callable[[Observer], bool]:
    def holds(seen: Observer) -> bool:
        return uid not in seen.objects if uid else seen.named(target.namespace, target.name) is None

    return holds


class TrackedTransport(PassingTransport):
    """A transport whose traffic is noted and whose answers are in virtual time. `admit` sees each new object first."""

    def __init__(
        self,
        transport: Transport,
        traffic: Traffic,
        admit: Callable[[Target, bytes | None], bytes | None] = lambda target, body: body,
    ) -> None:
        super().__init__(transport)
        self._traffic = traffic
        self._admit = admit

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        target = target_of(path)
        if target is not None and method == "POST":
            body = self._admit(target, body)
        if method == "PUT":
            body = unstamped(body)
        self._traffic.begin()
        try:
            answer = await self._transport.request(method, path, query, body, content_type)
            if target is None or not answer.ok:
                return answer
            stamped, document = self._traffic.stamps.of_answer(answer.body)
            if method != "GET" and "dryRun" not in (query or {}):
                self._traffic.note(method, target, document, answer.status == _MADE)
            return Response(answer.status, stamped, answer.headers)
        finally:
            self._traffic.end()

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(self._transport.stream(path, query)) as lines:
            async for line in lines:
                yield self._traffic.stamps.of_line(line)[0]


class _Tap:
    """One watch of the control plane, of a namespace or of all: how far it has come, and what is withheld from it."""

    def __init__(self, collection: str, namespace: str, position: int) -> None:
        self.collection = collection
        self.namespace = namespace
        self.position = position
        self.ready: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.withheld: list[tuple[tuple[str, str], bytes]] = []


class TappedTransport(TrackedTransport):
    """The control plane's transport: its watches can be cut, and the events of single objects withheld."""

    def __init__(
        self, transport: Transport, traffic: Traffic, admit: Callable[[Target, bytes | None], bytes | None]
    ) -> None:
        super().__init__(transport, traffic, admit)
        self._taps: list[_Tap] = []
        self._held: set[tuple[str, tuple[str, str]]] = set()

    def hold(self, collection: str, namespace: str, name: str) -> None:
        """Withhold the events of one object until it is released."""
        self._held.add((collection, (namespace, name)))

    def release(self, collection: str, namespace: str, name: str) -> None:
        """Send what was withheld, in order, and withhold no more."""
        key = (namespace, name)
        self._held.discard((collection, key))
        for tap in self._taps:
            if tap.collection == collection:
                due = [line for each, line in tap.withheld if each == key]
                tap.withheld = [(each, line) for each, line in tap.withheld if each != key]
                for line in due:
                    tap.ready.put_nowait(line)

    def cut(self) -> None:
        """End every watch, as a server that goes away does."""
        for tap in list(self._taps):
            self._taps.remove(tap)
            tap.ready.put_nowait(None)

    def behind(self) -> list[str]:
        """Watches that have not told yet what has happened."""
        observers = self._traffic.observers.all
        return [
            f"the watch of {tap.collection}"
            for tap in self._taps
            if not tap.ready.empty() or tap.position < observers[tap.collection].position_of(tap.namespace)
        ]

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        target = target_of(path)
        assert target is not None, "watches are below /api and /apis"
        await self._traffic.observers.ensure(target.collection)
        since = (query or {}).get("resourceVersion", "")
        tap = _Tap(target.collection, target.namespace, int(since) if since.isdigit() else 0)
        self._taps.append(tap)
        pumping = asyncio.create_task(self._pump(tap, path, query), name=f"tap {path}")
        try:
            while (line := await tap.ready.get()) is not None:
                self._traffic.observers.changed.set()
                yield line
            if pumping.done():
                pumping.result()
        finally:
            if tap in self._taps:
                self._taps.remove(tap)
            pumping.cancel()
            with contextlib.suppress(BaseException):
                await pumping
            self._traffic.observers.changed.set()

    async def _pump(self, tap: _Tap, path: str, query: Query | None) -> None:
        try:
            async with contextlib.aclosing(self._transport.stream(path, query)) as lines:
                async for line in lines:
                    self._offer(tap, line)
        finally:
            tap.ready.put_nowait(None)

    def _offer(self, tap: _Tap, line: bytes) -> None:
        stamped, event = self._traffic.stamps.of_line(line)
        obj = event.get("object")
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        key = (dig_str(metadata, "namespace"), dig_str(metadata, "name"))
        if event.get("type") != "BOOKMARK" and (tap.collection, key) in self._held:
            tap.withheld.append((key, stamped))
        else:
            tap.ready.put_nowait(stamped)
        if isinstance(obj, dict):
            tap.position = max(tap.position, version_of(obj))
            if key[1]:
                self._traffic.hear(tap.collection, obj, gone=event.get("type") == "DELETED")
        self._traffic.observers.changed.set()
