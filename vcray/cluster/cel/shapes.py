"""How large values may be: what the cost of an expression is estimated from.

A `Shape` bounds the values of a schema by its `maxItems`, `maxLength` and `maxProperties`, or by what fits into one request of
3 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vcray.api.jsonview import dig_int, dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cel.rewriting import escaped
from vcray.cluster.cel.declared import with_object_meta

REQUEST_BYTES = 3 * 1024 * 1024
UNKNOWN = 2**64 - 1
_SCALAR_BYTES = {"boolean": 4, "number": 1, "integer": 1}
_STRING_BYTES = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}


@dataclass(frozen=True, slots=True)
class Shape:
    """`size` is the most elements (characters, items, entries) a value has, 1 for scalars; `least` its fewest bytes."""

    size: int
    least: int = 1
    element: Shape | None = None
    fields: dict[str, Shape] = field(default_factory=dict)

    def at(self, name: str) -> Shape | None:
        """The shape of a field, or of a map's values."""
        return self.fields.get(name) or (self.element if not self.fields else None)


SCALAR = Shape(1)
KEY = Shape(REQUEST_BYTES - 2, 2)


def shape_of(schema: JsonValue, *, resource: bool = False) -> Shape | None:
    """The bounds of a schema's values; None where the schema says nothing."""
    if not isinstance(schema, dict):
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return Shape(_length(schema), 1)
    if resource or schema.get("x-kubernetes-embedded-resource"):
        schema = with_object_meta(schema)
    kind = dig_str(schema, "type")
    if kind in _SCALAR_BYTES:
        return Shape(1, _SCALAR_BYTES[kind])
    if kind == "string":
        least, most = _STRING_BYTES.get(dig_str(schema, "format"), (2, 0))
        return Shape(most or _length(schema), least)
    if kind == "array":
        items = shape_of(schema.get("items"))
        if items is None:
            return None
        return Shape(_most(schema, "maxItems", (REQUEST_BYTES - 2) // (items.least + 1)), 2, items)
    return _object_shape(schema) if kind == "object" else None


def _most(schema: JsonObject, name: str, otherwise: int) -> int:
    return max(0, dig_int(schema, name)) if name in schema else otherwise


def _length(schema: JsonObject) -> int:
    if "maxLength" in schema:
        return max(0, dig_int(schema, "maxLength")) * 4
    listed = [len(item) for item in dig_list(schema, "enum") if isinstance(item, str)]
    return max(listed) if listed else REQUEST_BYTES - 2


def _object_shape(schema: JsonObject) -> Shape | None:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        values = shape_of(extra)
        if values is None:
            return None
        return Shape(_most(schema, "maxProperties", (REQUEST_BYTES - 2) // (values.least + 6)), 2, values)
    required, fields, least = dig_list(schema, "required"), dict[str, Shape](), 2
    for name, part in dig_object(schema, "properties").items():
        shape, identifier = shape_of(part), escaped(name)
        if shape is None:
            continue
        if identifier is not None:
            fields[identifier] = shape
        if name in required and dig_object(schema, "properties", name).get("default") is None:
            least += len(name) + shape.least + 4
    return Shape(UNKNOWN, least, None, fields)
