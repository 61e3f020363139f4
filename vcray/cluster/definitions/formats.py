"""Formats of schemas that the server does not know: it passes over them, and says so in a warning."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.jsonview import dig, dig_list, dig_objects
from vcray.api.meta import JsonObject, JsonValue

_STRINGS = frozenset(
    (
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    )
)  # without dashes
_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def format_warnings(definition: JsonObject, old: JsonObject | None = None) -> list[str]:
    """A warning for each unknown format that a definition brings; those of `old` have been warned of."""
    known = set(_unknown_of(old)) if old is not None else set()
    fresh = [name for name in _unknown_of(definition) if name not in known]
    return [f'unrecognized format "{name}"' for name in dict.fromkeys(fresh)]


def _unknown_of(definition: JsonObject) -> Iterator[str]:
    for version in dig_objects(definition, "spec", "versions"):
        yield from _unknown(dig(version, "schema", "openAPIV3Schema"))


def _unknown(schema: JsonValue) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    form, kind = schema.get("format"), schema.get("type")
    if isinstance(form, str) and form and not _is_known(form, kind):
        yield form
    for key in ("items", "additionalProperties", "not"):
        yield from _unknown(schema.get(key))
    for key in ("allOf", "anyOf", "oneOf"):
        for clause in dig_list(schema, key):
            yield from _unknown(clause)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for field in properties.values():
            yield from _unknown(field)


def _is_known(form: str, kind: JsonValue) -> bool:
    if kind in (None, "", "string"):
        return form.replace("-", "") in _STRINGS
    return isinstance(kind, str) and form in _NUMBERS.get(kind, ())
