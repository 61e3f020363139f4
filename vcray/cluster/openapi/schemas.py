"""Types of the data file as OpenAPI schemas of version 2 or 3.

Version 2 has neither defaults nor alternatives, so an int-or-string is a string with a format there; in version 3 a
reference cannot have siblings and is wrapped where it has any.
"""

from __future__ import annotations

from collections.abc import Callable

from vcray.api.meta import JsonObject, JsonValue

_OURS = ("go", "zero")
_STRINGS_IN_V2 = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
_DESCRIPTIONS = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "creationTimestamp": "CreationTimestamp is a timestamp that the server sets when it stores a new object.",
    },
}
V2_ROOT, V3_ROOT = "#/definitions/", "#/components/schemas/"


def walked(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A copy of a schema in which `change` was applied to it and, below the result, to every schema in it."""
    changed = change(schema)
    result: JsonObject = {}
    for key, value in changed.items():
        if key == "properties" and isinstance(value, dict):
            result[key] = {name: _below(field, change) for name, field in value.items()}
        elif key in ("items", "additionalProperties", "not"):
            result[key] = _below(value, change)
        elif key in ("allOf", "anyOf", "oneOf") and isinstance(value, list):
            result[key] = [_below(item, change) for item in value]
        else:
            result[key] = value
    return result


def _below(value: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    return walked(value, change) if isinstance(value, dict) else value


def built_in_v2(name: str, schema: JsonObject) -> JsonObject:
    """A built-in type in version 2."""
    text: JsonObject | None = _STRINGS_IN_V2.get(name)  # type: ignore[assignment]
    return text if text is not None else walked(_described(name, schema), _v2)


def built_in_v3(name: str, schema: JsonObject) -> JsonObject:
    """A built-in type in version 3."""
    return walked(_described(name, schema), _v3)


def _described(name: str, schema: JsonObject) -> JsonObject:
    """The schema with the few descriptions that clients look for in what `kubectl explain` shows."""
    about = _DESCRIPTIONS.get(name)
    properties = schema.get("properties")
    if about is None or not isinstance(properties, dict):
        return schema
    told: JsonObject = {
        key: {"description": about[key], **value} if key in about and isinstance(value, dict) else value
        for key, value in properties.items()
    }
    return {**schema, "properties": told}


def _v2(schema: JsonObject) -> JsonObject:
    plain = {key: value for key, value in schema.items() if key not in (*_OURS, "default", "oneOf")}
    if "$ref" in plain:
        plain["$ref"] = f"{V2_ROOT}{plain['$ref']}"
    return plain


def _v3(schema: JsonObject) -> JsonObject:
    plain = {key: value for key, value in schema.items() if key not in _OURS}
    name = plain.get("$ref")
    if not isinstance(name, str) or name.startswith("#"):
        return plain  # the reference within allOf comes here a second time
    del plain["$ref"]
    reference: JsonObject = {"$ref": f"{V3_ROOT}{name}"}
    return {**plain, "allOf": [reference]} if plain else reference


def references(schema: JsonValue, found: set[str]) -> None:
    """Collect the names of the data file's types that a schema refers to."""
    if isinstance(schema, dict):
        name = schema.get("$ref")
        if isinstance(name, str):
            found.add(name)
        for value in schema.values():
            references(value, found)
    elif isinstance(schema, list):
        for value in schema:
            references(value, found)


def closure(names: set[str], types: dict[str, JsonObject]) -> set[str]:
    """The named types with all that they refer to."""
    done: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        if name in done or name not in types:
            continue
        done.add(name)
        references(types[name], waiting)
    return done
