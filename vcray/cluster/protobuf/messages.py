"""Messages as tables: each type is compiled once into a table of writers and one of readers, when it is first met."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from functools import cache

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.protobuf.fields import FieldRow, properties_of, rows_of
from vcray.cluster.protobuf.scalars import SPECIAL
from vcray.cluster.protobuf.wire import (
    FIXED64,
    LENGTH,
    VARINT,
    bytes_field,
    fields,
    number_field,
    read_varint,
    signed,
    tagged,
    text_field,
    varint,
)

_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_EITHER = {f"{_SCHEMA}OrArray", f"{_SCHEMA}OrBool", f"{_SCHEMA}OrStringArray"}
_KINDS = {"s": LENGTH, "y": LENGTH, "i": VARINT, "b": VARINT, "d": FIXED64}
_EMPTY: dict[str, JsonValue] = {"s": "", "i": 0, "b": False, "d": 0, "y": ""}

Write = Callable[[JsonValue], bytes]
Read = Callable[[int | bytes], JsonValue]


class Table:
    """One message type: `writers` by JSON name, `readers` by number, and the messages whose fields stand in its JSON."""

    def __init__(self, name: str, parent: JsonObject | None = None) -> None:
        self.writers: dict[str, Write] = {}
        self.readers: dict[int, tuple[FieldRow, Read]] = {}
        self.inlined: dict[int, Table] = {}
        for row in rows_of(name, parent):
            if not row.name:
                self.inlined[row.number] = Table(row.target, {**(parent or {}), **properties_of(name)})
                continue
            self.writers[row.name] = _writer(row)
            self.readers[row.number] = (row, _reader(row))
        self._home = {
            key: number for number, table in self.inlined.items() for key in table.names()
        }  # JSON name -> the inlined message that has it

    def names(self) -> set[str]:
        """The JSON names of its fields, inlined ones included."""
        return set(self.writers).union(*(table.names() for table in self.inlined.values()))

    def write(self, obj: JsonObject) -> bytes:
        """The bytes of an object; fields that the message lacks are passed over."""
        parts, below = [], dict[int, JsonObject]()
        writers = self.writers
        for key, value in obj.items():
            if value is None:
                continue
            writer = writers.get(key)
            if writer is not None:
                parts.append(writer(value))
            elif key in self._home:
                below.setdefault(self._home[key], {})[key] = value
        for number, inner in below.items():
            parts.append(bytes_field(number, self.inlined[number].write(inner)))
        return b"".join(parts)

    def read(self, data: bytes) -> JsonObject:
        """The object of the bytes, as the server's JSON has it. ValueError if they are malformed."""
        found: JsonObject = {}
        for number, _, value in fields(data):
            known = self.readers.get(number)
            if known is None:
                inner = self.inlined.get(number)
                if inner is not None and isinstance(value, bytes):
                    found |= inner.read(value)
                continue
            row, read = known
            _put(found, row, read(value))
        return found


def _put(found: JsonObject, row: FieldRow, value: JsonValue) -> None:
    """Add a value that was read, unless it is one that JSON leaves out."""
    if row.shape == "[]":
        listed = found.setdefault(row.name, [])
        if isinstance(listed, list):
            listed += value if isinstance(value, list) and row.target == "i" else [value]
    elif row.shape == "{}":
        entries = found.setdefault(row.name, {})
        if isinstance(entries, dict) and isinstance(value, dict):
            entries |= value
    elif value is None:
        if row.shown and not row.pointer:
            found[row.name] = None
    elif row.pointer or row.shown or value not in ("", 0, {}):
        found[row.name] = value


@cache
def table(name: str) -> Table:
    """The table of a message type. KeyError if there is no such message."""
    return Table(name)


def write_value(name: str, value: JsonValue) -> bytes:
    """The bytes of a value of a message type, special ones included."""
    special = SPECIAL.get(name)
    if special is not None:
        return special[0](value)
    if name in _EITHER:
        return _write_either(name, value)
    if not isinstance(value, dict):
        raise ValueError(f"{name.rpartition('.')[2]} cannot be {value!r}")
    return table(name).write(value)


def read_value(name: str, data: bytes) -> JsonValue:
    """The JSON of a message, special ones included; None for a special one that is not set."""
    special = SPECIAL.get(name)
    if special is not None:
        return special[1](data)
    return _read_either(name, data) if name in _EITHER else table(name).read(data)


