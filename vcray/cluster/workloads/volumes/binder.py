"""The controller that brings claims and volumes together, and decides what becomes of volumes whose claims are gone.

Each object says by itself what it wants: a claim by `spec.volumeName`, a volume by `spec.claimRef`; a binding is done when both
agree. One worker takes turns of both kinds, so that no volume is promised twice. Unlike in Kubernetes nothing is looked at
again every 15 s: whatever may help a claim that waits brings it back.
"""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig, dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import SELECTED_NODE
from vcray.api.resources import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from vcray.cluster.storageclasses import class_of, default_class, leaves_open
from vcray.cluster.workloads.base import Controller, Shared, key_of, split
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.volumes.matching import (
    best_match,
    has_node,
    is_completed,
    is_meant_for,
    mismatch,
)
from vcray.cluster.workloads.volumes.provisioning import (
    DELETION_FINALIZER,
    HOST_PATH,
    IN_TREE,
    PROVISIONED_BY,
    deletion_problem,
    made_volume,
    refusal,
    selected_node,
    volume_name,
)
from vcray.cluster.workloads.volumes.writes import PROVISIONER_NOTES, Writes, claim_reference
from vcray.kube.errors import AlreadyExists, NotFound
from vcray.kube.events import NORMAL, WARNING

_UNBOUND = "no persistent volumes available for this claim and no storage class is set"
_LATER = "waiting for first consumer to be created before binding"


