"""Which part of an object an endpoint writes: all but the status, the status, or what a subresource is there for."""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES
from vcray.cluster.changes.reset import reset_fields
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.deletion import DeleteOptions, finalizers, grace_of, is_done
from vcray.cluster.objects.metadata import keep_server_fields
from vcray.cluster.objects.record import Record, section

_WITH_STATUS = ("kind", "apiVersion", "metadata", "status")


def concerned(kind: Kind, wanted: JsonObject, subresource: str) -> JsonObject:
    """What of a built-in object has to be read for a write: a write of the status says nothing of the rest."""
    if subresource != "status" or kind.custom:
        return wanted
    return {key: wanted[key] for key in _WITH_STATUS if key in wanted}


def written_part(kind: Kind, old: JsonObject, wanted: JsonObject, subresource: str) -> JsonObject:
    """The old object with only that part from `wanted` that the endpoint writes."""
    match subresource:
        case "" | "scale":
            new = dict(wanted)
            if kind.has_status:
                _take(new, old, "status")
        case "status":
            new = dict(old)
            _take(new, wanted, "status")
            if not kind.custom:
                new["metadata"] = _status_metadata(kind, old, wanted)
        case "ephemeralcontainers":
            new = {**old, "spec": dict(section(old, "spec"))}
            _take(section(new, "spec"), section(wanted, "spec"), "ephemeralContainers")
        case "resize":
            new = {**old, "spec": _resized(section(old, "spec"), section(wanted, "spec"))}
        case "approval":
            new = {**old, "status": dict(section(old, "status"))}
            _take(section(new, "status"), section(wanted, "status"), "conditions")
        case "finalize":
            new = {**old, "spec": dict(section(old, "spec"))}
            _take(section(new, "spec"), section(wanted, "spec"), "finalizers")
        case _:
            new = dict(old)
    new["metadata"] = dict(section(new, "metadata"))
    keep_server_fields(old, new)
    return new


def _status_metadata(kind: Kind, old: JsonObject, wanted: JsonObject) -> JsonObject:
    """The metadata after a write of the status: most kinds take what is sent, some keep a part or all of theirs."""
    before, after = section(old, "metadata"), dict(section(wanted, "metadata"))
    kept = (reset_fields(kind, "status") or {}).get("f:metadata")
    if kept is None:
        return after
    if not kept:
        return dict(before)
    for step in kept:
        _take(after, before, step.removeprefix("f:"))
    return after


def _take(new: JsonObject, source: JsonObject, key: str) -> None:
    new.pop(key, None)
    if source.get(key) is not None:
        new[key] = source[key]


def _resized(old: JsonObject, wanted: JsonObject) -> JsonObject:
    """A pod's spec with the resources of its containers, which keep their order and names."""
    resources = {dig_str(each, "name"): each for each in dig_objects(wanted, "containers")}
    containers: list[JsonValue] = []
    for container in dig_objects(old, "containers"):
        fresh = resources.get(dig_str(container, "name"), container)
        changed = dict(container)
        _take(changed, fresh, "resources")
        containers.append(changed)
    return {**old, "containers": containers}


def is_finished(kind: Kind, obj: JsonObject) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    waits = kind.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
    return not waits and is_done(obj)


def lingers(record: Record, options: DeleteOptions) -> bool:
    """Whether an object would still be there after a delete, waiting for its grace or its finalizers."""
    obj = record.decode()
    if grace_of(record, obj, options) or finalizers(obj) or options.propagation in ("Foreground", "Orphan"):
        return True
    return record.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
