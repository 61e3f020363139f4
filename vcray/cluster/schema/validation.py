"""Checking an object against the schema of its CRD, in the words of a Kubernetes API server.

Covers what structural schemas use: types, required fields, enums, bounds, lengths, patterns, formats, list sizes and
unique list keys, quantities, and the rules that `rules.py` judges.
"""

from __future__ import annotations

import json
from datetime import datetime

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.patterns import compiled
from vcray.cluster.schema.rules import rule_errors

_NOWHERE = '<nil>: Invalid value: "": '
"""How the server opens an error that it cannot lay at one field's door."""

_NOTHING: JsonObject = {}
"""Stands for an old value that is not there; known by its identity."""

_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def validate(obj: JsonObject, schema: JsonObject, old: JsonObject | None = None) -> list[str]:
    """All field errors of an object, in the order of the server; empty if it is valid.

    `old` is what it was, if it was: parts that did not change since are not checked again (ratcheting).
    """
    errors: list[str] = []
    parts = {key: part for key, part in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    before: JsonValue = old if old is not None else _NOTHING
    _check(parts, {**schema, "required": _required(schema, obj)}, "", errors, before)
    return errors + rule_errors(obj, schema, old, errors)


def _required(schema: JsonObject, obj: JsonObject) -> list[JsonValue]:
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return [name for name in names if name not in ("apiVersion", "kind", "metadata")]


def _json(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _type_name(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
    return "null"


def _fits_type(value: JsonValue, wanted: str) -> bool:
    actual = _type_name(value)
    if wanted == "number":
        return actual in ("number", "integer")
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return actual == wanted


def _unchanged(value: JsonValue, old: JsonValue) -> bool:
    """Whether a value is the old one; 1 and true are not the same."""
    return old is not _NOTHING and value == old and _json(value) == _json(old)


def _check(
    value: JsonValue, schema: JsonValue, path: str, errors: list[str], old: JsonValue = _NOTHING
) -> None:
    if not isinstance(schema, dict) or (path and _unchanged(value, old)):
        return
    if value is None and schema.get("nullable"):
        return
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            _wrong_type(value, "integer,string", path, errors)
            if schema.get("anyOf"):
                errors.append(f'{_NOWHERE}"{path}" must validate at least one schema (anyOf)')
                _wrong_type(value, "integer", path, errors)
            return
    elif isinstance(wanted, str) and not _fits_type(value, wanted):
        _wrong_type(value, wanted, path, errors)
        return
    match value:
        case bool():
            pass
        case int() | float():
            _check_number(value, schema, path, errors)
        case str():
            _check_string(value, schema, path, errors)
        case list():
            _check_list(value, schema, path, errors, old)
        case dict():
            _check_object(value, schema, path, errors, old)
    _check_enum(value, schema, path, errors)


def _wrong_type(value: JsonValue, wanted: str, path: str, errors: list[str]) -> None:
    actual = _type_name(value)
    shown = "null" if value is None else json.dumps(actual)
    errors.append(
        f"{path}: Invalid value: {shown}: {path} in body must be of type {wanted}: {json.dumps(actual)}"
    )


def _refuse(value: JsonValue, what: str, path: str, errors: list[str]) -> None:
    errors.append(f"{path}: Invalid value: {_json(value)}: {path} in body {what}")


def _check_number(value: float, schema: JsonObject, path: str, errors: list[str]) -> None:
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if isinstance(minimum, int | float) and value < minimum:
        _refuse(value, f"should be greater than or equal to {_json(minimum)}", path, errors)
    if isinstance(maximum, int | float) and value > maximum:
        _refuse(value, f"should be less than or equal to {_json(maximum)}", path, errors)
    bounds = _INT_RANGES.get(str(schema.get("format")))
    if bounds and not bounds[0] <= value <= bounds[1]:
        errors.append(
            f"{_NOWHERE}Checked value must be of type integer with format {schema['format']} in {path}"
        )


def _check_string(value: str, schema: JsonObject, path: str, errors: list[str]) -> None:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if isinstance(longest, int) and len(value) > longest:
        errors.append(f"{path}: Too long: may not be more than {longest} bytes")
    elif isinstance(shortest, int) and len(value) < shortest:
        _refuse(value, f"should be at least {shortest} chars long", path, errors)
    elif isinstance(pattern, str) and not compiled(pattern).search(value):
        _refuse(value, f"should match '{pattern}'", path, errors)
    if schema.get("format") == "date-time" and not _is_time(value):
        _refuse(value, f"must be of type date-time: {json.dumps(value)}", path, errors)


def _is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _check_list(
    value: list[JsonValue], schema: JsonObject, path: str, errors: list[str], old: JsonValue
) -> None:
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if isinstance(fewest, int) and len(value) < fewest:
        errors.append(
            f"{path}: Invalid value: {len(value)}: {path} in body should have at least {fewest} items"
        )
    if isinstance(most, int) and len(value) > most:
        errors.append(f"{path}: Too many: {len(value)}: must have at most {most} items")
    before = _by_key(old, schema)
    for index, item in enumerate(value):
        known = before.get(_key_of(item, schema), _NOTHING) if before else _NOTHING
        _check(item, schema.get("items"), f"{path}[{index}]", errors, known)
    _check_unique(value, schema, path, errors)


def _by_key(old: JsonValue, schema: JsonObject) -> dict[str, JsonValue]:
    """The old items of a list that knows them by keys; of other lists none can be found again."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return {}
    return {_key_of(item, schema): item for item in old}


def _key_of(item: JsonValue, schema: JsonObject) -> str:
    keys = schema.get("x-kubernetes-list-map-keys")
    names = [str(key) for key in keys] if isinstance(keys, list) else []
    return _json([item.get(name) for name in names]) if isinstance(item, dict) else ""


def _check_unique(value: list[JsonValue], schema: JsonObject, path: str, errors: list[str]) -> None:
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys")
    seen: set[str] = set()
    for index, item in enumerate(value):
        if kind == "map" and isinstance(keys, list) and isinstance(item, dict):
            mark: JsonValue = {str(key): item.get(str(key)) for key in keys if str(key) in item}
        elif kind == "set":
            mark = item
        else:
            return
        text = _json(mark)
        if text in seen:
            errors.append(f"{path}[{index}]: Duplicate value: {text}")
        seen.add(text)


def _check_object(
    value: JsonObject, schema: JsonObject, path: str, errors: list[str], old: JsonValue
) -> None:
    properties, extra = schema.get("properties"), schema.get("additionalProperties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    errors += [f"{_under(path, name)}: Required value" for name in names if name not in value]
    whole = schema.get("x-kubernetes-map-type") == "atomic"
    before = old if isinstance(old, dict) and not whole else {}
    for name, item in value.items():
        _check(item, known.get(name, extra), _under(path, name), errors, before.get(name, _NOTHING))


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_enum(value: JsonValue, schema: JsonObject, path: str, errors: list[str]) -> None:
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        listed = ", ".join(_json(item) for item in allowed)
        errors.append(f"{path}: Unsupported value: {_json(value)}: supported values: {listed}")
