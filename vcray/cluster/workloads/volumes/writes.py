"""The single steps by which a claim and a volume come together and part, each written only if it changes something.

Every write names the version that was read; whoever was slower begins again (Conflict).
"""

from __future__ import annotations

import copy

from vcray.api.jsonview import dig, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import BIND_COMPLETED, BOUND_BY_CONTROLLER
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES
from vcray.cluster.workloads.informers import Informer
from vcray.cluster.workloads.volumes.matching import is_meant_for
from vcray.kube.client import KubeClient

PROVISIONER_NOTES = (
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
)
"""Annotations of a claim that tell who is to make its volume."""


class Writes:
    """Writes claims and volumes; answers go into the informers at once, and are returned."""

    def __init__(
        self, client: KubeClient, claims: Informer[JsonObject], volumes: Informer[JsonObject]
    ) -> None:
        self._client = client
        self._claims = claims
        self._volumes = volumes

    # -- volumes ----------------------------------------------------------------------------------------------

    async def volume(self, volume: JsonObject, wanted: JsonObject, sub: str | None = None) -> JsonObject:
        """Write a volume, or its status, unless it is so already."""
        if volume == wanted:
            return volume
        answer = await self._client.update(PERSISTENTVOLUMES, wanted, sub)
        self._volumes.put(answer)
        return answer

    async def volume_phase(self, volume: JsonObject, phase: str, message: str = "") -> JsonObject:
        """Set the phase of a volume."""
        if dig_str(volume, "status", "phase") == phase:
            return volume
        status: JsonObject = {**dig_object(volume, "status"), "phase": phase}
        status.pop("message", None)
        if message:
            status["message"] = message
        return await self.volume(volume, {**volume, "status": status}, "status")

    async def unbind(self, volume: JsonObject) -> JsonObject:
        """Take a volume from its claim; what a user has reserved stays reserved."""
        wanted = copy.deepcopy(volume)
        notes = dig_object(wanted, "metadata", "annotations")
        if BOUND_BY_CONTROLLER in notes:
            del notes[BOUND_BY_CONTROLLER]
            dig_object(wanted, "spec").pop("claimRef", None)
        else:
            dig_object(wanted, "spec", "claimRef").pop("uid", None)
        return await self.volume_phase(await self.volume(volume, wanted), "Available")

    # -- claims -----------------------------------------------------------------------------------------------

    async def claim(self, claim: JsonObject, wanted: JsonObject, sub: str | None = None) -> JsonObject:
        """Write a claim, or its status, unless it is so already."""
        if claim == wanted:
            return claim
        answer = await self._client.update(PERSISTENTVOLUMECLAIMS, wanted, sub)
        self._claims.put(answer)
        return answer

    async def claim_phase(
        self, claim: JsonObject, phase: str, volume: JsonObject | None = None
    ) -> JsonObject:
        """Set the phase of a claim, and what it has got from its volume."""
        status: JsonObject = {**dig_object(claim, "status")}
        changes = status.get("phase") != phase
        status["phase"] = phase
        if volume is None:
            status.pop("accessModes", None)
            status.pop("capacity", None)
        else:
            status["accessModes"] = dig(volume, "spec", "accessModes")
            if changes:
                status["capacity"] = dig(volume, "spec", "capacity")
                attributes = dig_str(volume, "spec", "volumeAttributesClassName")
                if attributes:
                    status["currentVolumeAttributesClassName"] = attributes
        return await self.claim(claim, {**claim, "status": status}, "status")

    async def annotate_claim(self, claim: JsonObject, notes: JsonObject, drop: str = "") -> JsonObject:
        """Add annotations to a claim, and take one away."""
        wanted = copy.deepcopy(claim)
        present: JsonObject = {**dig_object(wanted, "metadata", "annotations"), **notes}
        present.pop(drop, None)
        dig_object(wanted, "metadata")["annotations"] = present
        return await self.claim(claim, wanted)

    # -- both -------------------------------------------------------------------------------------------------

    async def bind(self, volume: JsonObject, claim: JsonObject) -> None:
        """Point volume and claim at each other, the volume first, and say so in both statuses."""
        wanted = copy.deepcopy(volume)
        if not is_meant_for(volume, claim):
            _note(wanted, BOUND_BY_CONTROLLER)
        reference = claim_reference(claim)
        if any(
            dig(volume, "spec", "claimRef", field) != reference[field]
            for field in ("name", "namespace", "uid")
        ):
            dig_object(wanted, "spec")["claimRef"] = reference
        bound = await self.volume_phase(await self.volume(volume, wanted), "Bound")
        name = dig_str(bound, "metadata", "name")
        wanted = copy.deepcopy(claim)
        if dig_str(claim, "spec", "volumeName") != name:
            dig_object(wanted, "spec")["volumeName"] = name
            _note(wanted, BOUND_BY_CONTROLLER)
        _note(wanted, BIND_COMPLETED)
        await self.claim_phase(await self.claim(claim, wanted), "Bound", bound)


def claim_reference(claim: JsonObject) -> JsonObject:
    """The claimRef of a claim."""
    fields = ("namespace", "name", "uid", "resourceVersion")
    named: dict[str, JsonValue] = {field: dig_str(claim, "metadata", field) for field in fields}
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **named}


def _note(obj: JsonObject, name: str) -> None:
    """Add an annotation in place unless it is there."""
    metadata = dig_object(obj, "metadata")
    notes = dig_object(metadata, "annotations")
    if name not in notes:
        metadata["annotations"] = {**notes, name: "yes"}
