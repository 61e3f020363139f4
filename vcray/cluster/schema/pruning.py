"""Dropping what a schema does not know, as an API server does with fields of custom objects."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue

_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


def prune(obj: JsonObject, schema: JsonObject) -> None:
    """Remove unknown fields of a whole object in place; apiVersion, kind and metadata are always known."""
    kept = {key: obj[key] for key in _OBJECT_FIELDS if key in obj}
    rest = {key: value for key, value in obj.items() if key not in kept}
    _prune(rest, schema)
    obj.clear()
    obj |= {**kept, **rest}


def _prune(value: JsonValue, schema: JsonValue) -> None:
    if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list):
        for item in value:
            _prune(item, schema.get("items"))
    elif isinstance(value, dict):
        _prune_object(value, schema)


def _prune_object(value: JsonObject, schema: JsonObject) -> None:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    extra = schema.get("additionalProperties")
    for name in list(value):
        if name in known:
            _prune(value[name], known[name])
        elif isinstance(extra, dict):
            _prune(value[name], extra)
        elif not extra:
            del value[name]


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
