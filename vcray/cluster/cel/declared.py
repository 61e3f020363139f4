"""OpenAPI schemas as types of the expression language, for the checker.

An object with properties becomes a protobuf message, whose fields are the properties under their escaped names. Protobuf
has no lists of lists and no maps of lists: those are `google.protobuf.ListValue` and `Struct`, whose elements have any type.
Fields that are not described do not exist, as in Kubernetes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from google.protobuf import descriptor_pb2, descriptor_pool

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cel.environment import new_pool
from vcray.cel.rewriting import escaped

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "declared"
_SCALARS = {
    "int": _Field.TYPE_INT64,
    "double": _Field.TYPE_DOUBLE,
    "bool": _Field.TYPE_BOOL,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
}
_MESSAGES = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "dyn": "google.protobuf.Value",
}
_STRING_FORMATS = {"byte": "bytes", "duration": "duration", "date": "timestamp", "date-time": "timestamp"}
_OBJECT_META: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}


def with_object_meta(schema: JsonObject) -> JsonObject:
    """The schema of a whole resource: kind, version and the two names of its metadata are always there."""
    properties = dict(dig_object(schema, "properties"))
    properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    described = dig_object(properties, "metadata", "properties")
    if "name" not in described:
        properties["metadata"] = _OBJECT_META
    return {**schema, "type": "object", "properties": properties}


class Types:
    """The types of one or several schemas; `pool` goes to the checker. `references` are the schemas that `$ref` names."""

    def __init__(self, references: Mapping[str, JsonObject] | None = None) -> None:
        self.pool: descriptor_pool.DescriptorPool = new_pool()
        self._references = references or {}
        self._numbers = itertools.count(1)
        self._file = self._new_file()
        self._named: dict[str, str] = {}
        self._plain = False

    def _new_file(self) -> descriptor_pb2.FileDescriptorProto:
        number = next(self._numbers)
        imports = [f"google/protobuf/{name}.proto" for name in ("duration", "timestamp", "struct")]
        return descriptor_pb2.FileDescriptorProto(
            name=f"declared{number}.proto",
            package=f"{_PACKAGE}{number}",
            syntax="proto2",
            dependency=imports,
        )

    def declare(self, schema: JsonObject, *, resource: bool = False, plain: bool = False) -> str | None:
        """The type of values of a schema, in CEL's writing; None if the schema says nothing about them.

        The fields of `plain` types have their own names even where those are reserved words.
        """
        self._plain = plain
        found = self._type(with_object_meta(schema) if resource else schema)
        if self._file.message_type:
            self.pool.Add(self._file)
            self._file = self._new_file()
            self._named.clear()
        return found

    def _type(self, schema: JsonValue) -> str | None:
        if not isinstance(schema, dict):
            return None
        if "$ref" in schema:
            return self._referenced(dig_str(schema, "$ref"))
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "dyn"
        match dig_str(schema, "type"):
            case "array":
                element = self._type(_embedded(schema.get("items")))
                return None if element is None else f"list<{element}>"
            case "object":
                return self._object(schema)
            case "string":
                return _STRING_FORMATS.get(dig_str(schema, "format"), "string")
            case "boolean":
                return "bool"
            case "number":
                return "double"
            case "integer":
                return "int"
        return None

    def _referenced(self, name: str) -> str | None:
        schema = self._references.get(name)
        if schema is None:
            return None
        if name in self._named:
            return self._named[name]
        if dig_object(schema, "properties"):
            return self._message(schema, name)
        return self._type(schema)

    def _object(self, schema: JsonObject) -> str | None:
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            element = self._type(_embedded(extra))
            return None if element is None else f"map<string,{element}>"
        return self._message(schema, "")

    def _message(self, schema: JsonObject, reference: str) -> str:
        message = self._file.message_type.add(name=f"Object{len(self._file.message_type)}")
        full = f"{self._file.package}.{message.name}"
        if reference:
            self._named[reference] = full
        fields = [
            (name if self._plain else escaped(name), self._type(_embedded(part)))
            for name, part in dig_object(schema, "properties").items()
        ]
        for name, kind in fields:
            if name is not None and kind is not None:
                self._add_field(message, name, kind)
        return full

    def _add_field(self, message: descriptor_pb2.DescriptorProto, name: str, kind: str) -> None:
        field = message.field.add(name=name, number=len(message.field) + 1, label=_Field.LABEL_OPTIONAL)
        if kind.startswith("list<"):
            field.label = _Field.LABEL_REPEATED
            _set_type(field, _flat(kind.removeprefix("list<").removesuffix(">")))
        elif kind.startswith("map<string,"):
            entry_name = _entry_name(name)
            if any(nested.name == entry_name for nested in message.nested_type):
                _set_type(field, "google.protobuf.Struct")
                return
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
            value = entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL)
            _set_type(value, _flat(kind.removeprefix("map<string,").removesuffix(">")))
            field.label = _Field.LABEL_REPEATED
            field.type = _Field.TYPE_MESSAGE
            field.type_name = f".{self._file.package}.{message.name}.{entry.name}"
        else:
            _set_type(field, kind)


def _embedded(schema: JsonValue) -> JsonValue:
    """A schema that holds whole resources has their metadata."""
    if isinstance(schema, dict) and schema.get("x-kubernetes-embedded-resource"):
        return with_object_meta(schema)
    return schema


def _entry_name(field: str) -> str:
    """The name that protobuf demands of the entry type of a map field."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _flat(kind: str) -> str:
    """An element's type, where protobuf can hold it."""
    if kind.startswith("list<"):
        return "google.protobuf.ListValue"
    return "google.protobuf.Struct" if kind.startswith("map<") else kind


def _set_type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
        return
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{_MESSAGES.get(kind, kind)}"
