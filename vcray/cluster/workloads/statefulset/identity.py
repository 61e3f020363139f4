"""Who is who in a StatefulSet: ordinals, names, labels, and the pod of an ordinal. Pure."""

from __future__ import annotations

import re

from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import STATEFULSETS
from vcray.cluster.workloads.history import HASH_LABEL, name_of, template_of
from vcray.cluster.workloads.podcontrol import pod_from
from vcray.cluster.workloads.statefulset.claims import claim_name, claim_templates

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
_MEMBER = re.compile(r"(.*)-(0|[1-9][0-9]{0,8})", re.DOTALL)


def ordinal_of(stateful_set: JsonObject, pod: str) -> int | None:
    """The ordinal in a pod's name; None for a name that the set does not give."""
    found = _MEMBER.fullmatch(pod)
    return int(found[2]) if found and found[1] == dig_str(stateful_set, "metadata", "name") else None


def ordinals(stateful_set: JsonObject) -> range:
    """The ordinals of the pods that there should be."""
    start = dig_int(stateful_set, "spec", "ordinals", "start")
    return range(start, start + dig_int(stateful_set, "spec", "replicas", default=1))


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """The labels by which one pod of a set is told from the others."""
    return {NAME_LABEL: name, INDEX_LABEL: str(ordinal)}


def member(stateful_set: JsonObject, revision: JsonObject, ordinal: int) -> JsonObject:
    """The pod of an ordinal, of a revision's template, with its claims as volumes."""
    pod = pod_from(STATEFULSETS, stateful_set, template_of(revision))
    metadata, spec = dig_object(pod, "metadata"), dig_object(pod, "spec")
    name = f"{dig_str(stateful_set, 'metadata', 'name')}-{ordinal}"
    labels: JsonObject = {**dig_object(metadata, "labels"), **identity_labels(name, ordinal)}
    metadata.update(name=name, labels={**labels, HASH_LABEL: name_of(revision)})
    spec["hostname"] = name
    service = dig_str(stateful_set, "spec", "serviceName")
    spec.pop("subdomain", None)
    if service:
        spec["subdomain"] = service
    claims: dict[str, JsonValue] = {
        dig_str(each, "metadata", "name"): {
            "name": dig_str(each, "metadata", "name"),
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, each, ordinal)},
        }
        for each in claim_templates(stateful_set)
    }
    if claims:
        others = [each for each in dig_objects(spec, "volumes") if dig_str(each, "name") not in claims]
        spec["volumes"] = [*claims.values(), *others]
    return pod
