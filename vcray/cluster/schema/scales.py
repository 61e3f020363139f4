"""What the fields of a custom object must be that its scale subresource stands on, whatever its schema says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.gotext import go_text
from vcray.cluster.definitions.served import ScalePaths

_MOST = 2**31 - 1


def scale_faults(obj: JsonObject, paths: ScalePaths | None, subresource: str = "") -> Iterator[str]:
    """Field errors of an object, of its status alone where that is written, in the server's order."""
    if paths is None:
        return
    if subresource != "status":
        yield from _number(obj, paths.spec_replicas)
    yield from _number(obj, paths.status_replicas)
    if paths.selector:
        _, wrong = _read(obj, paths.selector, str, "string")
        if wrong:
            yield f'{paths.selector}: Invalid value: "": {wrong}'


def _number(obj: JsonObject, path: str) -> Iterator[str]:
    value, wrong = _read(obj, path, int, "int64")
    number = value if isinstance(value, int) else 0
    if number < 0:
        wrong = "should be a non-negative integer"
    elif number > _MOST:
        wrong = f"should be less than or equal to {_MOST}"
    if wrong:
        yield f"{path}: Invalid value: {json.dumps(number)}: {wrong}"


def _read(obj: JsonObject, path: str, kind: type, name: str) -> tuple[JsonValue, str]:
    """What stands at a path (None where nothing does), or why it cannot be read."""
    steps = path.removeprefix(".").split(".")
    value: JsonValue = obj
    for at, step in enumerate(steps):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            return None, _not_of(steps[: at + 1], value, "map[string]interface{}")
        if step not in value:
            return None, ""
        value = value[step]
    if isinstance(value, kind) and not isinstance(value, bool):
        return value, ""
    return None, _not_of(steps, value, name)


def _not_of(steps: list[str], value: JsonValue, wanted: str) -> str:
    return f".{'.'.join(steps)} accessor error: {go_text(value)} is of the type {_go_type(value)}, expected {wanted}"


def _go_type(value: JsonValue) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
    return "<nil>"
