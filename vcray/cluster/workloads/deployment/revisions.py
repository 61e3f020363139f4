"""Which ReplicaSet holds a deployment's present template, how sets are named, and how revisions are counted. Pure."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from vcray.api.jsonview import dig_int, dig_object, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS
from vcray.cluster.workloads.base import owner_reference
from vcray.cluster.workloads.deployment.sizes import DESIRED, MOST, bounds, replicas
from vcray.cluster.workloads.history import short_hash

HASH_LABEL = "pod-template-hash"
REVISION, HISTORY = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    }
)
_HISTORY_LIMIT = 2000
_LONGEST_NAME = 253


def same_template(left: JsonObject, right: JsonObject) -> bool:
    """Whether two pod templates are the same but for the hash label."""
    return _bare(left) == _bare(right)


def _bare(template: JsonObject) -> JsonObject:
    metadata: JsonObject = {name: value for name, value in dig_object(template, "metadata").items() if value}
    labels = {name: value for name, value in dig_object(metadata, "labels").items() if name != HASH_LABEL}
    metadata.pop("labels", None)
    metadata.pop("creationTimestamp", None)
    return {"metadata": {**metadata, "labels": labels}, "spec": dig_object(template, "spec")}


def sort_by_age(sets: Sequence[JsonObject]) -> list[JsonObject]:
    """Oldest first."""

    def age(each: JsonObject) -> tuple[str, str]:
        return dig_str(each, "metadata", "creationTimestamp"), dig_str(each, "metadata", "name")

    return sorted(sets, key=age)


def newest(deployment: JsonObject, sets: Sequence[JsonObject]) -> JsonObject | None:
    """The set that holds the deployment's template; the oldest of several."""
    template = dig_object(deployment, "spec", "template")
    for each in sort_by_age(sets):
        if same_template(dig_object(each, "spec", "template"), template):
            return each
    return None


def revision(obj: JsonObject) -> int:
    """The revision number in an object's annotations; 0 without one."""
    text = dig_strings(obj, "metadata", "annotations").get(REVISION, "")
    return int(text) if text.isdigit() else 0


def template_hash(deployment: JsonObject) -> str:
    """What tells this template from others of the deployment."""
    collisions = dig_int(deployment, "status", "collisionCount")
    return short_hash(_bare(dig_object(deployment, "spec", "template")), collisions)


def new_set(deployment: JsonObject, old: Sequence[JsonObject], size: int) -> JsonObject:
    """A set for the deployment's template."""
    mark = template_hash(deployment)
    template = copy.deepcopy(dig_object(deployment, "spec", "template"))
    labels: JsonObject = {**dig_object(template, "metadata", "labels"), HASH_LABEL: mark}
    template["metadata"] = {**dig_object(template, "metadata"), "labels": labels}
    selector = copy.deepcopy(dig_object(deployment, "spec", "selector"))
    selector["matchLabels"] = {**dig_object(selector, "matchLabels"), HASH_LABEL: mark}
    name = dig_str(deployment, "metadata", "name")[: _LONGEST_NAME - len(mark) - 1]
    made: JsonObject = {
        "metadata": {
            "name": f"{name}-{mark}",
            "namespace": dig_str(deployment, "metadata", "namespace"),
            "labels": {**labels},
            "ownerReferences": [owner_reference(DEPLOYMENTS, deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": dig_int(deployment, "spec", "minReadySeconds"),
            "selector": selector,
            "template": template,
        },
    }
    annotations = {**annotations_for(deployment, made, old), **size_notes(deployment)}
    dig_object(made, "metadata")["annotations"] = {**annotations}
    return made


def size_notes(deployment: JsonObject) -> dict[str, str]:
    """The annotations by which a later scaling of the deployment is told from a rollout."""
    wanted = replicas(deployment)
    return {DESIRED: str(wanted), MOST: str(wanted + bounds(deployment)[0])}


def annotations_for(
    deployment: JsonObject, replica_set: JsonObject, old: Sequence[JsonObject]
) -> dict[str, str]:
    """The annotations of the newest set: the deployment's own, and a revision above those of all others."""
    made = dig_strings(replica_set, "metadata", "annotations")
    for name, value in dig_strings(deployment, "metadata", "annotations").items():
        if name not in _NOT_COPIED:
            made[name] = value
    present, following = revision(replica_set), max(map(revision, old), default=0) + 1
    if present >= following:
        return made
    if REVISION in made:
        history = [*filter(None, made.get(HISTORY, "").split(",")), made[REVISION]]
        while len(",".join(history)) > _HISTORY_LIMIT:
            history.pop(0)
        made[HISTORY] = ",".join(history)
    made[REVISION] = str(following)
    return made
