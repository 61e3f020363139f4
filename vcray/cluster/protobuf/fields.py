"""Field numbers of Kubernetes' messages (data/protobuf.json), and which values the server leaves out of its JSON.

The file maps a type, by its OpenAPI name, to rows [JSON name, number, shape, target]: shape "" for one value, "[]" for a
list, "{}" for a map with string keys; target a letter (s text, b bool, i whole number, y bytes, d floating point) or the
type of a message. An empty JSON name means that the fields of the message stand in the parent's JSON.
`tools/openapi/protobuf_fields.py` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.data import kinds_data, type_name

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_META_KINDS = (
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "CreateOptions",
    "DeleteOptions",
    "PatchOptions",
    "Status",
    "UpdateOptions",
    "WatchEvent",
)
_PARTIAL_KINDS = ("PartialObjectMetadata", "PartialObjectMetadataList")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field. `pointer`: zero and absent differ. `shown`: its JSON has it even when it is empty."""

    name: str
    number: int
    shape: str
    target: str
    pointer: bool
    shown: bool


@cache
def _file() -> dict[str, list[tuple[str, int, str, str]]]:
    raw = (resources.files("vcray.cluster") / "data" / "protobuf.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, list[tuple[str, int, str, str]]])


def rows_of(name: str, parent: JsonObject | None = None) -> list[FieldRow]:
    """The fields of a message; `parent` has the properties of the type in whose JSON they stand, if it is inlined."""
    own = dig_object(kinds_data().types.get(name, {}), "properties")
    properties = {**(parent or {}), **own}
    found = []
    for json_name, number, shape, target in _file()[name]:
        about = dig_object(properties, json_name)
        pointer = dig_str(about, "go").startswith("*") or not about
        found.append(FieldRow(json_name, number, shape, target, pointer, about.get("zero") is True))
    return found


def properties_of(name: str) -> JsonObject:
    """The OpenAPI properties of a type; empty if OpenAPI does not know it."""
    return dig_object(kinds_data().types.get(name, {}), "properties")


def message_of(api_version: str, kind: str) -> str | None:
    """The message of a kind; None if it has none, as custom kinds and tables."""
    if kind in _META_KINDS or (kind in _PARTIAL_KINDS and api_version.startswith("meta.k8s.io/")):
        return _META + kind
    name = type_name(api_version, kind)
    return name if name in _file() else None
