"""Which schemas are structural: every field has a type outside of the logical junctors, and junctors only restrict.

The rules are those of the Kubernetes documentation, "Specifying a structural schema".
"""

from __future__ import annotations

from enum import Enum

from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.patterns import compiled
from vcray.cluster.definitions.faults import Faults

_INT_OR_STRING: list[JsonValue] = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")
_HOLDERS = frozenset((*_JUNCTORS, "not"))
_EMPTY_INSIDE = ("type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_ABSENT_INSIDE = ("default", "x-kubernetes-list-type", "x-kubernetes-map-type")
_FALSE_INSIDE = (
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)


class Level(Enum):
    """Where a schema stands, for the sentence about its missing type."""

    ROOT = "must not be empty at the root"
    ITEM = "must not be empty for specified array items"
    FIELD = "must not be empty for specified object fields"


def structural_faults(schema: JsonObject, path: str) -> list[str]:
    """What keeps a schema from being structural, in the order of the sentences."""
    faults = Faults()
    _invariants(schema, Level.ROOT, path, faults)
    for _, clause, where in _clauses(schema, path):
        _complete(clause, schema, path, where, faults)
    return sorted(faults.found)


def _clauses(schema: JsonObject, path: str) -> list[tuple[str, JsonObject, str]]:
    """The schemas under junctors: the junctor, the clause, its path."""
    if _HOLDERS.isdisjoint(schema):
        return []
    found = [
        (name, clause, f"{path}.{name}[{index}]")
        for name in _JUNCTORS
        for index, clause in enumerate(dig_list(schema, name))
        if isinstance(clause, dict)
    ]
    negated = schema.get("not")
    return [*found, ("not", negated, f"{path}.not")] if isinstance(negated, dict) else found


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {name: field for name, field in found.items() if isinstance(field, dict)}


def _invariants(schema: JsonObject, level: Level, path: str, faults: Faults) -> None:
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and not isinstance(items, dict):
        faults.required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        _invariants(items, Level.ITEM, f"{path}.items", faults)
    for name, field in _properties(schema).items():
        _invariants(field, Level.FIELD, f"{path}.properties[{name}]", faults)
    if extra is not None and level is Level.ROOT:
        faults.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(extra, dict):
        _invariants(extra, Level.FIELD, f"{path}.additionalProperties", faults)
    _extensions(schema, path, faults)
    _restrictions(schema, path, faults, schema.get("anyOf") == _INT_OR_STRING)
    _type(schema, level, path, faults)
    _resource_fields(schema, level, path, faults)


def _extensions(schema: JsonObject, path: str, faults: Faults) -> None:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            faults.invalid(
                f"{path}.{name}", schema[name], "must be false if x-kubernetes-int-or-string is true"
            )


def _type(schema: JsonObject, level: Level, path: str, faults: Faults) -> None:
    kind = dig_str(schema, "type")
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        if kind:
            faults.invalid(f"{path}.type", kind, why)
        else:
            faults.required(f"{path}.type", why)
    elif not kind and not free:
        faults.required(f"{path}.type", level.value)
    if embedded and schema.get("additionalProperties") is not None:
        faults.forbidden(
            f"{path}.additionalProperties", "must not be used if x-kubernetes-embedded-resource is set"
        )
    if level is Level.ROOT and kind and kind != "object":
        faults.invalid(f"{path}.type", kind, "must be object at the root")


def _resource_fields(schema: JsonObject, level: Level, path: str, faults: Faults) -> None:
    """`kind`, `apiVersion` and `metadata` of whole objects, embedded ones too."""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    fields = _properties(schema)
    whole = embedded or level is Level.ROOT
    for name in ("kind", "apiVersion"):
        if whole and name in fields and fields[name].get("type") != "string":
            faults.invalid(f"{path}.properties[{name}].type", dig_str(fields[name], "type"), "must be string")
    metadata = fields.get("metadata")
    if metadata is not None:
        where = f"{path}.properties[metadata]"
        if whole and metadata.get("type") != "object":
            faults.invalid(f"{where}.type", dig_str(metadata, "type"), "must be object")
        if level is Level.ROOT and not _only_names(metadata):
            why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            faults.forbidden(where, why)
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not fields:
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        faults.required(f"{path}.properties", why)


def _only_names(metadata: JsonObject) -> bool:
    rest = {key: value for key, value in metadata.items() if value and key not in ("type", "default")}
    fields = rest.pop("properties", {})
    return not rest and isinstance(fields, dict) and fields.keys() <= {"name", "generateName"}


def _restrictions(schema: JsonObject, path: str, faults: Faults, skip_any: bool) -> None:
    """The junctors of a schema and its pattern."""
    for name, clause, where in _clauses(schema, path):
        if name == "anyOf" and skip_any:
            continue
        first = name == "allOf" and where.endswith("[0]")
        _inside(clause, where, faults, first and clause.get("anyOf") == _INT_OR_STRING)
    pattern = dig_str(schema, "pattern")
    if pattern:
        try:
            compiled(pattern)
        except ValueError as error:
            faults.invalid(
                f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}"
            )


def _inside(clause: JsonObject, path: str, faults: Faults, skip_any: bool = False) -> None:
    """A schema under a junctor: it may restrict values, never define them."""
    _restrictions(clause, path, faults, skip_any)
    items = clause.get("items")
    if isinstance(items, dict):
        _inside(items, f"{path}.items", faults)
    for name, field in _properties(clause).items():
        _inside(field, f"{path}.properties[{name}]", faults)
    for name in _EMPTY_INSIDE:
        if clause.get(name):
            faults.forbidden(f"{path}.{name}", "must be empty to be structural")
    for name in _ABSENT_INSIDE:
        if clause.get(name) is not None:
            faults.forbidden(f"{path}.{name}", "must be undefined to be structural")
    if clause.get("additionalProperties") is not None:
        faults.forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for name in _FALSE_INSIDE:
        if clause.get(name):
            faults.forbidden(f"{path}.{name}", "must be false to be structural")
    if "metadata" in _properties(clause):
        faults.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _complete(clause: JsonObject, schema: JsonObject, at: str, where: str, faults: Faults) -> None:
    """Every field that a clause restricts is defined outside."""
    for _, inner, deeper in _clauses(clause, where):
        _complete(inner, schema, at, deeper, faults)
    pairs = [("items", clause.get("items"), schema.get("items"))]
    defined = _properties(schema)
    pairs += [
        (f"properties[{name}]", field, defined.get(name)) for name, field in _properties(clause).items()
    ]
    for step, inside, outside in pairs:
        if not isinstance(inside, dict):
            continue
        if isinstance(outside, dict):
            _complete(inside, outside, f"{at}.{step}", f"{where}.{step}", faults)
        else:
            faults.required(f"{at}.{step}", f"because it is defined in {where}.{step}")
