"""Where the claims of a pod let it go, and what is written for those that wait for its node.

Rules: VolumeBinding of kube-scheduler. A claim that is bound confines the pod to nodes that reach its volume; one that waits for
its first consumer takes the smallest volume that the node reaches, or is made for the node.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.names import BOUND_BY_CONTROLLER, SELECTED_NODE
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
from vcray.api.wire import NodeSelectorTerm
from vcray.cache.podspec import node_term
from vcray.cluster.storageclasses import class_of
from vcray.cluster.workloads.base import Shared
from vcray.cluster.workloads.scheduling.fitting import reaches
from vcray.cluster.workloads.volumes.matching import best_match, wanted_size
from vcray.cluster.workloads.volumes.writes import Writes, claim_reference
from vcray.core.storage import NO_PROVISIONER
from vcray.plugins.predicates.volumes import UNMATCHED, UNREACHED

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class Step:
    """A claim that is to get `volume`, or to have one made for the node without one."""

    claim: JsonObject
    volume: JsonObject | None


class PodClaims:
    """The claims, volumes and classes of the cluster, asked for one pod at a time."""

    def __init__(self, shared: Shared) -> None:
        self.claims = shared.objects(PERSISTENTVOLUMECLAIMS)
        self.volumes = shared.objects(PERSISTENTVOLUMES)
        self.classes = shared.objects(STORAGECLASSES)
        self._writes = Writes(shared.client, self.claims, self.volumes)

    def of(self, namespace: str, names: Sequence[str]) -> list[JsonObject] | str:
        """The claims of a pod, or why it can go nowhere."""
        found: list[JsonObject] = []
        for name in names:
            claim = self.claims.get(namespace, name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if dig_str(claim, "metadata", "deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            if not is_bound(claim) and not self._waits(claim):
                return UNBOUND
            found.append(claim)
        return found

    def steps(self, claims: Sequence[JsonObject], node: JsonObject) -> list[Step] | str:
        """What each unbound claim would get on a node, or why the pod may not go there."""
        for claim in claims:
            if is_bound(claim):
                name = dig_str(claim, "spec", "volumeName")
                volume = self.volumes.get("", name)
                if volume is None:
                    return f'persistentvolume "{name}" not found'
                if not _reaches(node, volume):
                    return UNREACHED
        steps: list[Step] = []
        for claim in sorted((each for each in claims if not is_bound(each)), key=wanted_size):
            step = self._step(claim, node, [each.volume for each in steps])
            if step is None:
                return UNMATCHED
            steps.append(step)
        return steps

    async def take(self, steps: Sequence[Step], node: str) -> None:
        """Write who gets which volume, and for which node the others are to be made."""
        for step in steps:
            if step.volume is None:
                await self._writes.annotate_claim(step.claim, {SELECTED_NODE: node})
            elif dig(step.volume, "spec", "claimRef") is None:
                wanted = copy.deepcopy(step.volume)
                dig_object(wanted, "spec")["claimRef"] = claim_reference(step.claim)
                metadata = dig_object(wanted, "metadata")
                metadata["annotations"] = {
                    **dig_object(metadata, "annotations"),
                    BOUND_BY_CONTROLLER: "yes",
                }
                await self._writes.volume(step.volume, wanted)

    def _waits(self, claim: JsonObject) -> bool:
        storage_class = self.classes.get("", class_of(claim))
        return dig_str(storage_class, "volumeBindingMode") == "WaitForFirstConsumer"

    def _step(self, claim: JsonObject, node: JsonObject, taken: Sequence[JsonObject | None]) -> Step | None:
        selected = dig_str(claim, "metadata", "annotations", SELECTED_NODE)
        if selected:
            return Step(claim, None) if selected == dig_str(node, "metadata", "name") else None
        free = [each for each in self.volumes.objects.values() if each not in taken and _reaches(node, each)]
        volume = best_match(claim, free, False)
        if volume is not None:
            return Step(claim, volume)
        provisioner = dig_str(self.classes.get("", class_of(claim)), "provisioner")
        return None if provisioner in NO_PROVISIONER else Step(claim, None)


def is_bound(claim: JsonObject) -> bool:
    """Whether a claim has its volume."""
    return dig_str(claim, "status", "phase") == "Bound"


def _reaches(node: JsonObject, volume: JsonObject) -> bool:
    required = dig(volume, "spec", "nodeAffinity", "required")
    if required is None:
        return True
    terms = (msgspec.convert(each, NodeSelectorTerm) for each in dig_objects(required, "nodeSelectorTerms"))
    return reaches(map(node_term, terms), node)
