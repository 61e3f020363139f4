"""The sentences with which a Kubernetes API server refuses, for our store to say the same."""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api.meta import JsonObject
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


def _details(resource: Resource, name: str) -> JsonObject:
    details: JsonObject = {"name": name, "kind": resource.plural}
    if resource.group:
        details["group"] = resource.group
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
    where = f"{resource.full_name}/{subresource}" if subresource else resource.full_name
    return Conflict(
        f'Operation cannot be fulfilled on {where} "{name}": {why}', details=_details(resource, name)
    )


def forbidden(resource: Resource, name: str, why: str) -> Forbidden:
    """403 by an admission rule."""
    return Forbidden(f'{resource.full_name} "{name}" is forbidden: {why}', details=_details(resource, name))


def namespace_ends(resource: Resource, name: str, namespace: str) -> Forbidden:
    """403 for a new object in a namespace that is being deleted."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(resource, name, why)


def invalid(resource: Resource, name: str, causes: Sequence[str]) -> Invalid:
    """422 with one or several field errors."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    told = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    details = _details(resource, name)
    details["kind"] = resource.kind
    return Invalid(f'{kind} "{name}" is invalid: {told}', details=details)


def version_missing(resource: Resource, name: str) -> Invalid:
    """422 for an update that does not say which version it is based on; the server names the resource, not the kind."""
    why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    return Invalid(f'{resource.full_name} "{name}" is invalid: {why}', details=_details(resource, name))
