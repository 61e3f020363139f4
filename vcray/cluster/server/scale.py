"""The scale subresource: how many replicas an object wants and has, whatever its kind calls them."""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_int, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.patches import json_patch, merge
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import Record, section
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.versions import decoded
from vcray.cluster.server.bodies import YAML, media_type, read_body
from vcray.cluster.server.options import write_of
from vcray.cluster.server.paths import Target
from vcray.cluster.server.rendering import whole
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import Answer, not_allowed, with_warnings
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest, Invalid, ServerFailure

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale(store: Store, target: Target, request: Request) -> Answer:
    """Answer a request for `scale`."""
    if not target.name or "scale" not in target.resource.subresources:
        raise refusals.no_such_resource()
    record = store.read(target.resource, target.namespace, target.name)
    custom = target.kind.version.scale if target.kind.version else None
    missing = custom is not None and dig(decoded(target.kind, record), *_paths(target)[0]) is None
    if request.method == "GET":
        if custom is not None and missing:
            raise _absent(custom.spec_replicas)
        return whole(request, target.kind, 200, _shown(target, record))
    if request.method not in ("PUT", "PATCH"):
        raise not_allowed()
    how = media_type(request.content_type) if request.method == "PATCH" else ""
    write = write_of(request, "PatchOptions" if how else "UpdateOptions", "scale", how)
    wanted = _wanted(_shown(target, record), request, how)
    replicas = dig_int(wanted, "spec", "replicas")
    if custom is not None and missing and how and dig(wanted, "spec", "replicas") is None:
        raise BadRequest(f'the spec replicas field "{custom.spec_replicas}" cannot be empty')
    if custom is None and replicas < 0:  # of custom kinds it is the object that breaks a rule
        raise _negative(target.name, replicas)
    change: JsonObject = {}
    _put(change, _paths(target)[0], replicas)
    version = dig_str(wanted, "metadata", "resourceVersion")
    if version and version != "0" and request.method == "PUT":
        change["metadata"] = {"resourceVersion": version}
    changed = yield from store.verbs.patch(
        target.resource, target.namespace, target.name, change, PatchType.MERGE, write
    )
    return with_warnings(whole(request, target.kind, 200, _shown(target, changed)), write.warnings)


def _wanted(present: JsonObject, request: Request, how: str) -> JsonObject:
    body = read_body(
        request.body, YAML if how == PatchType.APPLY else "" if how else request.content_type, "Scale"
    )
    if how == PatchType.JSON:
        body = json_patch(present, body)
    elif how:
        body = merge(present, body)
    if not isinstance(body, dict):
        raise BadRequest("the object provided is unrecognized (must be of type Scale)")
    return body


def _absent(path: str) -> ServerFailure:
    why = f'the spec replicas field "{path}" does not exist'
    return ServerFailure(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})


def _negative(name: str, replicas: int) -> Invalid:
    why = f"Invalid value: {replicas}: must be greater than or equal to 0"
    cause: JsonObject = {"reason": "FieldValueInvalid", "message": why, "field": "spec.replicas"}
    details: JsonObject = {"name": name, "group": "autoscaling", "kind": "Scale", "causes": [cause]}
    return Invalid(f'Scale.autoscaling "{name}" is invalid: spec.replicas: {why}', details=details)


def _paths(target: Target) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Where the wanted number, the present number and the selector stand; an empty path where nothing does."""
    told = target.kind.version.scale if target.kind.version else None
    if told is None:
        return ("spec", "replicas"), ("status", "replicas"), ("spec", "selector")
    wanted, present, selector = (
        tuple(part for part in path.split(".") if part)
        for path in (told.spec_replicas, told.status_replicas, told.selector)
    )
    return wanted, present, selector


def _shown(target: Target, record: Record) -> JsonObject:
    """The Scale of an object."""
    obj = decoded(target.kind, record)
    wanted, present, selector = _paths(target)
    metadata = section(obj, "metadata")
    status: JsonObject = {"replicas": dig_int(obj, *present)}
    chosen = dig(obj, *selector) if selector else None
    spoken = chosen if isinstance(chosen, str) else _selector_text(chosen)
    if spoken:
        status["selector"] = spoken
    replicas = dig_int(obj, *wanted)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _IDENTITY if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector_text(selector: JsonValue) -> str:
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(dig_strings(selector).items()))
    clauses = [(key, f"{key}={value}") for key, value in dig_strings(selector, "matchLabels").items()]
    for expression in dig_objects(selector, "matchExpressions"):
        key, operator = dig_str(expression, "key"), dig_str(expression, "operator")
        values = expression.get("values")
        listed = ",".join(sorted(str(value) for value in values)) if isinstance(values, list) else ""
        spoken = {"In": f"{key} in ({listed})", "NotIn": f"{key} notin ({listed})", "Exists": key}
        clauses.append((key, spoken.get(operator, f"!{key}")))
    return ",".join(clause for _, clause in sorted(clauses))


def _put(obj: JsonObject, path: tuple[str, ...], value: JsonValue) -> None:
    for part in path[:-1]:
        obj = section(obj, part)
    obj[path[-1]] = value
