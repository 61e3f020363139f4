"""Name, UID and version of an object, whether it is plain JSON or a struct."""

from __future__ import annotations

from typing import NamedTuple

from vcray.api.meta import JsonObject
from vcray.api.wire import WireObject


class Identity(NamedTuple):
    """`key` is `namespace/name`, or the bare name of a cluster-scoped object."""

    key: str
    uid: str
    version: str


def identify(obj: JsonObject | WireObject) -> Identity:
    """The identity of an object; parts that it lacks are empty."""
    if not isinstance(obj, dict):
        metadata = obj.metadata
        return Identity(metadata.key, metadata.uid, metadata.resource_version)
    head = obj.get("metadata")
    found = head if isinstance(head, dict) else {}
    namespace, name = found.get("namespace"), found.get("name")
    return Identity(
        f"{namespace}/{name}" if namespace else str(name or ""),
        str(found.get("uid") or ""),
        str(found.get("resourceVersion") or ""),
    )
