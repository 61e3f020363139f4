"""Claims that pods bring along: `volumes[].ephemeral` is a template, and its claim goes with the pod."""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PODS
from vcray.cluster.workloads.base import Controller, Shared, owner_reference, split
from vcray.cluster.workloads.podview import PodView
from vcray.kube.errors import AlreadyExists, ApiError, NotFound
from vcray.kube.events import WARNING


class EphemeralVolumeController(Controller):
    """Makes the claim of each ephemeral volume, named `<pod>-<volume>` and owned by the pod; keys are pods'."""

    name = "ephemeral_volume"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.claims = shared.objects(PERSISTENTVOLUMECLAIMS)
        self.claims.on_change(self._claim_changed)
        shared.pods.on_change(self._pod_changed)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if new is not None and new.active and new.ephemeral_claims():
            self.queue.add(f"{new.metadata.namespace}/{new.metadata.name}")

    def _claim_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None or old is None:
            return
        for owner in dig_objects(old, "metadata", "ownerReferences"):
            if owner.get("kind") == PODS.kind:
                self.queue.add(f"{dig_str(old, 'metadata', 'namespace')}/{dig_str(owner, 'name')}")

    async def reconcile(self, key: str) -> float | None:
        view = self.shared.pods.objects.get(key)
        namespace, name = split(key)
        if view is None or not view.active:
            return None
        missing = [claim for claim in view.ephemeral_claims() if self.claims.get(namespace, claim) is None]
        if not missing:
            return None
        with suppress(NotFound):
            pod = await self.client.get(PODS, namespace, name)
            for volume in dig_objects(pod, "spec", "volumes"):
                claim = f"{name}-{dig_str(volume, 'name')}"
                if volume.get("ephemeral") and claim in missing:
                    await self._make(pod, claim, dig_object(volume, "ephemeral", "volumeClaimTemplate"))
        return None

    async def _make(self, pod: JsonObject, claim: str, template: JsonObject) -> None:
        metadata: JsonObject = {
            "name": claim,
            "labels": dig_object(template, "metadata", "labels"),
            "annotations": dig_object(template, "metadata", "annotations"),
            "ownerReferences": [owner_reference(PODS, pod)],
        }
        body: JsonObject = {"metadata": metadata, "spec": dig_object(template, "spec")}
        try:
            made = await self.client.create(
                PERSISTENTVOLUMECLAIMS, dig_str(pod, "metadata", "namespace"), body
            )
        except AlreadyExists:
            return
        except ApiError as error:
            why = f"ephemeral volume controller can't create PersistentVolumeClaim: {error.message}"
            await self.tell(pod, WARNING, "FailedCreate", why)
            raise
        self.claims.put(made)
