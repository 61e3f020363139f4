"""One stored version of an object, and one change.

A stored object is its JSON as bytes: nobody can alter it by accident, a watch sends it as it is, and a hundred thousand
of them stay small. What selectors and the garbage collector ask for is kept beside it, decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TypeAlias

import msgspec

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource

ObjectKey: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster scope) and name."""

_decoder = msgspec.json.Decoder(dict)


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Record:
    """One version of one object. `owners` are the UIDs of its owner references, `fields` its selectable fields."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: int
    body: bytes
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    owners: tuple[str, ...]

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.namespace, self.name

    def decode(self) -> JsonObject:
        """A fresh copy of the object that the caller may alter."""
        decoded: JsonObject = _decoder.decode(self.body)
        return decoded


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One change: the record after it (for DELETED the last state, with the version of the deletion) and before it."""

    change: Change
    record: Record
    previous: Record | None

    @property
    def version(self) -> int:
        """The resource version of the change."""
        return self.record.version


_SELECTABLE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.schedulerName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
}

_KEPT: dict[str, tuple[str, ...]] = {
    "pods": ("spec.nodeName", "spec.schedulerName", "status.phase"),
    "events": ("involvedObject.kind", "involvedObject.name", "involvedObject.uid", "reason", "type"),
    "namespaces": ("status.phase",),
}


def selectable_fields(resource: Resource) -> tuple[str, ...]:
    """The field selectors that a resource knows beyond `metadata.name` and `metadata.namespace`."""
    return _SELECTABLE.get(resource.full_name, ())


@cache
def _kept_fields(resource: Resource) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Those that are often asked for, and so stand decoded beside the bytes: name and path."""
    return tuple((name, tuple(name.split("."))) for name in _KEPT.get(resource.full_name, ()))


def dig(value: JsonValue, *path: str) -> JsonValue:
    """The value under nested keys, or None where one is missing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def section(value: JsonObject, key: str) -> JsonObject:
    """The object under `key`, put there if it is missing or null."""
    found = value.get(key)
    if not isinstance(found, dict):
        found = {}
        value[key] = found
    return found


def text(value: JsonValue) -> str:
    """A string, or empty when the value is anything else."""
    return value if isinstance(value, str) else ""


def integer(value: JsonValue) -> int:
    """A whole number, or zero when the value is anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def entries(value: JsonValue) -> list[JsonObject]:
    """The objects of a list; empty when the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: JsonValue) -> dict[str, str]:
    """The string entries of a map; empty when the value is none."""
    return (
        {key: item for key, item in value.items() if isinstance(item, str)} if isinstance(value, dict) else {}
    )


def field_text(value: JsonValue) -> str:
    """A value as field selectors compare it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@cache
def head_of(resource: Resource) -> bytes:
    """The first bytes of every stored object of a resource."""
    return msgspec.json.encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","


_HEAD = frozenset({"kind", "apiVersion", "metadata"})
_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_KNOWN_METADATA = frozenset(_METADATA)


def _in_order(metadata: JsonObject) -> JsonObject:
    """Metadata in the order in which an API server writes it."""
    ordered: JsonObject = {key: metadata[key] for key in _METADATA if key in metadata}
    if len(ordered) < len(metadata):
        ordered.update((key, value) for key, value in metadata.items() if key not in _KNOWN_METADATA)
    return ordered


def make_record(resource: Resource, obj: JsonObject, version: int) -> Record:
    """Freeze an object; its `metadata.resourceVersion` is set to `version` unless that is 0. ValueError if it lacks name or UID."""
    metadata = section(obj, "metadata")
    if version:
        metadata["resourceVersion"] = str(version)
    obj = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": _in_order(metadata),
        **{key: value for key, value in obj.items() if key not in _HEAD},
    }
    if not metadata.get("name") or not metadata.get("uid"):
        raise ValueError(f"a {resource.kind} without name or UID cannot be stored")
    return Record(
        resource=resource,
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        version=version,
        body=msgspec.json.encode(obj),
        labels=strings(metadata.get("labels")),
        fields={name: field_text(dig(obj, *path)) for name, path in _kept_fields(resource)},
        owners=tuple(text(owner.get("uid")) for owner in entries(metadata.get("ownerReferences"))),
    )