def _write_either(name: str, value: JsonValue) -> bytes:
    """A schema, or a bool, a list of schemas, a list of names, by the type's name."""
    if isinstance(value, bool):
        return number_field(1, int(value))
    if isinstance(value, list):
        if name.endswith("OrStringArray"):
            return b"".join(text_field(2, str(item)) for item in value)
        return b"".join(bytes_field(2, write_value(_SCHEMA, item)) for item in value)
    if name.endswith("OrBool"):
        return number_field(1, 1) + bytes_field(2, write_value(_SCHEMA, value))
    return bytes_field(1, write_value(_SCHEMA, value))


def _read_either(name: str, data: bytes) -> JsonValue:
    found = list(fields(data))
    schema_at = 2 if name.endswith("OrBool") else 1
    for number, _, value in found:
        if number == schema_at and isinstance(value, bytes):
            return read_value(_SCHEMA, value)
    if name.endswith("OrBool"):
        return any(value == 1 for number, _, value in found if number == 1)
    several = [value for number, _, value in found if number == 2 and isinstance(value, bytes)]
    if name.endswith("OrStringArray"):
        return [value.decode() for value in several]
    return [read_value(_SCHEMA, value) for value in several]


# -- writing ----------------------------------------------------------------------------------------------------


def _writer(row: FieldRow) -> Write:
    if row.shape == "{}":
        return _map_writer(row)
    key = tagged(row.number, _KINDS.get(row.target, LENGTH))
    one = _value_writer(row.target)
    if row.shape == "[]":

        def many(value: JsonValue) -> bytes:
            return b"".join([key + one(item) for item in value]) if isinstance(value, list) else b""

        return many

    def single(value: JsonValue) -> bytes:
        return key + one(value)

    return single


def _map_writer(row: FieldRow) -> Write:
    key = tagged(row.number, LENGTH)
    inner, one = tagged(2, _KINDS.get(row.target, LENGTH)), _value_writer(row.target)

    def entries(value: JsonValue) -> bytes:
        if not isinstance(value, dict):
            return b""
        parts = []
        for name, item in value.items():
            entry = text_field(1, name) + inner + one(item)
            parts.append(key + varint(len(entry)) + entry)
        return b"".join(parts)

    return entries


def _value_writer(target: str) -> Write:
    """What stands behind the key of a field."""

    def text(value: JsonValue) -> bytes:
        raw = value.encode() if isinstance(value, str) else str(value).encode()
        return varint(len(raw)) + raw

    def whole(value: JsonValue) -> bytes:
        return varint(int(value)) if isinstance(value, int | float | str) else b"\0"

    def flag(value: JsonValue) -> bytes:
        return b"\1" if value else b"\0"

    def binary(value: JsonValue) -> bytes:
        raw = base64.b64decode(str(value))
        return varint(len(raw)) + raw

    def real(value: JsonValue) -> bytes:
        return struct.pack("<d", float(value) if isinstance(value, int | float) else 0.0)

    def message(value: JsonValue) -> bytes:
        raw = write_value(target, value)
        return varint(len(raw)) + raw

    return {"s": text, "i": whole, "b": flag, "y": binary, "d": real}.get(target, message)


# -- reading ----------------------------------------------------------------------------------------------------


def _reader(row: FieldRow) -> Read:
    one = _value_reader(row.target)
    if row.shape != "{}":
        return one
    empty = _EMPTY.get(row.target, {})

    def entry(value: int | bytes) -> JsonValue:
        key, item = "", empty
        for number, _, part in fields(_bytes(value)):
            if number == 1:
                key = _bytes(part).decode()
            elif number == 2:
                item = one(part)
        return {key: item}

    return entry


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError("a number stands where a text or a message belongs")


def _value_reader(target: str) -> Read:
    def text(value: int | bytes) -> JsonValue:
        return _bytes(value).decode()

    def whole(value: int | bytes) -> JsonValue:
        if isinstance(value, int):
            return signed(value)
        packed: list[JsonValue] = []
        at = 0
        while at < len(value):
            number, at = read_varint(value, at)
            packed.append(signed(number))
        return packed

    def flag(value: int | bytes) -> JsonValue:
        return bool(value)

    def binary(value: int | bytes) -> JsonValue:
        return base64.b64encode(_bytes(value)).decode()

    def real(value: int | bytes) -> JsonValue:
        number: float = struct.unpack("<d", _bytes(value))[0]
        return int(number) if number.is_integer() else number

    def message(value: int | bytes) -> JsonValue:
        return read_value(target, _bytes(value))

    return {"s": text, "i": whole, "b": flag, "y": binary, "d": real}.get(target, message)
