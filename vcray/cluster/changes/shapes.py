"""The shape of values for merging: what is one leaf, which maps and lists merge entry by entry, and by which keys.

Shapes come from the data file of built-in types or from the schema of a definition, level by level when they are asked for.
Where a schema says nothing, maps merge and lists are replaced whole; a value of no known type is either one leaf
(`UNTYPED`) or, in maps that keep unknown fields, merges as deep as it has maps (`DEDUCED`).
"""

from __future__ import annotations

import json
from functools import cache
from json.encoder import encode_basestring

from vcray.api.jsonview import dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import kinds_data, type_name

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SCALARS = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


class Shape:
    """One level of a type.

    `scalar` is string, numeric, boolean, untyped or empty; `maps` and `lists` say whether the value may be one, `atomic_map`
    and `atomic_list` that such a value is one leaf. `keys` tell the entries of a keyed list apart; an associative list
    without keys is a set.
    """

    __slots__ = (
        "_extra_schema",
        "_fields",
        "_item_schema",
        "_keeps",
        "_properties",
        "atomic_list",
        "atomic_map",
        "keys",
        "lists",
        "maps",
        "merge_key",
        "scalar",
        "strategy",
    )

    def __init__(self, schema: JsonObject, keeps_unknown: bool = False) -> None:
        kind = dig_str(schema, "type")
        self._keeps = keeps_unknown or schema.get("x-kubernetes-preserve-unknown-fields") is True
        self._properties = dig_object(schema, "properties")
        self._extra_schema = schema.get("additionalProperties")
        self._item_schema = schema.get("items")
        self._fields: dict[str, Shape] = {}
        untyped = not kind or bool(schema.get("x-kubernetes-int-or-string"))
        self.scalar = _SCALARS.get(kind, "untyped" if untyped else "")
        self.maps = untyped or kind == "object"
        self.lists = untyped or kind == "array"
        self.atomic_map = schema.get("x-kubernetes-map-type") == "atomic"
        self.keys, associative = _list_rule(schema)
        self.atomic_list = not associative
        self.strategy = dig_str(schema, "x-kubernetes-patch-strategy")
        self.merge_key = dig_str(schema, "x-kubernetes-patch-merge-key")

    def known(self, name: str) -> bool:
        """True if a map of this shape names the field."""
        return name in self._properties

    def field(self, name: str) -> Shape | None:
        """The shape of a field or entry of a map; None if the schema does not allow it."""
        found = self._fields.get(name)
        if found is None:
            part = self._properties.get(name)
            if isinstance(part, dict):
                found = self._fields[name] = shape_of(part, self._keeps)
            else:
                return self.extra()
        return found

    def extra(self) -> Shape | None:
        """The shape of the entries of a map that are not fields."""
        if isinstance(self._extra_schema, dict):
            found = self._fields.get("")
            if found is None:
                found = self._fields[""] = shape_of(self._extra_schema, self._keeps)
            return found
        if self._extra_schema is True or (
            self._extra_schema is None and (self._keeps or not self._properties)
        ):
            return deduced()
        return None

    def item(self) -> Shape:
        """The shape of the entries of a list."""
        found = self._fields.get("[]")
        if found is None:
            part = self._item_schema
            found = shape_of(part, self._keeps) if isinstance(part, dict) else untyped_leaf()
            self._fields["[]"] = found
        return found

    def key_default(self, key: str) -> JsonValue:
        """The default of a key of the list's entries."""
        part = self.item()._properties.get(key)
        return part.get("default") if isinstance(part, dict) else None


def _list_rule(schema: JsonObject) -> tuple[tuple[str, ...], bool]:
    """The keys of a list, and whether it merges at all."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        return tuple(str(key) for key in dig_list(schema, "x-kubernetes-list-map-keys")), True
    if kind is not None:
        return (), kind == "set"
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = dig_str(schema, "x-kubernetes-patch-merge-key")
        return ((key,) if key else ()), True
    return (), False


@cache
def deduced() -> Shape:
    """The shape of a value that nothing is known of: maps merge, lists are leaves."""
    return Shape({"x-kubernetes-preserve-unknown-fields": True})


@cache
def untyped_leaf() -> Shape:
    """The shape of a value that is one leaf, whatever it is."""
    return Shape({"x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": True})


@cache
def type_shape(name: str) -> Shape:
    """The shape of a built-in type."""
    if name == "io.k8s.apimachinery.pkg.runtime.RawExtension":
        return untyped_leaf()
    if name == "io.k8s.apimachinery.pkg.api.resource.Quantity":
        return Shape({"x-kubernetes-map-type": "atomic"})
    return Shape(kinds_data().types[name])


def shape_of(schema: JsonObject, keeps_unknown: bool = False) -> Shape:
    """The shape of a schema, which may refer to a built-in type."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return Shape(schema, keeps_unknown)
    marks = {key: value for key, value in schema.items() if key.startswith("x-kubernetes-")}
    if not marks:
        return type_shape(reference)
    return Shape({**kinds_data().types[reference], **marks})


def kind_shape(api_version: str, kind: str, schema: JsonObject | None) -> Shape:
    """The shape of whole objects: of a built-in kind, or by the schema of a custom one."""
    if schema is None:
        name = type_name(api_version, kind)
        return deduced() if name is None else type_shape(name)
    text: JsonValue = {"type": "string"}
    own: JsonObject = {"apiVersion": text, "kind": text, "metadata": {"$ref": _META}}
    return Shape({**schema, "properties": {**dig_object(schema, "properties"), **own}})


def canonical(value: JsonValue) -> str:
    """JSON text that is equal for equal values."""
    if value.__class__ is str:
        return encode_basestring(value)
    if value.__class__ is list and len(value) == 1 and value[0].__class__ is str:
        return f"[{encode_basestring(value[0])}]"
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def entry_step(item: JsonValue, shape: Shape) -> str:
    """The step of `FieldsV1` to an entry of a list that merges; ValueError with Go's words for one without keys."""
    if not shape.keys:
        return f"v:{canonical(item)}"
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ValueError("associative list with keys may not have non-map elements")
    if len(shape.keys) == 1:
        key = shape.keys[0]
        value = item.get(key)
        if value.__class__ is str:
            return f'k:{{"{key}":{encode_basestring(value)}}}'
    named: JsonObject = {}
    for key in shape.keys:
        value = item[key] if key in item else shape.key_default(key)
        if key in item or value is not None:
            named[key] = value
    if not named:
        keys = " ".join(f'"{key}"' for key in shape.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{canonical(named)}"
