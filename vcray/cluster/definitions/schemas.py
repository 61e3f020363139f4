"""What a definition's schema may say, beyond being structural: types, list and map types, defaults, rules' texts."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.faults import Faults
from vcray.cluster.schema.pruning import prune
from vcray.cluster.schema.validation import validate

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNKNOWN = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_UNKNOWN_SET = frozenset(_UNKNOWN)
_JUNCTORS = frozenset(("allOf", "oneOf", "anyOf", "not"))
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_RESOURCE_FIELDS = ("metadata", "kind", "apiVersion")


@dataclass(frozen=True, slots=True)
class _Place:
    """What is allowed at a place: `no_default` says why there may be no default, `meta` that it is object metadata."""

    root: bool = False
    meta: bool = False
    no_default: str = ""

    @property
    def inside(self) -> _Place:
        """The same below: no longer the root."""
        return replace(self, root=False) if self.root else self


def schema_faults(schema: JsonObject, path: str) -> list[str]:
    """What is wrong with an openAPIV3Schema."""
    faults = Faults()
    _check(schema, path, _Place(root=True), faults)
    return faults.found


def default_faults(schema: JsonObject, path: str) -> list[str]:
    """Defaults that do not fit their own schema or would lose fields."""
    faults = Faults()
    _defaults(schema, path, faults)
    return faults.found


def _defaults(schema: JsonObject, path: str, faults: Faults) -> None:
    default = schema.get("default")
    if default is not None:
        pruned = deepcopy(default)
        if isinstance(pruned, dict):
            prune(pruned, {**schema, "x-kubernetes-embedded-resource": True} if _embedded(schema) else schema)
        if pruned != default:
            faults.invalid(f"{path}.default", default, "must not have unknown fields")
        faults.found += _misfits(default, schema, f"{path}.default")
    items = schema.get("items")
    if isinstance(items, dict):
        _defaults(items, f"{path}.items", faults)
    for name, field in dig_object(schema, "properties").items():
        if isinstance(field, dict):
            _defaults(field, f"{path}.properties[{name}]", faults)


def _embedded(schema: JsonObject) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _misfits(value: JsonValue, schema: JsonObject, path: str) -> list[str]:
    """The faults of a default, which is checked as the only field of an object."""
    bare = {key: item for key, item in schema.items() if key != "default"}
    holder: JsonObject = {"type": "object", "properties": {"default": bare}}
    found = []
    for error in validate({"default": value}, holder):
        where, _, told = error.partition(": ")
        told = told.replace(f": {where} in body", f": {where.removeprefix('default').lstrip('.')} in body", 1)
        found.append(f"{where.replace('default', path, 1)}: {told}" if where.startswith("default") else error)
    return found


def _check(schema: JsonObject, path: str, place: _Place, faults: Faults) -> None:
    _keywords(schema, path, place, faults)
    if not _JUNCTORS.isdisjoint(schema):
        _junctors(schema, path, place.inside, faults)
    properties, extra = dig_object(schema, "properties"), schema.get("additionalProperties")
    if properties and extra is not None and extra is not True:
        faults.forbidden(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    if isinstance(extra, dict):
        why = "inside additionalProperties applying to object metadata" if place.meta else place.no_default
        _check(extra, f"{path}.additionalProperties", replace(place, root=False, no_default=why), faults)
    for name, field in properties.items():
        if isinstance(field, dict):
            _check(field, f"{path}.properties[{name}]", _below(schema, place, name), faults)
    items = schema.get("items")
    if isinstance(items, dict):
        _check(items, f"{path}.items", place.inside, faults)
    if any(key.startswith("x-kubernetes-") for key in schema):
        _map_type(schema, path, faults)
        _list_type(schema, path, faults)
        _rules(schema, path, faults)


def _below(schema: JsonObject, place: _Place, name: str) -> _Place:
    if not (place.root or _embedded(schema)) or name not in _RESOURCE_FIELDS:
        return place.inside
    return _Place(meta=True, no_default=f"in top-level {name}" if place.root else place.no_default)


def _keywords(schema: JsonObject, path: str, place: _Place, faults: Faults) -> None:
    kind = dig_str(schema, "type")
    if kind and kind not in TYPES:
        faults.unsupported(f"{path}.type", kind, TYPES)
    if place.no_default and schema.get("default") is not None:
        faults.forbidden(f"{path}.default", f"must not be set {place.no_default}")
    if not _UNKNOWN_SET.isdisjoint(schema):
        for name in _UNKNOWN:
            if schema.get(name):
                faults.forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        faults.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        faults.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.meta and _embedded(schema):
        faults.forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        faults.forbidden(f"{path}.uniqueItems", why)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        faults.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


def _junctors(schema: JsonObject, path: str, inside: _Place, faults: Faults) -> None:
    for name in ("allOf", "oneOf", "anyOf"):
        for index, clause in enumerate(dig_list(schema, name)):
            if isinstance(clause, dict):
                _check(clause, f"{path}.{name}[{index}]", inside, faults)
    negated = schema.get("not")
    if isinstance(negated, dict):
        _check(negated, f"{path}.not", inside, faults)


def _must_be(schema: JsonObject, wanted: str, keyword: str, path: str, faults: Faults) -> bool:
    """Whether the type is the one that a list or map type asks for."""
    kind = dig_str(schema, "type")
    why = f"must be {wanted} if {keyword} is specified"
    if not kind:
        faults.required(f"{path}.type", why)
    elif kind != wanted:
        faults.invalid(f"{path}.type", kind, why)
    return kind == wanted


def _map_type(schema: JsonObject, path: str, faults: Faults) -> None:
    found = schema.get("x-kubernetes-map-type")
    if found is None:
        return
    _must_be(schema, "object", "x-kubernetes-map-type", path, faults)
    if found not in ("atomic", "granular"):
        faults.unsupported(f"{path}.x-kubernetes-map-type", found, ("atomic", "granular"))


def _list_type(schema: JsonObject, path: str, faults: Faults) -> None:
    found, keys = schema.get("x-kubernetes-list-type"), dig_list(schema, "x-kubernetes-list-map-keys")
    items = schema.get("items")
    fits = found is not None and _must_be(schema, "array", "x-kubernetes-list-type", path, faults)
    if fits and found == "set" and isinstance(items, dict):
        _set_items(items, f"{path}.items", faults)
    if found is not None and found not in ("atomic", "set", "map"):
        faults.unsupported(f"{path}.x-kubernetes-list-type", found, ("atomic", "set", "map"))
    if keys and found != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        if found is None:
            faults.required(f"{path}.x-kubernetes-list-type", why)
        else:
            faults.invalid(f"{path}.x-kubernetes-list-type", found, why)
    if found == "map":
        _map_items(items, keys, path, faults)
    if found in ("map", "set") and isinstance(items, dict) and items.get("nullable"):
        faults.forbidden(
            f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {found}"
        )


def _set_items(items: JsonObject, path: str, faults: Faults) -> None:
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind = items.get("type")
    nested, mapped = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if kind == "array" and nested not in (None, "atomic"):
        faults.invalid(f"{path}.x-kubernetes-list-type", nested, why)
    if kind == "object" and mapped != "atomic":
        faults.invalid(f"{path}.x-kubernetes-map-type", nested, why)


def _map_items(items: JsonValue, keys: list[JsonValue], path: str, faults: Faults) -> None:
    if not keys:
        faults.required(
            f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    if not isinstance(items, dict):
        faults.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        faults.invalid(f"{path}.items.type", dig_str(items, "type"), why)
        return
    seen: set[str] = set()
    for key in map(str, keys):
        _map_key(key, items, keys, path, faults)
        if key in seen:
            faults.invalid(f"{path}.x-kubernetes-list-map-keys", keys, "must not contain duplicate entries")
        seen.add(key)


def _map_key(key: str, items: JsonObject, keys: list[JsonValue], path: str, faults: Faults) -> None:
    field = dig_object(items, "properties").get(key)
    where = f"{path}.items.properties[{key}]"
    if not isinstance(field, dict):
        why = "entries must all be names of item properties"
        faults.invalid(f"{path}.x-kubernetes-list-map-keys", keys, why)
        return
    if field.get("type") in ("array", "object"):
        why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        faults.invalid(f"{where}.type", dig_str(items, "type"), why)
    if key not in dig_list(items, "required") and field.get("default") is None:
        why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        faults.required(f"{where}.default", why)
    if field.get("nullable"):
        why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
        faults.forbidden(f"{where}.nullable", why)


def _rules(schema: JsonObject, path: str, faults: Faults) -> None:
    for index, rule in enumerate(dig_objects(schema, "x-kubernetes-validations")):
        where = f"{path}.x-kubernetes-validations[{index}]"
        text, message = dig_str(rule, "rule").strip(), dig_str(rule, "message")
        if not text:
            faults.required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            faults.invalid(f"{where}.message", message, "must be non-empty if specified")
        elif _broken(message.strip()):
            faults.invalid(f"{where}.message", message, "must not contain line breaks")
        elif _broken(text) and not message.strip():
            faults.required(f"{where}.message", "message must be specified if rule contains line breaks")
        expression = dig_str(rule, "messageExpression")
        if expression and not expression.strip():
            faults.required(f"{where}.messageExpression", "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            faults.unsupported(f"{where}.reason", rule["reason"], _REASONS)
        place = dig_str(rule, "fieldPath")
        if place and not place.strip():
            faults.invalid(f"{where}.fieldPath", place, "must be non-empty if specified")
        if _broken(place):
            faults.invalid(f"{where}.fieldPath", place, "must not contain line breaks")
        if place and not _leads_to_a_field(schema, place):
            faults.invalid(f"{where}.fieldPath", place, "must be a valid path")


def _leads_to_a_field(schema: JsonObject, path: str) -> bool:
    """Whether a rule's field path, as far as it is plain names, leads through the schema's fields."""
    if not path.startswith(".") or "[" in path:
        return path.startswith("[")
    for name in path[1:].split("."):
        below = dig_object(schema, "properties").get(name) or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return False
        schema = below
    return True


def _broken(text: str) -> bool:
    return "\n" in text or "\r" in text
