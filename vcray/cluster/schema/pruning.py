"""Dropping what a schema does not know, as an API server does with fields of custom objects, and telling what went."""

from __future__ import annotations

from typing import NamedTuple

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.decoding import read_metadata
from vcray.cluster.kinds.faults import Faults, Where

_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


def prune(obj: JsonObject, schema: JsonObject, faults: Faults | None = None) -> None:
    """Remove unknown fields of a whole object in place, noting them in `faults`; metadata is left to its own reader."""
    kept = {key: obj[key] for key in _OBJECT_FIELDS if key in obj}
    rest = {key: value for key, value in obj.items() if key not in kept}
    known, inner = Faults(), Faults()
    _prune(rest, schema, None, _Found(known, inner), root=True)
    if faults is not None:
        faults.unknown += known.unknown + inner.unknown
    obj.clear()
    obj |= {**kept, **rest}


class _Found(NamedTuple):
    """The unknown fields of the object, and those in the metadata of objects within it, which are told last."""

    fields: Faults
    metadata: Faults


def _prune(value: JsonValue, schema: JsonValue, where: Where, faults: _Found, root: bool = False) -> None:
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            _prune(item, schema.get("items"), (where, index), faults)
    elif isinstance(value, dict):
        embedded = not root and bool(schema.get("x-kubernetes-embedded-resource"))
        metadata = value.get("metadata")
        if embedded and isinstance(metadata, dict):
            value["metadata"] = read_metadata(metadata, (where, "metadata"), faults.metadata)
        _prune_object(value, schema, where, faults, _OBJECT_FIELDS if embedded else ())


def _prune_object(
    value: JsonObject, schema: JsonObject, where: Where, faults: _Found, always: tuple[str, ...]
) -> None:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    extra = schema.get("additionalProperties")
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or extra is True
    for name in sorted(value):
        if name in known:
            _prune(value[name], known[name], (where, name), faults)
        elif isinstance(extra, dict):
            _prune(value[name], extra, (where, name), faults)
        elif not keeps and name not in always:
            del value[name]
            faults.fields.add(where, name)


def drop_nulls(value: JsonValue, schema: JsonValue) -> None:
    """Remove null fields of objects whose schema does not allow null, in place: null means absent there."""
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items"))
    elif isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name in list(value):
            part = known.get(name, schema.get("additionalProperties"))
            if value[name] is None and isinstance(part, dict) and not part.get("nullable"):
                del value[name]
            else:
                drop_nulls(value[name], part)
