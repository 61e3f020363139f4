"""The claims of a StatefulSet's pods: their names, their content, and who owns them under its retention policy. Pure.

A claim that is to go with its set is owned by the set, one that is to go with a pod that was scaled away by that pod; the
garbage collector does the rest. Claims in which somebody else's hand shows are left as they are.
"""

from __future__ import annotations

from vcray.api.jsonview import dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, STATEFULSETS, Resource
from vcray.cluster.workloads.base import owner_reference

_DELETE = "Delete"


def claim_templates(stateful_set: JsonObject) -> list[JsonObject]:
    """The templates of a set's claims."""
    return dig_objects(stateful_set, "spec", "volumeClaimTemplates")


def claim_name(stateful_set: JsonObject, template: JsonObject, ordinal: int) -> str:
    """The name of the claim that the pod of an ordinal has of a template."""
    parts = (dig_str(template, "metadata", "name"), dig_str(stateful_set, "metadata", "name"), str(ordinal))
    return "-".join(parts)


def claims_of(stateful_set: JsonObject, ordinal: int) -> list[JsonObject]:
    """The claims of an ordinal's pod, as they are created."""
    made: list[JsonObject] = []
    for template in claim_templates(stateful_set):
        labels = dig_strings(template, "metadata", "labels")
        labels |= dig_strings(stateful_set, "spec", "selector", "matchLabels")
        metadata: JsonObject = {
            **dig_object(template, "metadata"),
            "name": claim_name(stateful_set, template, ordinal),
            "namespace": dig_str(stateful_set, "metadata", "namespace"),
            "labels": {**labels},
        }
        made.append({**template, "metadata": metadata})
    return made


def _deletes(stateful_set: JsonObject, when: str) -> bool:
    return dig_str(stateful_set, "spec", "persistentVolumeClaimRetentionPolicy", when) == _DELETE


def is_stale(stateful_set: JsonObject, claim: JsonObject, pod: str) -> bool:
    """Whether a claim goes with a former pod of that name, so that a new one must wait until it is gone."""
    if not _deletes(stateful_set, "whenScaled"):
        return False
    return any(
        _names(each, PODS, pod) and each.get("uid")
        for each in dig_objects(claim, "metadata", "ownerReferences")
    )


def has_conflict(stateful_set: JsonObject, claim: JsonObject, pod: JsonObject) -> bool:
    """Whether somebody else controls a claim that is to be deleted at some time."""
    if not (_deletes(stateful_set, "whenScaled") or _deletes(stateful_set, "whenDeleted")):
        return False
    _, others = _parted(stateful_set, claim, pod)
    return any(each.get("controller") is True for each in others)


def owners_wanted(
    stateful_set: JsonObject, claim: JsonObject, pod: JsonObject, scaled_away: bool
) -> list[JsonObject] | None:
    """The owner references that a claim should have; None if it is to stay as it is.

    `pod` needs no more than its metadata's name and uid.
    """
    ours, others = _parted(stateful_set, claim, pod)
    known = {dig_str(each, "metadata", "uid") for each in (stateful_set, pod)}
    if any(each.get("uid") not in known for each in ours):
        return None
    wanted: list[JsonObject] = []
    if has_conflict(stateful_set, claim, pod):
        return others if ours else None
    if scaled_away and _deletes(stateful_set, "whenScaled"):
        wanted = [owner_reference(PODS, pod)]
    elif _deletes(stateful_set, "whenDeleted"):
        wanted = [owner_reference(STATEFULSETS, stateful_set)]
    same = {each.get("uid") for each in ours} == {each.get("uid") for each in wanted}
    if same and all(each.get("controller") is True for each in ours):
        return None
    return [*others, *wanted]


def _parted(
    stateful_set: JsonObject, claim: JsonObject, pod: JsonObject
) -> tuple[list[JsonObject], list[JsonObject]]:
    """A claim's owner references to the set or the pod, of whatever uid, and all others."""
    pairs = ((STATEFULSETS, stateful_set), (PODS, pod))
    ours: list[JsonObject] = []
    others: list[JsonObject] = []
    for each in dig_objects(claim, "metadata", "ownerReferences"):
        mine = any(_names(each, resource, dig_str(owner, "metadata", "name")) for resource, owner in pairs)
        (ours if mine else others).append(each)
    return ours, others


def _names(reference: JsonObject, resource: Resource, name: str) -> bool:
    found = (reference.get("apiVersion"), reference.get("kind"), reference.get("name"))
    return found == (resource.api_version, resource.kind, name)
