"""The v2 document as protobuf: messages of gnostic's OpenAPIv2.proto, which kubectl and client-go ask for.

Only those fields that the server's documents use have a row here; anything else would be lost, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.protobuf.wire import bytes_field, double_field, number_field, text_field

_Writer = Callable[[int, JsonValue], bytes]


def swagger_bytes(document: JsonObject) -> bytes:
    """A v2 document as gnostic's `Document`. ValueError for a field that has no number here."""
    return _message(document, _DOCUMENT)


def _message(value: JsonValue, table: dict[str, tuple[int, _Writer]], vendor: int = 0) -> bytes:
    """A message by its table; `x-…` keys go into the repeated field `vendor`, as YAML."""
    assert isinstance(value, dict)
    parts = []
    for key, item in value.items():
        row = table.get(key)
        if row is not None:
            parts.append(row[1](row[0], item))
        elif vendor and key.startswith("x-"):
            parts.append(bytes_field(vendor, text_field(1, key) + bytes_field(2, _any(item))))
        else:
            raise ValueError(f"{key} has no field number")
    return b"".join(parts)


def _any(value: JsonValue) -> bytes:
    return bytes_field(2, msgspec.json.encode(value))


def _text(field: int, value: JsonValue) -> bytes:
    return text_field(field, str(value))


def _flag(field: int, value: JsonValue) -> bytes:
    return number_field(field, 1) if value else b""


def _whole(field: int, value: JsonValue) -> bytes:
    return number_field(field, int(value)) if isinstance(value, int | float) else b""


def _real(field: int, value: JsonValue) -> bytes:
    return double_field(field, float(value)) if isinstance(value, int | float) else b""


def _texts(field: int, value: JsonValue) -> bytes:
    return b"".join(text_field(field, str(item)) for item in value) if isinstance(value, list) else b""


def _value(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _any(value))


def _values(field: int, value: JsonValue) -> bytes:
    return b"".join(_value(field, item) for item in value) if isinstance(value, list) else b""


def _schema(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _message(value, _SCHEMA, vendor=31))


def _schemas(field: int, value: JsonValue) -> bytes:
    return b"".join(_schema(field, item) for item in value) if isinstance(value, list) else b""


def _kinds(field: int, value: JsonValue) -> bytes:
    """`TypeItem`: one type or several."""
    return bytes_field(field, _texts(1, value if isinstance(value, list) else [value]))


def _items(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _schema(1, value))


def _additional(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, number_field(2, int(value)) if isinstance(value, bool) else _schema(1, value))


def _named(write: _Writer, inner: int = 1) -> _Writer:
    """A map as a message with one repeated field of name and value."""

    def writer(field: int, value: JsonValue) -> bytes:
        assert isinstance(value, dict)
        pairs = (bytes_field(inner, text_field(1, name) + write(2, item)) for name, item in value.items())
        return bytes_field(field, b"".join(pairs))

    return writer


def _info(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _message(value, {"title": (1, _text), "version": (2, _text)}))


def _response(field: int, value: JsonValue) -> bytes:
    """`ResponseValue` with a `Response`, whose schema is a `SchemaItem`."""

    def schema(number: int, item: JsonValue) -> bytes:
        return bytes_field(number, _schema(1, item))

    table: dict[str, tuple[int, _Writer]] = {"description": (1, _text), "schema": (2, schema)}
    return bytes_field(field, bytes_field(1, _message(value, table, vendor=5)))


def _parameter(value: JsonValue) -> bytes:
    """`ParametersItem`: a body, path or query parameter."""
    assert isinstance(value, dict)
    if value.get("in") == "body":
        table: dict[str, tuple[int, _Writer]] = {
            "description": (1, _text),
            "name": (2, _text),
            "in": (3, _text),
            "required": (4, _flag),
            "schema": (5, _schema),
        }
        return bytes_field(1, bytes_field(1, _message(value, table, vendor=6)))
    path = value.get("in") == "path"
    after = 0 if path else 1  # query parameters have one field more before the type
    table = {
        "required": (1, _flag),
        "in": (2, _text),
        "description": (3, _text),
        "name": (4, _text),
        "type": (5 + after, _text),
        "format": (6 + after, _text),
        "uniqueItems": (19 + after, _flag),
    }
    wrapped = bytes_field(4 if path else 3, _message(value, table))
    return bytes_field(1, bytes_field(2, wrapped))


def _parameters(field: int, value: JsonValue) -> bytes:
    assert isinstance(value, list)
    return b"".join(bytes_field(field, _parameter(item)) for item in value)


def _operation(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _message(value, _OPERATION, vendor=13))


def _path(field: int, value: JsonValue) -> bytes:
    return bytes_field(field, _message(value, _PATH))


def _requirement(field: int, value: JsonValue) -> bytes:
    def scopes(number: int, item: JsonValue) -> bytes:
        return bytes_field(number, _texts(1, item))

    assert isinstance(value, list)
    return b"".join(_named(scopes)(field, item) for item in value)


def _security(field: int, value: JsonValue) -> bytes:
    """`SecurityDefinitionsItem` with an `ApiKeySecurity`."""
    table: dict[str, tuple[int, _Writer]] = {
        "type": (1, _text),
        "name": (2, _text),
        "in": (3, _text),
        "description": (4, _text),
    }
    return bytes_field(field, bytes_field(2, _message(value, table)))


_SCHEMA: dict[str, tuple[int, _Writer]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _value),
    "multipleOf": (6, _real),
    "maximum": (7, _real),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _real),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _whole),
    "minLength": (12, _whole),
    "pattern": (13, _text),
    "maxItems": (14, _whole),
    "minItems": (15, _whole),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _whole),
    "minProperties": (18, _whole),
    "required": (19, _texts),
    "enum": (20, _values),
    "additionalProperties": (21, _additional),
    "type": (22, _kinds),
    "items": (23, _items),
    "allOf": (24, _schemas),
    "properties": (25, _named(_schema)),
    "example": (30, _value),
}
_OPERATION: dict[str, tuple[int, _Writer]] = {
    "tags": (1, _texts),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _named(_response)),
    "schemes": (10, _texts),
}
_PATH: dict[str, tuple[int, _Writer]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters),
}
_DOCUMENT: dict[str, tuple[int, _Writer]] = {
    "swagger": (1, _text),
    "info": (2, _info),
    "paths": (8, _named(_path, inner=2)),
    "definitions": (9, _named(_schema)),
    "security": (12, _requirement),
    "securityDefinitions": (13, _named(_security)),
}
