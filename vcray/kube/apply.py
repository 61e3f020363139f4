"""The smallest change between two objects, as patches that leave other writers' fields alone."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue

_SERVER_METADATA = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)


def merge_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """The RFC 7386 patch that turns `old` into `new`; empty if they are equal. Lists are replaced whole."""
    patch: JsonObject = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            inner = merge_patch(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


def apply_document(obj: JsonObject, *sections: str) -> JsonObject:
    """What a server-side apply of `obj` sends: identity, own metadata and the named sections (all if none is named)."""
    metadata = obj.get("metadata")
    kept: JsonObject = dict(metadata) if isinstance(metadata, dict) else {}
    for field in _SERVER_METADATA:
        kept.pop(field, None)
    document: dict[str, JsonValue] = {
        key: value
        for key, value in obj.items()
        if key in ("apiVersion", "kind") or (key != "metadata" and (not sections or key in sections))
    }
    document["metadata"] = kept
    return document
