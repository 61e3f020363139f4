"""What a pod's claims need before the pod is bound (PreBind), and how it is taken back.

Each call writes what is not yet written and says whether all has come true; it may be repeated at will, after a restart too,
since everything that it knows stands in the objects. As kube-scheduler does it: a volume gets the claim's name, a claim that
is to be provisioned the node's, a ResourceClaim its allocation and its user. Otherwise than there, what was written is taken
back when the placement fails, as long as nobody has gone on from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from vcray.actors.prebind_devices import DeviceClaims, PreBindError
from vcray.actors.runtime import Time
from vcray.api import names
from vcray.api.jsonview import dig, dig_object, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Resource
from vcray.cache.details.storage import read_volume
from vcray.core.decisions import Bind, Preparation
from vcray.core.selectors import satisfies
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound

__all__ = ["TIMED_OUT", "PreBind", "PreBindError"]

TIMED_OUT: Final = "binding volumes: context deadline exceeded"

Retried = Callable[[Callable[[], Awaitable[JsonObject]]], Awaitable[JsonObject]]


class PodGone(PreBindError):
    """The pod is no more."""


class PreBind:
    """Writes to claims and volumes. `retried` makes a request with patience for a busy server."""

    def __init__(self, client: KubeClient, time: Time, retried: Retried) -> None:
        self._client = client
        self._retried = retried
        self._devices = DeviceClaims(client, time, retried)

    async def prepare(self, bind: Bind, later: bool) -> bool:
        """Write what is missing; is the pod ready to be bound? Raises PreBindError when it can never be so: `later`, once all
        was written, what is missing again was taken away by a provisioner or controller that failed."""
        before = bind.before or Preparation()
        try:
            ready = await asyncio.gather(
                *(self._own(later, *each) for each in before.volumes),
                *(self._provision(bind, later, *each) for each in before.provisions),
                *(self._devices.reserve(bind, *each) for each in before.devices),
            )
        except VcrayError as error:
            raise PreBindError(str(error)) from error
        if not all(ready):
            await self._check_pod(bind)
        return all(ready)

    async def take_back(self, bind: Bind) -> None:
        """Undo what nobody has gone on from; what cannot be undone is left to who looks next."""
        before = bind.before or Preparation()
        await asyncio.gather(
            *(self._disown(*each) for each in before.volumes),
            *(self._forgo(bind, *each) for each in before.provisions),
            *(self._devices.release(bind, *each) for each in before.devices),
            return_exceptions=True,
        )

    # ---- volumes that exist ----

    async def _own(self, later: bool, key: str, uid: str, volume: str) -> bool:
        claim = await self._claim(key, uid)
        if _bound(claim):
            if dig_str(claim, "spec", "volumeName") != volume:
                raise PreBindError(
                    f'binding volumes: claim "{key}" got bound to "{dig_str(claim, "spec", "volumeName")}"'
                )
            return True
        namespace, _, name = key.partition("/")
        found = await self._get(PERSISTENTVOLUMES, None, volume)
        holder = dig_object(found, "spec", "claimRef")
        if (dig_str(holder, "namespace"), dig_str(holder, "name")) == (namespace, name):
            if dig_str(holder, "uid") == uid:
                return False
        elif holder:
            raise PreBindError(
                f'binding volumes: volume "{volume}" belongs to claim '
                f'"{dig_str(holder, "namespace")}/{dig_str(holder, "name")}"'
            )
        if later:
            raise PreBindError(f'binding volumes: ClaimRef got reset for pv "{volume}"')
        reference: JsonObject = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": name,
            "uid": uid,
            "resourceVersion": dig_str(claim, "metadata", "resourceVersion"),
        }
        await self._patch_volume(found, reference, "yes")
        return False

    async def _disown(self, key: str, uid: str, volume: str) -> None:
        claim = await self._client.get(PERSISTENTVOLUMECLAIMS, *key.split("/"))
        found = await self._client.get(PERSISTENTVOLUMES, None, volume)
        if dig_str(found, "spec", "claimRef", "uid") == uid and not dig_str(claim, "spec", "volumeName"):
            await self._patch_volume(found, None, None)

    async def _patch_volume(self, found: JsonObject, reference: JsonObject | None, by: str | None) -> None:
        metadata: JsonObject = {
            "resourceVersion": dig_str(found, "metadata", "resourceVersion"),
            "annotations": {names.BOUND_BY_CONTROLLER: by},
        }
        patch: JsonObject = {"metadata": metadata, "spec": {"claimRef": reference}}
        name = dig_str(found, "metadata", "name")
        await self._retried(lambda: self._client.patch(PERSISTENTVOLUMES, None, name, patch))

    # ---- volumes that are made ----

    async def _provision(self, bind: Bind, later: bool, key: str, uid: str) -> bool:
        claim = await self._claim(key, uid)
        if _bound(claim):
            await self._check_reach(bind, dig_str(claim, "spec", "volumeName"))
            return True
        selected = dig_strings(claim, "metadata", "annotations").get(names.SELECTED_NODE, "")
        if selected == bind.node:
            return False
        if selected or later:
            raise PreBindError(f'binding volumes: provisioning failed for PVC "{key.partition("/")[2]}"')
        await self._annotate(key, claim, bind.node)
        return False

    async def _forgo(self, bind: Bind, key: str, uid: str) -> None:
        claim = await self._client.get(PERSISTENTVOLUMECLAIMS, *key.split("/"))
        selected = dig_strings(claim, "metadata", "annotations").get(names.SELECTED_NODE, "")
        ours = dig_str(claim, "metadata", "uid") == uid and selected == bind.node
        if ours and not dig_str(claim, "spec", "volumeName"):
            await self._annotate(key, claim, None)

    async def _annotate(self, key: str, claim: JsonObject, node: str | None) -> None:
        metadata: JsonObject = {
            "resourceVersion": dig_str(claim, "metadata", "resourceVersion"),
            "annotations": {names.SELECTED_NODE: node},
        }
        namespace, _, name = key.partition("/")
        patch: JsonObject = {"metadata": metadata}
        await self._retried(lambda: self._client.patch(PERSISTENTVOLUMECLAIMS, namespace, name, patch))

    async def _check_reach(self, bind: Bind, volume: str) -> None:
        """A volume may have been made where the node does not reach it."""
        try:
            terms = read_volume(await self._get(PERSISTENTVOLUMES, None, volume)).nodes
        except PreBindError:
            return  # told of later than its claim
        if terms is None:
            return
        labels = dig_strings(await self._get(NODES, None, bind.node), "metadata", "labels")
        if not any(term.requirements and satisfies(term.requirements, labels) for term in terms):
            raise PreBindError(
                f'binding volumes: pv "{volume}" node affinity doesn\'t match node "{bind.node}"'
            )

    # ---- reading ----

    async def _claim(self, key: str, uid: str) -> JsonObject:
        namespace, _, name = key.partition("/")
        claim = await self._get(PERSISTENTVOLUMECLAIMS, namespace, name)
        if dig_str(claim, "metadata", "uid") != uid or dig(claim, "metadata", "deletionTimestamp"):
            raise PreBindError(f'binding volumes: persistentvolumeclaim "{name}" not found')
        return claim

    async def _get(self, resource: Resource, namespace: str | None, name: str) -> JsonObject:
        try:
            return await self._retried(lambda: self._client.get(resource, namespace, name))
        except NotFound as error:
            raise PreBindError(f'binding volumes: {resource.kind.lower()} "{name}" not found') from error

    async def _check_pod(self, bind: Bind) -> None:
        """Nothing is waited for on behalf of a pod that is gone."""
        namespace, _, name = bind.task.partition("/")
        try:
            pod = await self._retried(lambda: self._client.get(PODS, namespace, name))
        except NotFound as error:
            raise PodGone("pod does not exist any more") from error
        if dig_str(pod, "metadata", "uid") != bind.uid or dig(pod, "metadata", "deletionTimestamp"):
            raise PodGone("pod does not exist any more")


def _bound(claim: JsonObject) -> bool:
    """Is the claim bound for good?"""
    volume = dig_str(claim, "spec", "volumeName")
    completed = names.BIND_COMPLETED in dig_strings(claim, "metadata", "annotations")
    return bool(volume) and (completed or dig_str(claim, "status", "phase") == "Bound")
