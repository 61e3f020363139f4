"""What the server writes into a new or changed object of a built-in kind beyond defaults: selectors, finalizers, statuses.

Defaults are a client's silence spelled out and belong to whoever wrote the object; what happens here is the server's own
doing, comes after, and is nobody's in `managedFields`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.computed import TEMPLATE_GENERATION
from vcray.cluster.kinds.data import kinds_data, type_name
from vcray.cluster.kinds.decoding import struct_reader
from vcray.cluster.kinds.faults import Faults
from vcray.cluster.objects.record import section, text
from vcray.cluster.objects.review import User

_UID_LABEL, _NAME_LABEL = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_OLD_UID_LABEL, _OLD_NAME_LABEL = "controller-uid", "job-name"

_KEEPS_STATUS = frozenset({"nodes", "customresourcedefinitions.apiextensions.k8s.io"})
"""Resources with a status subresource whose status may be written at creation."""


def prepare_new(
    resource: str, api_version: str, kind: str, obj: JsonObject, now: str, has_status: bool
) -> None:
    """Complete a new object of the resource `plural.group`, in place."""
    if has_status and resource not in _KEEPS_STATUS:
        empty = empty_status(api_version, kind)
        if empty is None:
            obj.pop("status", None)
        else:
            obj["status"] = empty
    step = _NEW.get(resource)
    if step is not None:
        step(obj, now)


def prepare_changed(resource: str, old: JsonObject, obj: JsonObject, now: str) -> None:
    """Complete a changed object of the resource `plural.group`, in place."""
    step = _CHANGED.get(resource)
    if step is not None:
        step(old, obj)
    if resource == "persistentvolumes" and dig(old, "status", "phase") != dig(obj, "status", "phase"):
        section(obj, "status")["lastPhaseTransitionTime"] = now


def sign_for(request: JsonObject, user: User) -> None:
    """Note in a new certificate request who asks, in place."""
    spec = section(request, "spec")
    spec["username"], spec["groups"] = user.name, list(user.groups)
    for field in ("uid", "extra"):
        spec.pop(field, None)
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}


def empty_status(api_version: str, kind: str) -> JsonObject | None:
    """The status of an object that nobody has written one of, with its defaults; None if it is not shown."""
    return deepcopy(_empty_status(api_version, kind))


@cache
def _empty_status(api_version: str, kind: str) -> JsonObject | None:
    name = type_name(api_version, kind)
    if name is None:
        return None
    status = section(dict(kinds_data().types[name]), "properties").get("status")
    if not isinstance(status, dict) or not status.get("zero"):
        return None
    read = struct_reader(dig_str(status, "$ref"))({}, None, Faults())
    return read if isinstance(read, dict) else None


def _add_finalizer(name: str) -> Callable[[JsonObject, str], None]:
    def add(obj: JsonObject, now: str) -> None:
        metadata = section(obj, "metadata")
        present = metadata.get("finalizers")
        finalizers: list[JsonValue] = list(present) if isinstance(present, list) else []
        if name not in finalizers:
            metadata["finalizers"] = [*finalizers, name]

    return add


def _namespace(obj: JsonObject, now: str) -> None:
    spec = section(obj, "spec")
    present = spec.get("finalizers")
    finalizers: list[JsonValue] = list(present) if isinstance(present, list) else []
    spec["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
    obj["status"] = {"phase": "Active"}


def _volume(obj: JsonObject, now: str) -> None:
    section(obj, "status")["lastPhaseTransitionTime"] = now
    _add_finalizer("kubernetes.io/pv-protection")(obj, now)


def _stateful_set(obj: JsonObject, now: str) -> None:
    for claim in dig_objects(obj, "spec", "volumeClaimTemplates"):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
    rolling = section(section(obj, "spec"), "updateStrategy").get("rollingUpdate")
    if isinstance(rolling, dict):  # the gate MaxUnavailableStatefulSet is off
        rolling.pop("maxUnavailable", None)


def _daemon_set(obj: JsonObject, now: str) -> None:
    section(section(obj, "metadata"), "annotations")[TEMPLATE_GENERATION] = "1"


def _daemon_set_changed(old: JsonObject, obj: JsonObject) -> None:
    count = section(section(old, "metadata"), "annotations").get(TEMPLATE_GENERATION, "1")
    same = section(old, "spec").get("template") == section(obj, "spec").get("template")
    number = int(text(count)) if text(count).isdigit() else 1
    annotations = section(section(obj, "metadata"), "annotations")
    annotations[TEMPLATE_GENERATION] = str(number if same else number + 1)


def _job(obj: JsonObject, now: str) -> None:
    spec, metadata = section(obj, "spec"), section(obj, "metadata")
    if spec.get("manualSelector"):
        return
    labels = section(section(section(spec, "template"), "metadata"), "labels")
    uid, name = text(metadata.get("uid")), text(metadata.get("name"))
    marks: JsonObject = {_UID_LABEL: uid, _NAME_LABEL: name, _OLD_UID_LABEL: uid, _OLD_NAME_LABEL: name}
    shared = metadata.get("labels") in (None, labels)
    labels.update(marks)
    if shared:  # a job without labels shows those of its pods
        metadata["labels"] = dict(labels)
    selector = section(spec, "selector")
    section(selector, "matchLabels")[_UID_LABEL] = uid


def _priority_class(obj: JsonObject, now: str) -> None:
    obj.setdefault("value", 0)


def _stateful_set_changed(old: JsonObject, obj: JsonObject) -> None:
    _stateful_set(obj, "")


def _namespace_changed(old: JsonObject, obj: JsonObject) -> None:
    before = section(old, "spec").get("finalizers")
    if before is not None:
        section(obj, "spec")["finalizers"] = before


def _pod(obj: JsonObject, now: str) -> None:
    spec = section(obj, "spec")
    seconds = spec.get("terminationGracePeriodSeconds")
    if isinstance(seconds, int) and seconds < 0:
        spec["terminationGracePeriodSeconds"] = 1


_NEW: Mapping[str, Callable[[JsonObject, str], None]] = {
    "pods": _pod,
    "namespaces": _namespace,
    "persistentvolumes": _volume,
    "persistentvolumeclaims": _add_finalizer("kubernetes.io/pvc-protection"),
    "volumeattributesclasses.storage.k8s.io": _add_finalizer("kubernetes.io/vac-protection"),
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "priorityclasses.scheduling.k8s.io": _priority_class,
}


def _pod_changed(old: JsonObject, obj: JsonObject) -> None:
    """What admission computed stays where a client leaves it out, and so does the quality of service."""
    before, spec = section(old, "spec"), section(obj, "spec")
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and before.get(field) is not None:
            spec[field] = before[field]
    quality = section(old, "status").get("qosClass")
    if quality and not section(obj, "status").get("qosClass"):
        section(obj, "status")["qosClass"] = quality


_OUTWARD = ("NodePort", "LoadBalancer")


def _service_changed(old: JsonObject, obj: JsonObject) -> None:
    """What only the former type of a service has goes with it, unless the client says otherwise."""
    before, spec = section(old, "spec"), section(obj, "spec")
    was, now = text(before.get("type")), text(spec.get("type"))
    if was == now:
        return
    gone = []
    if was in _OUTWARD and now not in _OUTWARD:
        gone += ["externalTrafficPolicy", "healthCheckNodePort"]
        ports = {port.get("nodePort") for port in dig_objects(before, "ports")}
        for port in dig_objects(spec, "ports"):
            if port.get("nodePort") in ports:
                port.pop("nodePort", None)
    if was == "LoadBalancer":
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if now == "ExternalName":
        gone.append("internalTrafficPolicy")
    for field in gone:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


_CHANGED: Mapping[str, Callable[[JsonObject, JsonObject], None]] = {
    "pods": _pod_changed,
    "services": _service_changed,
    "namespaces": _namespace_changed,
    "daemonsets.apps": _daemon_set_changed,
    "statefulsets.apps": _stateful_set_changed,
}
