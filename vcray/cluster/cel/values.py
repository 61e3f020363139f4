"""JSON values as the values that an expression is to see, by their schema.

Numbers of type `number` are doubles, strings of some formats are times or bytes, properties have their escaped names. Most
schemas have nothing of the kind: their values are seen as they are, without a copy.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from google.protobuf import duration_pb2, timestamp_pb2

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cel.rewriting import escaped

Converter = Callable[[JsonValue], object]
"""From JSON to what an expression sees."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


def _double(value: JsonValue) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _bytes(value: JsonValue) -> object:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else value
    except binascii.Error:
        return value


def _duration(value: JsonValue) -> object:
    if not isinstance(value, str):
        return value
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(value))
    found = duration_pb2.Duration()
    found.FromTimedelta(timedelta(seconds=-seconds if value.startswith("-") else seconds))
    return found


def _timestamp(value: JsonValue) -> object:
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    found = timestamp_pb2.Timestamp()
    found.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return found


_FORMATS: dict[str, Converter] = {
    "byte": _bytes,
    "duration": _duration,
    "date": _timestamp,
    "date-time": _timestamp,
}


def converter(schema: JsonValue) -> Converter | None:
    """What turns values of a schema into what expressions see; None if they are seen as they are."""
    if not isinstance(schema, dict) or schema.get("x-kubernetes-int-or-string"):
        return None
    match dig_str(schema, "type"):
        case "number":
            return _double
        case "string":
            return _FORMATS.get(dig_str(schema, "format"))
        case "array":
            return _each_item(converter(schema.get("items")))
        case "object":
            return _object(schema)
    return None


def _each_item(convert: Converter | None) -> Converter | None:
    if convert is None:
        return None
    return lambda value: [convert(item) for item in value] if isinstance(value, list) else value


def _object(schema: JsonObject) -> Converter | None:
    extra = converter(schema.get("additionalProperties"))
    if extra is not None:
        return lambda value: (
            {key: extra(item) for key, item in value.items()} if isinstance(value, dict) else value
        )
    parts: dict[str, tuple[str, Converter | None]] = {}
    for name, part in dig_object(schema, "properties").items():
        identifier, convert = escaped(name) or name, converter(part)
        if convert is not None or identifier != name:
            parts[name] = identifier, convert
    return _by_name(parts) if parts else None


def _by_name(parts: dict[str, tuple[str, Converter | None]]) -> Converter:
    def convert(value: JsonValue) -> object:
        if not isinstance(value, dict):
            return value
        out: dict[str, object] = {}
        for key, item in value.items():
            identifier, inner = parts.get(key, (key, None))
            out[identifier] = item if inner is None else inner(item)
        return out

    return convert
