"""Reading an object of a built-in kind as the server's decoder would: into the types of the data file and out again.

What a type does not know is dropped and told, what it cannot hold is an error; empty fields go as `omitempty` has it,
fields that are always written appear; times and quantities take their canonical form. Defaults are filled in on the way
(vcray/cluster/kinds/defaults.py), type by type as the server's own do. Each type is turned into a function once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds import defaults
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.kinds.faults import DecodeError, Faults, Where, cannot_hold
from vcray.cluster.kinds.scalars import read_bytes, read_micro_time, read_quantity, read_time

Reader: TypeAlias = Callable[[JsonValue, Where, Faults], JsonValue]
"""Reads one value; `None` means that it is empty."""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCHEMAS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class Field:
    """One field of a struct, ready to be read. `text` marks plain strings that vanish when empty, the usual case."""

    __slots__ = ("keeps", "read", "text")

    def __init__(self, read: Reader, keeps: bool, text: bool) -> None:
        self.read = read
        self.keeps = keeps
        self.text = text


def _element_type(go: str) -> str:
    if go.startswith("[]"):
        return go[2:]
    return go.partition("]")[2] if go.startswith("map[") else ""


def _reader(schema: JsonObject, struct: str, go: str) -> Reader:
    """The reader of one value of type `go` that is a field of `struct`, or in one."""
    go = go.removeprefix("*")
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _named_reader(reference, struct, go)
    match schema.get("type"):
        case "string":
            return _bytes_reader(struct, go) if schema.get("format") == "byte" else _string_reader(struct, go)
        case "integer":
            return _integer_reader(struct, str(schema.get("format")), go)
        case "boolean":
            return _boolean_reader(struct)
        case "number":
            return _number_reader(struct)
        case "array":
            element = _element_type(go)
            return _list_reader(_reader(dig_object(schema, "items"), struct, element), struct, go)
        case "object" if "additionalProperties" in schema:
            element = _element_type(go)
            inner = dig_object(schema, "additionalProperties")
            named = element or dig_str(inner, "$ref").rpartition(".")[2] or dig_str(inner, "type")
            return _map_reader(_reader(inner, struct, named), inner, struct, go)
    return _raw


def _raw(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
    return value


def _string_reader(struct: str, go: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if value.__class__ is not str:
            raise cannot_hold(value, struct, where, go or "string")
        return value

    return read


def _bytes_reader(struct: str, go: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if not isinstance(value, str):
            raise cannot_hold(value, struct, where, go)
        return read_bytes(value)

    return read


def _integer_reader(struct: str, form: str, go: str) -> Reader:
    low, high = _INT_RANGES.get(form, _INT_RANGES["int64"])

    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if type(value) is int and low <= value <= high:
            return value
        raise cannot_hold(value, struct, where, go)

    return read


def _boolean_reader(struct: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if value.__class__ is not bool:
            raise cannot_hold(value, struct, where, "bool")
        return value

    return read


def _number_reader(struct: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if value.__class__ is not int and value.__class__ is not float:
            raise cannot_hold(value, struct, where, "float64")
        return value

    return read


def _list_reader(inner: Reader, struct: str, go: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if not isinstance(value, list):
            raise cannot_hold(value, struct, where, go)
        return [
            inner(item, (where, index), faults) if item is not None else _empty_item(inner, where, faults)
            for index, item in enumerate(value)
        ]

    return read


def _empty_item(inner: Reader, where: Where, faults: Faults) -> JsonValue:
    """What a null in a list or map stands for: the empty value of its type, where it has one."""
    if inner is _raw:
        return None
    zeros: tuple[JsonValue, ...] = ({}, "", 0, False)
    for empty in zeros:
        try:
            return inner(empty, where, faults)
        except DecodeError:
            continue
    return None


def _map_reader(inner: Reader, schema: JsonObject, struct: str, go: str) -> Reader:
    texts = schema.get("type") == "string" and "format" not in schema

    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if not isinstance(value, dict):
            raise cannot_hold(value, struct, where, go)
        if texts and all(item.__class__ is str for item in value.values()):
            return value
        return {
            key: inner(item, where, faults) if item is not None else _empty_item(inner, where, faults)
            for key, item in value.items()
        }

    return read


def _named_reader(name: str, struct: str, go: str) -> Reader:
    if name in _SPECIAL:
        return _SPECIAL[name](struct, go)
    schema = kinds_data().types[name]
    if "properties" not in schema:
        return _reader(schema, struct, go) if "type" in schema and schema["type"] != "object" else _raw
    found: list[Reader] = []

    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if value.__class__ is not dict:
            raise cannot_hold(value, struct, where, go)
        if not found:
            found.append(struct_reader(name))
        return found[0](value, where, faults)

    return read


def _time_reader(convert: Callable[[str], str]) -> Callable[[str, str], Reader]:
    def make(struct: str, go: str) -> Reader:
        def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
            if not isinstance(value, str):
                raise DecodeError("json: cannot unmarshal " + _plain(value) + " into Go value of type string")
            return convert(value)

        return read

    return make


def _plain(value: JsonValue) -> str:
    return "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "object"


def _quantity_reader(struct: str, go: str) -> Reader:
    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        return read_quantity(value)

    return read


def _int_or_string_reader(struct: str, go: str) -> Reader:
    low, high = _INT_RANGES["int32"]

    def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        if isinstance(value, str) or (type(value) is int and low <= value <= high):
            return value
        raise cannot_hold(value, struct, where, "int32")

    return read


def _schema_or(name: str) -> Callable[[str, str], Reader]:
    """The parts of a schema that are a schema or something else: kept as they are but for the schema."""

    def make(struct: str, go: str) -> Reader:
        def read(value: JsonValue, where: Where, faults: Faults) -> JsonValue:
            if isinstance(value, dict):
                return struct_reader(_SCHEMAS + "JSONSchemaProps")(value, where, faults)
            if name == "JSONSchemaPropsOrBool" and isinstance(value, bool):
                return value
            if name != "JSONSchemaPropsOrBool" and isinstance(value, list):
                return value
            told = {"JSONSchemaPropsOrBool": "boolean or JSON schema expected"}
            raise DecodeError(told.get(name, "array or JSON schema expected"))

        return read

    return make


_SPECIAL: dict[str, Callable[[str, str], Reader]] = {
    _META + "Time": _time_reader(read_time),
    _META + "MicroTime": _time_reader(read_micro_time),
    _META + "FieldsV1": lambda struct, go: _raw,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity_reader,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string_reader,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": lambda struct, go: _raw,
    _SCHEMAS + "JSON": lambda struct, go: _raw,
    _SCHEMAS + "JSONSchemaPropsOrArray": _schema_or("JSONSchemaPropsOrArray"),
    _SCHEMAS + "JSONSchemaPropsOrBool": _schema_or("JSONSchemaPropsOrBool"),
    _SCHEMAS + "JSONSchemaPropsOrStringArray": _schema_or("JSONSchemaPropsOrStringArray"),
}
_ZEROS: dict[str, JsonValue] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "0",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0,
}


def empty_value(schema: JsonObject) -> JsonValue:
    """What is written for a field that is not set but always written; null for lists, maps, pointers and times."""
    go, reference = dig_str(schema, "go"), dig_str(schema, "$ref")
    if go.startswith(("*", "[]", "map[")):
        return None
    if reference:
        known = kinds_data().types[reference]
        return _ZEROS.get(reference, {} if "properties" in known else None)
    empty: dict[str, JsonValue] = {"string": "", "integer": 0, "boolean": False, "number": 0}
    return empty.get(dig_str(schema, "type"))


class _Struct:
    """One type, ready to be read. `always` are the fields that are written when empty: with their empty value, null
    where they are pointers, or read from an empty object where they are structs."""

    __slots__ = ("_always", "_fields", "_fill", "_nested", "_pointers")

    def __init__(self, name: str) -> None:
        schema = kinds_data().types[name]
        struct = name.rpartition(".")[2]
        properties = {key: dig_object(part) for key, part in dig_object(schema, "properties").items()}
        always = [(key, empty_value(part)) for key, part in properties.items() if part.get("zero")]
        self._fields = {key: _field(part, struct) for key, part in properties.items()}
        self._nested = [(key, self._fields[key].read) for key, empty in always if empty == {}]
        self._pointers = [key for key, _ in always if dig_str(properties[key], "go").startswith("*")]
        self._always = [(key, empty) for key, empty in always if empty != {} and key not in self._pointers]
        self._fill = defaults.of(name)

    def read(self, value: JsonValue, where: Where, faults: Faults) -> JsonValue:
        assert isinstance(value, dict)
        result: JsonObject = {}
        fields = self._fields
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                faults.add(where, key)
            elif field.text and item.__class__ is str:
                if item:
                    result[key] = item
            elif item is not None:
                item = field.read(item, (where, key), faults)
                if item or field.keeps:
                    result[key] = item
        self._complete(result, where, faults)
        return result

    def _complete(self, result: JsonObject, where: Where, faults: Faults) -> None:
        for key, empty in self._always:
            if not result.get(key):
                result[key] = empty
        for key in self._pointers:
            result.setdefault(key, None)
        for key, inner in self._nested:
            if key not in result:
                result[key] = inner({}, (where, key), faults)
        if self._fill is not None:
            self._fill(result)


@cache
def struct_reader(name: str) -> Reader:
    """The function that reads an object of a type of the data file. KeyError for an unknown type."""
    return _Struct(name).read


def _field(schema: JsonObject, struct: str) -> Field:
    go = dig_str(schema, "go")
    pointer = go.startswith("*")
    is_text = schema.get("type") == "string" and "format" not in schema
    keeps = pointer or bool(schema.get("zero")) or _is_struct(schema)
    return Field(_reader(schema, struct, go), keeps, is_text and not keeps)


def _is_struct(schema: JsonObject) -> bool:
    reference = dig_str(schema, "$ref")
    return bool(reference) and "properties" in kinds_data().types[reference]


def read_object(name: str, obj: JsonObject, faults: Faults) -> JsonObject:
    """An object of the type `name` as the server would have decoded and defaulted it. Raises DecodeError."""
    result = struct_reader(name)(obj, None, faults)
    assert isinstance(result, dict)
    return result


def read_metadata(metadata: JsonObject, where: Where, faults: Faults) -> JsonObject:
    """The metadata of an object of any kind. Raises DecodeError."""
    result = struct_reader(_META + "ObjectMeta")(metadata, where, faults)
    assert isinstance(result, dict)
    return result
