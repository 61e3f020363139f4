"""Schema defaults, as an API server fills them in: at every depth, wherever the parent object is present."""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue


def apply_defaults(value: JsonValue, schema: JsonValue) -> None:
    """Fill missing fields of `value` with the defaults of `schema`, in place.

    A field that is null counts as missing when it has a default and is not nullable, as in Kubernetes.
    """
    if not isinstance(schema, dict):
        return
    if isinstance(value, dict):
        _default_object(value, schema)
    elif isinstance(value, list):
        items = schema.get("items")
        for item in value:
            apply_defaults(item, items)


def _default_object(value: JsonObject, schema: JsonObject) -> None:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name, part in known.items():
        if not isinstance(part, dict):
            continue
        if "default" in part and (name not in value or (value[name] is None and not part.get("nullable"))):
            value[name] = deepcopy(part["default"])
        if name in value:
            apply_defaults(value[name], part)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        for name, item in value.items():
            if name not in known:
                apply_defaults(item, extra)