class VolumeBinder(Controller):
    """Claims (keys `namespace/name`) and volumes (keys `name`).

    `_waiting` are claims without a volume, `_reserved` the volumes by the claim that they name, free ones under no name.
    """

    name = "persistentvolume-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.claims = shared.objects(PERSISTENTVOLUMECLAIMS)
        self.volumes = shared.objects(PERSISTENTVOLUMES)
        self.classes = shared.objects(STORAGECLASSES)
        self.nodes = shared.objects(NODES)
        self._writes = Writes(shared.client, self.claims, self.volumes)
        self._waiting: set[str] = set()
        self._reserved: dict[str, set[str]] = {}
        self.claims.on_change(self._claim_changed)
        self.volumes.on_change(self._volume_changed)
        self.classes.on_change(lambda old, new: self._wake())
        shared.pods.on_change(self._pod_changed)

    # -- what happens -----------------------------------------------------------------------------------------

    def _claim_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        for claim in (old, new):
            if claim is not None:
                self.queue.add(key_of(claim))
                if dig_str(claim, "spec", "volumeName"):
                    self.queue.add(dig_str(claim, "spec", "volumeName"))
        if new is None and old is not None:
            self._waiting.discard(key_of(old))
            for name in self._reserved.get(key_of(old), ()):
                self.queue.add(name)

    def _volume_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        for volume in (old, new):
            if volume is None:
                continue
            key, claim = key_of(volume), _claim_key(volume)
            self.queue.add(key)
            if claim:
                self.queue.add(claim)
            self._reserved.setdefault(claim, set()).discard(key)
        if new is None:
            return
        self._reserved.setdefault(_claim_key(new), set()).add(key_of(new))
        if not _claim_key(new):
            self._wake(new)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if new is None or (old is not None and old.spec.node_name == new.spec.node_name):
            return
        for name in new.claims():
            self.queue.add(f"{new.metadata.namespace}/{name}")

    def _wake(self, volume: JsonObject | None = None) -> None:
        """Something came that may help claims that wait; a volume helps those of its class and those that name it."""
        for key in self._waiting:
            claim = self.claims.objects.get(key)
            if claim is None:
                continue
            named = dig_str(claim, "spec", "volumeName")
            if volume is None or (named == key_of(volume) if named else class_of(claim) == class_of(volume)):
                self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split(key)
        with suppress(NotFound):  # it is gone: its own event tells
            if not namespace:
                volume = self.volumes.get("", name)
                if volume is not None:
                    await self._volume(volume)
                return None
            claim = self.claims.get(namespace, name)
            if claim is None:
                self.queue.forget(key)
            elif is_completed(claim):
                await self._bound_claim(claim)
            else:
                await self._unbound_claim(key, claim)
        return None

    # -- claims -----------------------------------------------------------------------------------------------

    async def _unbound_claim(self, key: str, claim: JsonObject) -> None:
        self._waiting.add(key)
        named = dig_str(claim, "spec", "volumeName")
        if named:
            volume = self.volumes.get("", named)
            bound = volume is not None and await self._named(claim, volume)
        else:
            bound = await self._any(claim)
        if bound:
            self._waiting.discard(key)

    async def _named(self, claim: JsonObject, volume: JsonObject) -> bool:
        """Bind a claim to the volume that it names, unless that is another's or does not do."""
        name = dig_str(volume, "metadata", "name")
        if is_meant_for(volume, claim):
            why = ""
        elif dig(volume, "spec", "claimRef") is None:
            why = mismatch(volume, claim)
            if why:
                why = f'Cannot bind to requested volume "{name}": {why}'
                await self.tell(claim, WARNING, "VolumeMismatch", why)
        else:
            why = f'volume "{name}" already bound to a different claim.'
            await self.tell(claim, WARNING, "FailedBinding", why)
        if why:
            await self._writes.claim_phase(claim, "Pending")
            return False
        await self._writes.bind(volume, claim)
        return True

    async def _any(self, claim: JsonObject) -> bool:
        """Bind a claim to the best volume there is, have one made, or say what it waits for."""
        storage_class = self.classes.get("", class_of(claim))
        delayed = dig_str(storage_class, "volumeBindingMode") == "WaitForFirstConsumer"
        names = {*self._reserved.get("", ()), *self._reserved.get(key_of(claim), ())}
        volume = best_match(claim, (self.volumes.objects[name] for name in names), delayed)
        if volume is not None:
            await self._writes.bind(volume, claim)
            return True
        if leaves_open(claim):
            name = default_class(self.classes.objects.values())
            if name:
                spec: JsonObject = {**dig_object(claim, "spec"), "storageClassName": name}
                await self._writes.claim(claim, {**claim, "spec": spec})
                return False
        if delayed and not has_node(claim):
            await self._tell_delay(claim)
        elif class_of(claim):
            claim = await self._provide(claim, storage_class)
        else:
            await self.tell(claim, NORMAL, "FailedBinding", _UNBOUND)
        await self._writes.claim_phase(claim, "Pending")
        return False

    async def _tell_delay(self, claim: JsonObject) -> None:
        name = dig_str(claim, "metadata", "name")
        pods = [
            pod.metadata.name
            for pod in self.shared.pods.in_namespace(dig_str(claim, "metadata", "namespace"))
            if not pod.finished and not pod.spec.node_name and name in pod.claims()
        ]
        if not pods:
            await self.tell(claim, NORMAL, "WaitForFirstConsumer", _LATER)
            return
        who = f"pod{'s' if len(pods) > 1 else ''} {','.join(pods)}"
        await self.tell(claim, NORMAL, "WaitForPodScheduled", f"waiting for {who} to be scheduled")

    async def _provide(self, claim: JsonObject, storage_class: JsonObject | None) -> JsonObject:
        """Have a volume made for a claim, here or by another provisioner."""
        if storage_class is None:
            why = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            await self.tell(claim, WARNING, "ProvisioningFailed", why)
            return claim
        provisioner = dig_str(storage_class, "provisioner")
        if provisioner != HOST_PATH and provisioner.startswith(IN_TREE):
            why = f"no volume plugin matched name: {provisioner}"
            await self.tell(claim, WARNING, "ProvisioningFailed", why)
            return claim
        why = refusal(claim, storage_class, self.nodes.objects) if provisioner == HOST_PATH else ""
        if why:
            await self.tell(claim, WARNING, "ProvisioningFailed", why)
            gone = selected_node(claim) not in self.nodes.objects
            return await self._writes.annotate_claim(claim, {}, drop=SELECTED_NODE) if gone else claim
        told: JsonObject = dict.fromkeys(PROVISIONER_NOTES, provisioner)
        claim = await self._writes.annotate_claim(claim, told)
        if provisioner == HOST_PATH:
            await self._make(claim, storage_class)
            return claim
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        await self.tell(claim, NORMAL, "ExternalProvisioning", message)
        return claim

    async def _make(self, claim: JsonObject, storage_class: JsonObject) -> None:
        if self.volumes.get("", volume_name(claim)) is not None:
            return
        body = made_volume(claim, storage_class, claim_reference(claim))
        with suppress(AlreadyExists):
            self.volumes.put(await self.client.create(PERSISTENTVOLUMES, None, body))
        message = f"Successfully provisioned volume {volume_name(claim)} using {HOST_PATH}"
        await self.tell(claim, NORMAL, "ProvisioningSucceeded", message)

    async def _bound_claim(self, claim: JsonObject) -> None:
        """Keep a claim with its volume, or give it up for lost."""
        self._waiting.discard(key_of(claim))
        named = dig_str(claim, "spec", "volumeName")
        volume = self.volumes.get("", named) if named else None
        if volume is not None and dig_str(volume, "spec", "claimRef", "uid") in (
            "",
            dig_str(claim, "metadata", "uid"),
        ):
            await self._writes.bind(volume, claim)
            return
        reason, message = (
            "ClaimLost",
            "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
        )
        if not named:
            message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        elif volume is not None:
            reason = "ClaimMisbound"
            message = "Two claims are bound to the same volume, this one is bound incorrectly"
        if dig_str(claim, "status", "phase") != "Lost":
            lost = await self._writes.claim_phase(claim, "Lost")
            await self.tell(lost, WARNING, reason, message)

    # -- volumes ----------------------------------------------------------------------------------------------

    async def _volume(self, volume: JsonObject) -> None:
        reference = dig_object(volume, "spec", "claimRef")
        if not dig_str(reference, "uid"):
            await self._writes.volume_phase(volume, "Available")
            return
        claim = self.claims.get(dig_str(reference, "namespace"), dig_str(reference, "name"))
        if claim is None or dig_str(claim, "metadata", "uid") != dig_str(reference, "uid"):
            await self._release(volume)
            return
        named = dig_str(claim, "spec", "volumeName")
        if not named:
            self.queue.add(key_of(claim))
        elif named == dig_str(volume, "metadata", "name"):
            await self._writes.volume_phase(volume, "Bound")
        elif (
            dig_str(volume, "metadata", "annotations", PROVISIONED_BY)
            and dig_str(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete"
        ):
            await self._release(volume)
        else:
            await self._writes.unbind(volume)

    async def _release(self, volume: JsonObject) -> None:
        """The claim of a volume is gone: do as the reclaim policy says."""
        if dig_str(volume, "status", "phase") not in ("Released", "Failed"):
            volume = await self._writes.volume_phase(volume, "Released")
        if dig_str(volume, "spec", "persistentVolumeReclaimPolicy") != "Delete":
            return
        why = deletion_problem(volume)
        if why is None:
            return
        if why:
            if dig_str(volume, "status", "phase") != "Failed":
                failed = await self._writes.volume_phase(volume, "Failed", why)
                await self.tell(failed, WARNING, "VolumeFailedDelete", why)
            return
        finalizers = dig_list(volume, "metadata", "finalizers")
        kept: list[JsonValue] = [each for each in finalizers if each != DELETION_FINALIZER]
        if len(kept) < len(finalizers):
            metadata: JsonObject = {**dig_object(volume, "metadata"), "finalizers": kept}
            volume = await self._writes.volume(volume, {**volume, "metadata": metadata})
        if not dig_str(volume, "metadata", "deletionTimestamp"):
            name, uid = dig_str(volume, "metadata", "name"), dig_str(volume, "metadata", "uid")
            await self.client.delete(PERSISTENTVOLUMES, None, name, uid=uid)


def _claim_key(volume: JsonObject) -> str:
    """The claim that a volume names; empty for none."""
    reference = dig_object(volume, "spec", "claimRef")
    return f"{dig_str(reference, 'namespace')}/{dig_str(reference, 'name')}" if reference else ""
