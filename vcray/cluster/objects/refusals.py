"""The sentences with which a Kubernetes API server refuses, for our store to say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vcray.api.formats import aggregate
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ResourceMissing,
)

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

SIMULATED = "the nodes of this cluster are simulated"


def _details(resource: Resource, name: str, kind: str = "") -> JsonObject:
    details: JsonObject = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def not_found(resource: Resource, name: str) -> NotFound:
    """404 for an object."""
    return NotFound(f'{resource.full_name} "{name}" not found', details=_details(resource, name))


def no_such_resource() -> ResourceMissing:
    """404 for a path that the server does not serve."""
    return ResourceMissing("the server could not find the requested resource")


def definition_ends(verb: str) -> MethodNotAllowed:
    """405 for new objects of a kind whose definition is being deleted."""
    return MethodNotAllowed(f"{verb} not allowed while custom resource definition is terminating")


def already_exists(resource: Resource, name: str) -> AlreadyExists:
    """409 on create."""
    return AlreadyExists(f'{resource.full_name} "{name}" already exists', details=_details(resource, name))


def conflict(resource: Resource, name: str, why: str = MODIFIED, subresource: str = "") -> Conflict:
    """409 with the cause behind the usual opening."""
    suffix = f"/{subresource}" if subresource else ""
    return Conflict(
        f'Operation cannot be fulfilled on {resource.full_name}{suffix} "{name}": {why}',
        details=_details(resource, name, f"{resource.plural}{suffix}"),
    )


def precondition(resource: Resource, name: str, why: str) -> Conflict:
    """409 for a delete that means another object or version; the server names the kind, not the resource."""
    where = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = _details(resource, name, resource.kind)
    return Conflict(f'Operation cannot be fulfilled on {where} "{name}": {why}', details=details)


def forbidden(resource: Resource, name: str, why: str) -> Forbidden:
    """403 by an admission rule."""
    return Forbidden(f'{resource.full_name} "{name}" is forbidden: {why}', details=_details(resource, name))


def namespace_ends(resource: Resource, name: str, namespace: str) -> Forbidden:
    """403 for a new object in a namespace that is being deleted."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(resource, name, why)


def invalid(resource: Resource, name: str, causes: Sequence[str]) -> Invalid:
    """422 with one or several field errors, each a sentence that opens with its field's path."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    told = aggregate(causes)
    details = _details(resource, name, resource.kind)
    found: list[JsonValue] = [cause for cause in map(_cause, causes) if cause is not None]
    if found:
        details["causes"] = found
    return Invalid(f'{kind} "{name}" is invalid: {told}', details=details)


_FAULT = re.compile(
    r"(?P<field>(?:\"[^\"]*\"|[^\s:\[\]]|\[[^\]]*\])*): (?P<sentence>(?P<type>Required value|Invalid value|Unsupported value|"
    r"Duplicate value|Not found|Forbidden|Too long|Too many|Internal error)(?::.*)?)",
    re.DOTALL,
)
_REASONS = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Not found": "FieldValueNotFound",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
}


def _cause(sentence: str) -> JsonObject | None:
    found = _FAULT.fullmatch(sentence)
    if found is None:
        return None
    reason, message = _REASONS[found["type"]], found["sentence"]
    if reason == "FieldValueInvalid" and " must be of type " in message:
        reason = "FieldValueTypeInvalid"
    return {"reason": reason, "message": message, "field": found["field"]}


def version_missing(resource: Resource, name: str) -> Invalid:
    """422 for an update that does not say which version it is based on; the server names the resource, not the kind."""
    why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    details: JsonObject = {**_details(resource, name), "causes": [_cause(why)]}
    return Invalid(f'{resource.full_name} "{name}" is invalid: {why}', details=details)
