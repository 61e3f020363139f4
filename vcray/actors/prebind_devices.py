"""ResourceClaims before a pod is bound: the allocation that was decided, and the pod as user; and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from vcray.actors.runtime import Time
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import RESOURCECLAIMS
from vcray.api.wire import decode_object
from vcray.clock import rfc3339
from vcray.core.decisions import Bind
from vcray.kube.client import KubeClient
from vcray.kube.errors import Conflict, NotFound

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Keeps a claim until its devices are given back."""

_ID: Final = ("driver", "pool", "device")

TRIES: Final = 8
"""Reads of a claim that others write at the same time: pods of a gang that share it."""


class PreBindError(Exception):
    """The pod cannot be bound as it was decided; the text says why."""


class DeviceClaims:
    """Writes the status of ResourceClaims."""

    def __init__(
        self,
        client: KubeClient,
        time: Time,
        retried: Callable[[Callable[[], Awaitable[JsonObject]]], Awaitable[JsonObject]],
    ) -> None:
        self._client = client
        self._time = time
        self._retried = retried

    async def reserve(self, bind: Bind, key: str, uid: str, allocation: str) -> bool:
        """Write allocation and user where they are missing; are the devices ready? Raises PreBindError when somebody was
        faster, or when a device says that it never will be."""
        wanted = decode_object(allocation.encode()) if allocation else None
        for _ in range(TRIES):
            claim = await self._read(key, uid)
            if _uses(claim, bind.uid):
                return _ready(key, claim)
            status = self._changed(key, claim, wanted, bind)
            try:
                return _ready(key, await self._write(await self._protected(claim), status))
            except Conflict:
                continue
        raise PreBindError(f"add reservation to claim {key}: too many others write to it")

    async def _write(self, claim: JsonObject, status: JsonObject) -> JsonObject:
        body: JsonObject = {**claim, "status": status}
        return await self._retried(lambda: self._client.update_status(RESOURCECLAIMS, body))

    def _changed(self, key: str, claim: JsonObject, wanted: JsonObject | None, bind: Bind) -> JsonObject:
        there = dig_object(claim, "status", "allocation")
        if there and wanted is not None and _devices(there) != _devices(wanted):
            raise PreBindError(f"claim {key} got allocated elsewhere in the meantime")
        if not there and wanted is None:
            raise PreBindError(f"claim {key} got deallocated elsewhere in the meantime")
        user: JsonObject = {"resource": "pods", "name": bind.task.partition("/")[2], "uid": bind.uid}
        allocation: JsonObject = there or {
            **(wanted or {}),
            "allocationTimestamp": rfc3339(self._time.now()),
        }
        return {
            **dig_object(claim, "status"),
            "allocation": allocation,
            "reservedFor": [*dig_list(claim, "status", "reservedFor"), user],
        }

    async def release(self, bind: Bind, key: str, uid: str, allocation: str) -> None:
        """Take the pod off the users, and the devices back where it was the last one and they were decided for it."""
        for _ in range(TRIES):
            claim = await self._read(key, uid)
            if not _uses(claim, bind.uid):
                return
            users = [
                user
                for user in dig_objects(claim, "status", "reservedFor")
                if dig_str(user, "uid") != bind.uid
            ]
            status = dict(dig_object(claim, "status"))
            status["reservedFor"] = list(users)
            if not users and allocation:
                status.pop("allocation", None)
                status.pop("devices", None)
            try:
                await self._client.update_status(RESOURCECLAIMS, {**claim, "status": status})
                return
            except Conflict:
                continue

    async def _protected(self, claim: JsonObject) -> JsonObject:
        """The claim with the finalizer that a claim with devices has."""
        if FINALIZER in dig_list(claim, "metadata", "finalizers"):
            return claim
        metadata = dict(dig_object(claim, "metadata"))
        metadata["finalizers"] = [*dig_list(claim, "metadata", "finalizers"), FINALIZER]
        body: JsonObject = {**claim, "metadata": metadata}
        return await self._retried(lambda: self._client.update(RESOURCECLAIMS, body))

    async def _read(self, key: str, uid: str) -> JsonObject:
        namespace, _, name = key.partition("/")
        try:
            claim = await self._retried(lambda: self._client.get(RESOURCECLAIMS, namespace, name))
        except NotFound as error:
            raise PreBindError(f"claim {key} got deleted in the meantime") from error
        if dig_str(claim, "metadata", "uid") != uid or dig(claim, "metadata", "deletionTimestamp"):
            raise PreBindError(f"claim {key} got deleted in the meantime")
        return claim


def _uses(claim: JsonObject, uid: str) -> bool:
    return any(dig_str(user, "uid") == uid for user in dig_objects(claim, "status", "reservedFor"))


def _devices(allocation: JsonObject) -> object:
    """What an allocation gives away, whoever wrote it when."""
    return dig(allocation, "devices", "results")


def _ready(key: str, claim: JsonObject) -> bool:
    """Have all conditions come true that devices of the claim want before a pod uses them?"""
    told = {
        tuple(dig_str(device, name) for name in _ID): {
            dig_str(each, "type")
            for each in dig_objects(device, "conditions")
            if dig_str(each, "status") == "True"
        }
        for device in dig_objects(claim, "status", "devices")
    }
    ready = True
    for result in dig_objects(claim, "status", "allocation", "devices", "results"):
        true = told.get(tuple(dig_str(result, name) for name in _ID), set())
        failed = true.intersection(map(str, dig_list(result, "bindingFailureConditions")))
        if failed:
            raise PreBindError(
                f"device binding failed: claim={key}, device={dig_str(result, 'device')}, condition={min(failed)}"
            )
        ready = ready and true.issuperset(map(str, dig_list(result, "bindingConditions")))
    return ready
