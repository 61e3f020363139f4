"""From a model to the structural schema that the API server enforces.

Every bound, enum and pattern of the model becomes the schema rule whose message users know (`should be greater than or
equal to 0`, `should match`, `should be at least 1 chars long`). Unknown fields are pruned, because nothing here says
otherwise. The pod template and the claim spec are Kubernetes' own types and come from a data file made from a server.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from vcray.api.marks import QUANTITY, CoreSchema, QuantityMark, Schema, ServedDefault
from vcray.api.meta import ApiModel, AtomicList, JsonObject, JsonValue, ObjectMeta

_SCALARS: dict[object, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    ObjectMeta: {"type": "object"},
}
_BOUNDS = {"ge": "minimum", "le": "maximum", "pattern": "pattern"}


@cache
def _core_schemas() -> dict[str, JsonObject]:
    source = resources.files("vcray.api") / "data" / "core_v1.json"
    if not source.is_file():
        raise FileNotFoundError(
            "vcray/api/data/core_v1.json is missing: make it with tools/openapi/pod_template.py, or reinstall vcray"
        )
    loaded: dict[str, JsonObject] = json.loads(source.read_text())
    return loaded


@cache
def model_schema(model: type[ApiModel]) -> JsonObject:
    """The schema of one model. The answer is shared: copy it before changing it."""
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for name, info in model.model_fields.items():
        wire_name = info.alias or name
        properties[wire_name] = _property(info)
        if info.is_required():
            required.append(wire_name)
    schema: JsonObject = {"type": "object", "properties": dict(sorted(properties.items()))}
    if model.__doc__:
        schema["description"] = " ".join(model.__doc__.split())
    if required:
        schema["required"] = sorted(required, key=str)
    return schema | model.schema_extra


def _property(info: FieldInfo) -> JsonObject:
    schema = _type_schema(info.annotation, info.metadata)
    if any(isinstance(mark, ServedDefault) for mark in info.metadata):
        default = info.default
        schema["default"] = str(default) if isinstance(default, StrEnum) else default
    if info.description:
        schema["description"] = info.description
    return schema


def _type_schema(annotation: object, marks: Iterable[object]) -> JsonObject:
    marks = list(marks)
    while get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        marks = [*inner, *marks]
    for mark in marks:
        if isinstance(mark, CoreSchema):
            return dict(_core_schemas()[mark.key])
        if isinstance(mark, QuantityMark):
            return {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "pattern": QUANTITY,
                "x-kubernetes-int-or-string": True,
            }
    if get_origin(annotation) in (types.UnionType, Union):
        (plain,) = (choice for choice in get_args(annotation) if choice is not type(None))
        return _type_schema(plain, marks)
    schema = _plain_schema(annotation)
    for mark in marks:
        _apply(schema, mark)
    return schema


def _plain_schema(annotation: object) -> JsonObject:
    if annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0], ())}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1], ())}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return {"type": "string", "enum": [str(member) for member in annotation]}
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        return dict(model_schema(annotation))
    raise TypeError(f"no structural schema for {annotation!r}")


def _apply(schema: JsonObject, mark: object) -> None:
    """Add what one mark or pydantic bound says to a schema."""
    if isinstance(mark, Schema):
        schema.update(mark.extra)
        return
    if isinstance(mark, AtomicList):
        schema["x-kubernetes-list-type"] = "atomic"
        return
    for attribute, rule in _BOUNDS.items():
        bound = getattr(mark, attribute, None)
        if bound is not None:
            schema[rule] = bound
    unit = "Items" if schema["type"] == "array" else "Length"
    for attribute, word in (("min_length", "min"), ("max_length", "max")):
        bound = getattr(mark, attribute, None)
        if bound is not None:
            schema[word + unit] = bound
