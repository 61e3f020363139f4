"""Reading raw JSON objects without casting at every step.

Pod templates and unknown kinds stay raw; these readers answer an empty value where the path is absent, null or of
another type, as a read of a Go struct would.
"""

from __future__ import annotations

from vcray.api.jsontypes import JsonObject, JsonValue


def dig(value: JsonValue, *path: str | int) -> JsonValue:
    """The value at a path of keys and indices, None where the path ends early."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def dig_object(value: JsonValue, *path: str | int) -> JsonObject:
    """The object at a path; an empty one, not linked to the parent, where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, dict) else {}


def dig_list(value: JsonValue, *path: str | int) -> list[JsonValue]:
    """The list at a path; an empty one, not linked to the parent, where there is none."""
    found = dig(value, *path)
    return found if isinstance(found, list) else []


def dig_objects(value: JsonValue, *path: str | int) -> list[JsonObject]:
    """The objects in the list at a path; other items are left out."""
    return [item for item in dig_list(value, *path) if isinstance(item, dict)]


def dig_str(value: JsonValue, *path: str | int) -> str:
    """The string at a path, else empty."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def dig_int(value: JsonValue, *path: str | int, default: int = 0) -> int:
    """The integer at a path, else the default."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def dig_strings(value: JsonValue, *path: str | int) -> dict[str, str]:
    """The string map at a path (labels, annotations), a fresh one; other values are left out."""
    return {key: item for key, item in dig_object(value, *path).items() if isinstance(item, str)}


def condition_of(value: JsonValue, kind: str) -> JsonObject:
    """The condition of that type; an empty one, not linked to the parent, where there is none."""
    return next((each for each in dig_objects(value, "status", "conditions") if each.get("type") == kind), {})


def condition(value: JsonValue, kind: str) -> str:
    """The status of the condition of that type; empty without one."""
    return dig_str(condition_of(value, kind), "status")


def holds(value: JsonValue, kind: str) -> bool:
    """Is the condition of that type True?"""
    return condition(value, kind) == "True"
