"""What may not change in objects of built-in kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from vcray.api.formats import forbidden, invalid
from vcray.api.jsonview import dig, dig_object, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.checks.workloads import IMMUTABLE, immutable
from vcray.cluster.storageclasses import leaves_open

Comparison: TypeAlias = Callable[[JsonObject, JsonObject], Iterable[str]]
"""The field errors of a change: what was, what is wanted."""

_STATEFUL_FREE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _deployment(old: JsonObject, new: JsonObject) -> Iterator[str]:
    yield from immutable(old, new, "spec", "selector")


def _config(old: JsonObject, new: JsonObject) -> Iterator[str]:
    """ConfigMaps and Secrets that are marked as immutable stay as they are."""
    if old.get("immutable") is not True:
        return
    why = "field is immutable when `immutable` is set"
    if new.get("immutable") is not True:
        yield forbidden("immutable", why)
    for field in ("data", "binaryData"):
        if dig_object(old, field) != dig_object(new, field):
            yield forbidden(field, why)


def _secret(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if old.get("type") != new.get("type"):
        yield invalid("type", new.get("type"), IMMUTABLE)
    yield from _config(old, new)


def _stateful_set(old: JsonObject, new: JsonObject) -> Iterator[str]:
    kept = [
        {key: value for key, value in dig_object(obj, "spec").items() if key not in _STATEFUL_FREE}
        for obj in (old, new)
    ]
    if kept[0] != kept[1]:
        listed = ", ".join(f"'{field}'" for field in _STATEFUL_FREE[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and '{_STATEFUL_FREE[-1]}' are forbidden"
        yield forbidden("spec", why)


def _job(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if dig(old, "spec", "completionMode") != "Indexed" or dig(new, "spec", "completionMode") != "Indexed":
        yield from immutable(old, new, "spec", "completions")
    yield from immutable(old, new, "spec", "selector")
    if not _free_template(old) and dig(old, "spec", "template") != dig(new, "spec", "template"):
        yield invalid("spec.template", _go_template(dig(new, "spec", "template")), IMMUTABLE)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from immutable(old, new, "spec", field)


def _free_template(old: JsonObject) -> bool:
    """Whether a job may be directed elsewhere: it is suspended, says so, and has no pod left."""
    return (
        dig(old, "spec", "suspend") is True and holds(old, "Suspended") and not dig(old, "status", "active")
    )


def _go_template(template: JsonValue) -> JsonValue:
    return template


def _claim(old: JsonObject, new: JsonObject) -> Iterator[str]:
    before, after = dict(dig_object(old, "spec")), dict(dig_object(new, "spec"))
    for spec in (before, after):
        spec.pop("resources", None)
        spec.pop("volumeAttributesClassName", None)
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        after.pop("volumeName", None)
    if leaves_open(old):  # the default class may be set later
        before.pop("storageClassName", None)
        after.pop("storageClassName", None)
    if before != after:
        why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        yield forbidden("spec", why)


def _priority_class(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if old.get("value") != new.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield forbidden("preemptionPolicy", "may not be changed in an update.")


def _binding(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if old.get("roleRef") != new.get("roleRef"):
        yield invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def _volume(old: JsonObject, new: JsonObject) -> Iterator[str]:
    kept = ("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName")
    others = ("mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName")
    sources = [
        {key: value for key, value in dig_object(obj, "spec").items() if key not in (*kept, *others)}
        for obj in (old, new)
    ]
    if sources[0] != sources[1]:
        why = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", why)
    yield from immutable(old, new, "spec", "volumeMode")


_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}


def _new_event(old: JsonObject, new: JsonObject) -> Iterator[str]:
    """Only the series of an event of events.k8s.io changes."""
    for field, told in _EVENT_FIELDS.items():
        if old.get(field) != new.get(field):
            yield invalid(told, new.get(field), IMMUTABLE)


def _service(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if dig(new, "status", "loadBalancer", "ingress") and dig(new, "spec", "type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        yield forbidden("status.loadBalancer.ingress", why)
    if "ExternalName" in (dig(old, "spec", "type"), dig(new, "spec", "type")):
        return
    before, after = dig(old, "spec", "clusterIPs"), dig(new, "spec", "clusterIPs")
    if before and isinstance(before, list) and isinstance(after, list) and before[0] != after[0]:
        yield invalid("spec.clusterIPs[0]", after, "may not change once set")


def _storage_class(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if old.get("parameters") != new.get("parameters"):
        yield forbidden("parameters", "updates to parameters are forbidden.")
    if old.get("provisioner") != new.get("provisioner"):
        yield forbidden("provisioner", "updates to provisioner are forbidden.")
    if old.get("reclaimPolicy") != new.get("reclaimPolicy"):
        yield forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden.")
    if old.get("volumeBindingMode") != new.get("volumeBindingMode"):
        yield invalid("volumeBindingMode", new.get("volumeBindingMode"), IMMUTABLE)


def _runtime_class(old: JsonObject, new: JsonObject) -> Iterator[str]:
    yield from immutable(old, new, "handler")


def _slice(old: JsonObject, new: JsonObject) -> Iterator[str]:
    yield from immutable(old, new, "addressType")


def _revision(old: JsonObject, new: JsonObject) -> Iterator[str]:
    yield from immutable(old, new, "data")


COMPARISONS: Mapping[str, Comparison] = {
    "deployments.apps": _deployment,
    "replicasets.apps": _deployment,
    "daemonsets.apps": _deployment,
    "statefulsets.apps": _stateful_set,
    "controllerrevisions.apps": _revision,
    "jobs.batch": _job,
    "configmaps": _config,
    "secrets": _secret,
    "services": _service,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "events.events.k8s.io": _new_event,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
    "storageclasses.storage.k8s.io": _storage_class,
    "runtimeclasses.node.k8s.io": _runtime_class,
    "endpointslices.discovery.k8s.io": _slice,
}
"""Resource (`plural.group`) -> what is refused in a change of it."""
