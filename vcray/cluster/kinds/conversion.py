"""One stored object, several served versions: how it is turned from one into another.

`core/v1` and `events.k8s.io/v1` events are one object in two shapes, so are the versions of the HorizontalPodAutoscaler,
whose older one keeps in annotations what it has no field for. The versions of a custom kind differ in `apiVersion` only,
unless a conversion webhook says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from vcray.api.jsonview import dig, dig_object, dig_objects
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import EVENTS, EVENTS_V1, Resource
from vcray.cluster.kinds.data import type_name
from vcray.cluster.kinds.decoding import read_object
from vcray.cluster.kinds.faults import Faults

Converter: TypeAlias = Callable[[JsonObject], JsonObject]

AUTOSCALERS_V1 = Resource(
    "autoscaling",
    "v1",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    short_names=("hpa",),
    subresources=("status",),
)
AUTOSCALERS_V2 = Resource(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    short_names=("hpa",),
    subresources=("status",),
)
STORED_AS = {EVENTS_V1: EVENTS, AUTOSCALERS_V1: AUTOSCALERS_V2}
"""Resources that are kept as objects of another one."""

_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
"""The fields of an event by their names in events.k8s.io/v1 and in core/v1; the others are called alike."""

_CORE_EVENT_FIELDS = {core: name for name, core in _EVENT_FIELDS.items()}
_ANNOTATION = "autoscaling.alpha.kubernetes.io/"


def siblings(resource: Resource) -> list[Resource]:
    """The resources of built-in kinds that show the same objects, the resource itself among them."""
    stored = STORED_AS.get(resource, resource)
    return [stored, *(other for other, kept in STORED_AS.items() if kept == stored)]


def converted(obj: JsonObject, source: Resource, target: Resource) -> JsonObject:
    """The object of resource `source` in the shape of `target`; the object itself is not altered."""
    converter = _CONVERTERS.get((source, target))
    result = obj if converter is None else converter(obj)
    result = {**result, "apiVersion": target.api_version, "kind": target.kind}
    name = None if converter is None else type_name(target.api_version, target.kind)
    return result if name is None else read_object(name, result, Faults())


def _core_event(event: JsonObject) -> JsonObject:
    return {_EVENT_FIELDS.get(name, name): value for name, value in event.items()}


def _new_event(event: JsonObject) -> JsonObject:
    return {_CORE_EVENT_FIELDS.get(name, name): value for name, value in event.items()}


def _autoscaler_v2(old: JsonObject) -> JsonObject:
    spec, status = dict(dig_object(old, "spec")), dict(dig_object(old, "status"))
    metadata, kept = _without_annotations(dig_object(old, "metadata"))
    metrics: list[JsonValue] = []
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is not None:
        metrics.append(_cpu_metric("target", {"type": "Utilization", "averageUtilization": target}))
    metrics += _renamed_metrics(kept.get("metrics"), to_v2=True)
    if metrics:
        spec["metrics"] = metrics
    if isinstance(kept.get("behavior"), dict):
        spec["behavior"] = kept["behavior"]
    current: list[JsonValue] = []
    usage = status.pop("currentCPUUtilizationPercentage", None)
    if usage is not None:
        current.append(_cpu_metric("current", {"averageUtilization": usage}))
    current += _renamed_metrics(kept.get("current-metrics"), to_v2=True)
    if current:
        status["currentMetrics"] = current
    if kept.get("conditions"):
        status["conditions"] = kept["conditions"]
    return _with_status(old, metadata, spec, status)


def _autoscaler_v1(new: JsonObject) -> JsonObject:
    spec, status = dict(dig_object(new, "spec")), dict(dig_object(new, "status"))
    metadata = dict(dig_object(new, "metadata"))
    notes: JsonObject = dict(dig_object(metadata, "annotations"))
    rest: list[JsonValue] = []
    for metric in dig_objects({"metrics": spec.pop("metrics", None)}, "metrics"):
        used = dig(metric, "resource", "target", "averageUtilization")
        if dig(metric, "resource", "name") == "cpu" and used is not None and metric.get("type") == "Resource":
            spec["targetCPUUtilizationPercentage"] = used
        else:
            rest.append(metric)
    _note(notes, "metrics", _renamed_metrics(rest, to_v2=False))
    _note(notes, "behavior", spec.pop("behavior", None))
    rest = []
    for metric in dig_objects({"metrics": status.pop("currentMetrics", None)}, "metrics"):
        used = dig(metric, "resource", "current", "averageUtilization")
        if dig(metric, "resource", "name") == "cpu" and used is not None and metric.get("type") == "Resource":
            status["currentCPUUtilizationPercentage"] = used
        else:
            rest.append(metric)
    _note(notes, "current-metrics", _renamed_metrics(rest, to_v2=False))
    _note(notes, "conditions", status.pop("conditions", None))
    if notes:
        metadata["annotations"] = notes
    return _with_status(new, metadata, spec, status)


def _with_status(obj: JsonObject, metadata: JsonObject, spec: JsonObject, status: JsonObject) -> JsonObject:
    result: JsonObject = {**obj, "metadata": metadata, "spec": spec}
    if "status" in obj or status:
        result["status"] = status
    return result


def _cpu_metric(field: str, value: JsonObject) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", field: value}}


def _note(notes: JsonObject, name: str, value: JsonValue) -> None:
    if value:
        notes[_ANNOTATION + name] = msgspec.json.encode(value).decode()


def _without_annotations(metadata: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The metadata without what the older version keeps in annotations, and that, decoded."""
    notes, kept = dict(dig_object(metadata, "annotations")), JsonObject()
    for name in ("metrics", "behavior", "current-metrics", "conditions"):
        value = notes.pop(_ANNOTATION + name, None)
        if isinstance(value, str):
            try:
                kept[name] = msgspec.json.decode(value)
            except msgspec.DecodeError:
                notes[_ANNOTATION + name] = value
    result = {key: value for key, value in metadata.items() if key != "annotations"}
    return ({**result, "annotations": notes} if notes else result), kept


