"""Events go an hour after they were last written, as a kube-apiserver's storage lets them."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from vcray.api.resources import EVENTS
from vcray.cluster.workloads.base import Controller, Shared, split
from vcray.cluster.workloads.informers import Head, Informer
from vcray.kube.errors import Conflict, NotFound

TTL_S = 3600.0


class _Seen(msgspec.Struct, gc=False):
    """An event by name, with the moment at which it was last written as far as is known here."""

    head: Head
    at: float


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"


class _Event(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()


_events = msgspec.json.Decoder(_Event)


class EventExpiry(Controller):
    """Deletes events whose time is over. One that was there before counts from the start of this controller."""

    name = "event-expiry"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.events: Informer[_Seen] = shared.keep(
            Informer(shared.client, EVENTS, self._read, lambda seen: seen.head)
        )
        self.events.on_change(self._changed)

    def _read(self, raw: msgspec.Raw) -> _Seen:
        head = _events.decode(raw).metadata
        return _Seen(
            Head(head.namespace, head.name, head.uid, int(head.resource_version), ""), self.time.now()
        )

    def _changed(self, old: _Seen | None, new: _Seen | None) -> None:
        if new is not None:
            self.queue.add_after(new.head.key, TTL_S)
        elif old is not None:
            self.queue.forget(old.head.key)

    async def reconcile(self, key: str) -> float | None:
        seen = self.events.objects.get(key)
        if seen is None:
            return None
        left = seen.at + TTL_S - self.time.now()
        if left > 0:
            return left
        namespace, name = split(key)
        with suppress(NotFound, Conflict):
            await self.client.delete(EVENTS, namespace, name, uid=seen.head.uid)
        return None
