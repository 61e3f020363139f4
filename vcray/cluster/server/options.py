"""The options of a request: read from its query (and a delete's body), refused as a kube-apiserver refuses them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from vcray.api.meta import JsonObject
from vcray.cluster.objects.deletion import DeleteOptions, read_options
from vcray.cluster.objects.record import text
from vcray.cluster.objects.review import User
from vcray.cluster.objects.write import Write
from vcray.cluster.server.requests import Request, number
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest, Invalid

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_LONGEST_MANAGER = 128
_PROPAGATIONS = ("", "Background", "Foreground", "Orphan")
Query = Mapping[str, str]


def write_of(request: Request, kind: str, subresource: str, how: str = "") -> Write:
    """How a create, update or patch is meant. `kind` is CreateOptions, UpdateOptions or PatchOptions. Raises Invalid."""
    query = request.query
    faults: list[tuple[str, str, str]] = []
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        faults.append(
            ("dryRun", "FieldValueNotSupported", f'Unsupported value: ["{dry_run}"]: supported values: "All"')
        )
    manager = query.get("fieldManager", "")
    if len(manager) > _LONGEST_MANAGER:
        why = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        faults.append(("fieldManager", "FieldValueTooLong", why))
    faults += _patch_faults(query, how) if how else []
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        supported = ", ".join(f'"{word}"' for word in _VALIDATIONS)
        why = f'Unsupported value: "{validation}": supported values: {supported}'
        faults.append(("fieldValidation", "FieldValueNotSupported", why))
    if faults:
        raise invalid_options(kind, faults)
    return Write(
        manager=manager or request.agent.partition("/")[0][:_LONGEST_MANAGER] or "unknown",
        dry_run=dry_run == "All",
        force=query.get("force") == "true",
        subresource=subresource,
        user=request.user,
        validation=validation or "Warn",
        options=_told(kind, query),
    )


def _patch_faults(query: Query, how: str) -> list[tuple[str, str, str]]:
    if how != PatchType.APPLY:
        if query.get("force"):
            return [("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")]
        return []
    if not query.get("fieldManager"):
        return [("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")]
    return []


def _told(kind: str, query: Query) -> JsonObject:
    """The options as an AdmissionReview tells them."""
    told: JsonObject = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if query.get("dryRun"):
        told["dryRun"] = [query["dryRun"]]
    for name in ("fieldManager", "fieldValidation"):
        if query.get(name):
            told[name] = query[name]
    if query.get("force"):
        told["force"] = query["force"] == "true"
    return told


def invalid_options(kind: str, faults: list[tuple[str, str, str]]) -> Invalid:
    """422 for options: each fault a field, a reason and a sentence."""
    sentences = [f"{field}: {sentence}" for field, _, sentence in faults]
    told = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    details: JsonObject = {
        "group": "meta.k8s.io",
        "kind": kind,
        "causes": [
            {"reason": reason, "message": sentence, "field": field} for field, reason, sentence in faults
        ],
    }
    return Invalid(f'{kind}.meta.k8s.io "" is invalid: {told}', details=details)


def delete_options(request: Request, body: JsonObject) -> DeleteOptions:
    """What a delete asks for: in its body or, without one, in its query. Raises Invalid."""
    query = request.query
    if not body:
        body = _delete_query(query)
    faults: list[tuple[str, str, str]] = []
    propagation = text(body.get("propagationPolicy"))
    if propagation and body.get("orphanDependents") is not None:
        why = "Invalid value: null: orphanDependents and deletionPropagation cannot be both set"
        faults.append(("propagationPolicy", "FieldValueInvalid", why))
    if propagation not in _PROPAGATIONS:
        supported = '"Foreground", "Background", "Orphan", "nil"'
        why = f'Unsupported value: "{propagation}": supported values: {supported}'
        faults.append(("propagationPolicy", "FieldValueNotSupported", why))
    dry_run = body.get("dryRun")
    if dry_run and dry_run != ["All"]:
        why = f'Unsupported value: {msgspec.json.encode(dry_run).decode()}: supported values: "All"'
        faults.append(("dryRun", "FieldValueNotSupported", why))
    if faults:
        raise invalid_options("DeleteOptions", faults)
    return read_options(body)


def _delete_query(query: Query) -> JsonObject:
    body: JsonObject = {}
    grace = number(query, "gracePeriodSeconds")
    if grace is not None:
        body["gracePeriodSeconds"] = grace
    if query.get("propagationPolicy"):
        body["propagationPolicy"] = query["propagationPolicy"]
    if query.get("orphanDependents"):
        body["orphanDependents"] = query["orphanDependents"] in ("true", "1")
    if query.get("dryRun"):
        body["dryRun"] = [query["dryRun"]]
    return body


def told_delete(body: JsonObject, options: DeleteOptions, user: User) -> Write:
    """The write of a delete, as webhooks are told of it."""
    told: JsonObject = {**body, "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    return Write(dry_run=options.dry_run, user=user, options=told)


def check_list_options(query: Query, watch: bool) -> None:
    """Refuse (Invalid, BadRequest) a list or a watch whose versions contradict each other."""
    number(query, "limit")
    number(query, "timeoutSeconds")
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    initial = query.get("sendInitialEvents")
    if initial is not None:
        faults = _initial_faults(match, watch)
    else:
        faults = _match_faults(version, match, watch, bool(query.get("continue")))
    if faults:
        raise invalid_options("ListOptions", faults)


_FORBIDDEN = "FieldValueForbidden"
_MATCH = "resourceVersionMatch"
Fault = tuple[str, str, str]


def _initial_faults(match: str, watch: bool) -> list[Fault]:
    faults: list[Fault] = []
    if match != "NotOlderThan":
        why = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        faults.append((_MATCH, _FORBIDDEN, why))
    if not watch:
        why = "Forbidden: sendInitialEvents is forbidden for list"
        faults.append(("sendInitialEvents", _FORBIDDEN, why))
    return faults


def _match_faults(version: str, match: str, watch: bool, continues: bool) -> list[Fault]:
    if not match:
        return []
    if watch:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    elif not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif continues:
        why = "resourceVersionMatch is forbidden when continue is provided"
    elif match not in ("Exact", "NotOlderThan"):
        why = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        return [(_MATCH, "FieldValueNotSupported", why)]
    elif match == "Exact" and version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    else:
        return []
    return [(_MATCH, _FORBIDDEN, f"Forbidden: {why}")]


def check_version(version: str, watch: bool = False) -> int | None:
    """A resource version of a query as a number; None if it names none. BadRequest if it is malformed."""
    if version in ("", "0"):
        return None
    if not version.isdigit():
        why = f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        if watch:
            raise BadRequest(why, code=500, reason="")
        raise BadRequest(f"invalid resource version: {why}")
    return int(version)


_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)")
_LONGEST_REQUEST_S = 60.0
_INSTANT_S = 1e-5


def timeout_of(request: Request) -> float | None:
    """The seconds that a request gives itself (`timeout`), None for the server's own limit. BadRequest; TimeoutError if
    the time is over before anything could happen."""
    asked = request.query.get("timeout", "")
    if not asked or asked == "0":
        return None
    parts = _DURATION.findall(asked)
    if "".join(number + unit for number, unit in parts) != asked.lstrip("+"):
        raise BadRequest(f'invalid timeout specified in the request URL - time: invalid duration "{asked}"')
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if 0 < seconds < _INSTANT_S:
        raise TimeoutError
    return min(seconds, _LONGEST_REQUEST_S) or None