def _renamed_metrics(metrics: JsonValue, to_v2: bool) -> list[JsonValue]:
    """Resource metrics between the form of the annotation (targetAverageUtilization) and that of v2 (target)."""
    found: list[JsonValue] = []
    for metric in dig_objects({"metrics": metrics}, "metrics"):
        resource = metric.get("resource")
        if metric.get("type") == "Resource" and isinstance(resource, dict):
            changed = _resource_to_v2(resource) if to_v2 else _resource_to_v1(resource)
            found.append({**metric, "resource": changed})
        else:
            found.append(metric)
    return found


_TARGETS = {
    "targetAverageUtilization": ("target", "averageUtilization", "Utilization"),
    "targetAverageValue": ("target", "averageValue", "AverageValue"),
    "currentAverageUtilization": ("current", "averageUtilization", ""),
    "currentAverageValue": ("current", "averageValue", ""),
}


def _resource_to_v2(resource: JsonObject) -> JsonObject:
    result: JsonObject = {"name": resource.get("name")}
    for field, (part, name, kind) in _TARGETS.items():
        if field in resource:
            place: JsonObject = {"type": kind} if kind else {}
            result[part] = {**place, **dig_object(result, part), name: resource[field]}
    return result


def _resource_to_v1(resource: JsonObject) -> JsonObject:
    result: JsonObject = {"name": resource.get("name")}
    for field, (part, name, _) in _TARGETS.items():
        value = dig(resource, part, name)
        if value is not None:
            result[field] = value
    return result


_CONVERTERS: dict[tuple[Resource, Resource], Converter] = {
    (EVENTS, EVENTS_V1): _new_event,
    (EVENTS_V1, EVENTS): _core_event,
    (AUTOSCALERS_V1, AUTOSCALERS_V2): _autoscaler_v2,
    (AUTOSCALERS_V2, AUTOSCALERS_V1): _autoscaler_v1,
}
