"""Claims and volumes in use are not taken away: their protection finalizer goes when nobody uses them any more."""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, Resource
from vcray.cluster.workloads.base import Controller, Shared, key_of, split
from vcray.cluster.workloads.informers import Informer
from vcray.cluster.workloads.podview import PodView
from vcray.kube.errors import Conflict, NotFound

_CLAIM, _VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
_SOON_S = 0.5


class _ProtectionController(Controller):
    """Frees the objects of one resource that are being deleted and not in use."""

    resource: Resource
    finalizer: str

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.objects: Informer[JsonObject] = shared.objects(self.resource)
        self.objects.on_change(self._changed)

    def _changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and self._waits(new):
            self.queue.add(key_of(new))

    def _waits(self, obj: JsonObject) -> bool:
        deleting = dig_str(obj, "metadata", "deletionTimestamp")
        return bool(deleting) and self.finalizer in dig_list(obj, "metadata", "finalizers")

    async def used(self, obj: JsonObject) -> bool:
        """Whether somebody still needs the object."""
        raise NotImplementedError

    async def reconcile(self, key: str) -> float | None:
        obj = self.objects.get(*split(key))
        if obj is None or not self._waits(obj) or await self.used(obj):
            return None
        left: list[JsonValue] = [
            item for item in dig_list(obj, "metadata", "finalizers") if item != self.finalizer
        ]
        metadata = obj["metadata"]
        freed: JsonObject = {**(metadata if isinstance(metadata, dict) else {}), "finalizers": left}
        try:
            with suppress(NotFound):
                await self.client.update(self.resource, {**obj, "metadata": freed})
        except Conflict:
            return _SOON_S
        return None


class ClaimProtectionController(_ProtectionController):
    """Frees claims that no pod uses; a pod that is done uses nothing."""

    name = "persistentvolumeclaim-protection-controller"
    resource = PERSISTENTVOLUMECLAIMS
    finalizer = _CLAIM

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        shared.pods.on_change(self._pod_changed)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        pod = new or old
        if pod is None or not (new is None or new.finished):
            return
        for claim in self.objects.in_namespace(pod.metadata.namespace):
            if self._waits(claim):
                self.queue.add(key_of(claim))

    async def used(self, obj: JsonObject) -> bool:
        """Whether a pod that is not done mounts the claim; asked of the server, as claims go seldom."""
        namespace, name = dig_str(obj, "metadata", "namespace"), dig_str(obj, "metadata", "name")
        listed = await self.client.list(PODS, namespace)
        return any(_mounts(pod, name) for pod in listed.items)


class VolumeProtectionController(_ProtectionController):
    """Frees volumes that are not bound."""

    name = "persistentvolume-protection-controller"
    resource = PERSISTENTVOLUMES
    finalizer = _VOLUME

    async def used(self, obj: JsonObject) -> bool:
        """Whether a claim is bound to the volume."""
        return dig_str(obj, "status", "phase") == "Bound"


def _mounts(pod: JsonObject, claim: str) -> bool:
    if dig_str(pod, "status", "phase") in ("Succeeded", "Failed"):
        return False
    names = {dig_str(v, "persistentVolumeClaim", "claimName") for v in dig_objects(pod, "spec", "volumes")}
    names |= {
        f"{dig_str(pod, 'metadata', 'name')}-{dig_str(v, 'name')}"
        for v in dig_objects(pod, "spec", "volumes")
        if v.get("ephemeral")
    }
    return claim in names
