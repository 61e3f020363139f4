"""Metadata of raw JSON objects, and `vcray.api.jsonview` under the short names that fill these packages.

Controllers write objects that other parties also write, so they keep the raw form and read the few fields they need
from it. What comes back must not be changed in place: it belongs to the host's mirror.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from vcray.api.jsonview import dig as at
from vcray.api.jsonview import dig_int as number
from vcray.api.jsonview import dig_object as table
from vcray.api.jsonview import dig_objects as tables
from vcray.api.jsonview import dig_str as text
from vcray.api.jsonview import dig_strings as texts
from vcray.api.meta import JsonObject, JsonValue

__all__ = [
    "annotation",
    "annotations_of",
    "append",
    "at",
    "controlled_by",
    "controller",
    "copied",
    "labels_of",
    "name",
    "namespace",
    "number",
    "owner_reference",
    "strings",
    "table",
    "tables",
    "terminating",
    "text",
    "texts",
    "uid",
    "version",
]


def name(value: JsonObject) -> str:
    """metadata.name."""
    return text(value, "metadata", "name")


def namespace(value: JsonObject) -> str:
    """metadata.namespace, "" for cluster-scoped objects."""
    return text(value, "metadata", "namespace")


def uid(value: JsonObject) -> str:
    """metadata.uid."""
    return text(value, "metadata", "uid")


def version(value: JsonObject) -> str:
    """metadata.resourceVersion."""
    return text(value, "metadata", "resourceVersion")


def labels_of(value: JsonObject) -> dict[str, str]:
    """metadata.labels."""
    return texts(value, "metadata", "labels")


def annotations_of(value: JsonObject) -> dict[str, str]:
    """metadata.annotations."""
    return texts(value, "metadata", "annotations")


def annotation(value: JsonObject, key: str) -> str:
    """One annotation, or ""."""
    return text(value, "metadata", "annotations", key)


def terminating(value: JsonObject) -> bool:
    """The object is being deleted."""
    return bool(text(value, "metadata", "deletionTimestamp"))


def controller(value: JsonObject) -> JsonObject:
    """The reference to the owner that manages the object, or {}."""
    for owner in tables(value, "metadata", "ownerReferences"):
        if owner.get("controller") is True:
            return owner
    return {}


def controlled_by(value: JsonObject, owner_uid: str) -> bool:
    """The object's managing owner has this uid."""
    return text(controller(value), "uid") == owner_uid


def owner_reference(api_version: str, kind: str, owner: JsonObject) -> JsonObject:
    """A reference that makes `owner` the managing owner, and its foreground deletion wait."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name(owner),
        "uid": uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def copied(value: JsonObject) -> JsonObject:
    """A deep copy, free to be changed."""
    return cast(JsonObject, _copied(value))


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def append(holder: JsonObject, field: str, *items: JsonValue, front: bool = False) -> None:
    """Add to a list field of an object that is ours to change."""
    stored = holder.get(field)
    present = stored if isinstance(stored, list) else []
    holder[field] = [*items, *present] if front else [*present, *items]


def strings(value: Mapping[str, str]) -> JsonObject:
    """String tables (labels) as JSON."""
    return dict(value)
