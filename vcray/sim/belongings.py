"""What follows the end of an owner, on a server whose garbage collector is absent or takes its time: the same, at once.

A server that collects by itself loses nothing: whoever comes second finds the object gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

import msgspec

from vcray.api.jsonview import dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.kube.transport import JSON, Transport
from vcray.sim.observer import Observers
from vcray.sim.requestpath import Target
from vcray.sim.traffic import NAMESPACES, Traffic

AT_ONCE = 16
"""Requests at a time: more would only wait, and some in vain."""

MERGE = "application/merge-patch+json"
FOREGROUND = "foregroundDeletion"


class Belongings:
    """Deletes what has lost all its owners, and frees owners and namespaces that waited for what they hold."""

    def __init__(self, transport: Transport, traffic: Traffic, observers: Observers) -> None:
        self._transport = transport
        self._traffic = traffic
        self._observers = observers
        self._ended: set[str] = set()

    async def collect(self) -> bool:
        """One round; True when it did something."""
        due = [self._delete(target, uid) for uid, target in self._orphans()]
        due += [self._finish(uid) for uid in self._waiting()]
        await some_at_once(due)
        return bool(due)

    def _orphans(self) -> list[tuple[str, Target]]:
        """Objects whose owners were all created here and are all gone, or go before them."""
        found = []
        for uid, (target, obj) in self._traffic.created.items():
            owners = dig_objects(obj, "metadata", "ownerReferences")
            if uid not in self._ended and owners and all(self._lost(owner) for owner in owners):
                found.append((uid, target))
        return found

    def _lost(self, owner: JsonObject) -> bool:
        uid = dig_str(owner, "uid")
        known = self._traffic.created.get(uid)
        if known is None:
            return False
        observer = self._observers.all.get(known[0].collection)
        if observer is None:
            return uid in self._ended
        present = observer.objects.get(uid)
        return present is None or FOREGROUND in dig_list(present, "metadata", "finalizers")

    def _waiting(self) -> list[str]:
        """Owners that go after what they own, all of which is gone."""
        return [
            uid
            for observer in self._observers.all.values()
            for uid, obj in observer.objects.items()
            if FOREGROUND in dig_list(obj, "metadata", "finalizers") and not self._owns(uid)
        ]

    def _owns(self, uid: str) -> bool:
        for owned, (target, obj) in self._traffic.created.items():
            if any(dig_str(each, "uid") == uid for each in dig_objects(obj, "metadata", "ownerReferences")):
                observer = self._observers.all.get(target.collection)
                if owned in observer.objects if observer is not None else owned not in self._ended:
                    return True
        return False

    async def _delete(self, target: Target, uid: str) -> None:
        self._ended.add(uid)
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",  # a Job would leave its pods without an owner otherwise
        }
        body = msgspec.json.encode(options)
        await self._transport.request("DELETE", target.path, None, body, JSON)

    async def _finish(self, uid: str) -> None:
        for observer in self._observers.all.values():
            obj = observer.objects.get(uid)
            if obj is None:
                continue
            kept = [each for each in dig_list(obj, "metadata", "finalizers") if each != FOREGROUND]
            metadata = obj["metadata"]
            target = Target(observer.collection, dig_str(metadata, "namespace"), dig_str(metadata, "name"))
            await patch_finalizers(self._transport, target, kept)


async def some_at_once(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Do all of it, a few at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(each: Coroutine[None, None, None]) -> None:
        async with gate:
            await each

    await asyncio.gather(*map(one, work))


async def patch_finalizers(transport: Transport, target: Target, kept: object) -> None:
    """Leave an object only these finalizers."""
    body = msgspec.json.encode({"metadata": {"finalizers": kept or None}})
    await transport.request("PATCH", target.path, None, body, MERGE)


async def remove_all(transport: Transport, traffic: Traffic) -> None:
    """Delete everything that was created through this traffic, whatever holds it, namespaces last."""
    targets = {target for target, _ in traffic.created.values()}
    spaces = {each for each in targets if each.collection == NAMESPACES}
    named = {each.namespace for each in targets if each.namespace}
    for part in (targets - spaces, spaces):
        await some_at_once([_remove(transport, each) for each in part])
    for name in named:
        await transport.request("DELETE", f"{NAMESPACES}/{name}/events")
    traffic.created.clear()


async def _remove(transport: Transport, target: Target) -> None:
    options = (
        b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"}'
    )
    await patch_finalizers(transport, target, [])
    answer = await transport.request("DELETE", target.path, None, options, JSON)
    if answer.ok and target.collection == NAMESPACES:
        body = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"},"spec":{"finalizers":[]}}'
        await transport.request("PUT", f"{target.path}/finalize", None, body % target.name.encode(), JSON)
