"""Pieces of cells: selectors, containers; and how the columns of a kind are written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from vcray.api.ages import since
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.served import Column

Cells: TypeAlias = list[JsonValue]
NONE, UNSET = "<none>", "<unset>"


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind and the function of its cells, given an object and the time in seconds."""

    columns: tuple[Column, ...]
    cells: Callable[[JsonObject, float], Cells]


def columns(text: str) -> tuple[Column, ...]:
    """Columns from `Name|Desired:integer|Images+`: a type behind a colon (else string), + for `-o wide` only."""
    found = []
    for word in text.split("|"):
        name, _, kind = word.rstrip("+").partition(":")
        form = "name" if name in ("Name", "Attacher") else ""
        found.append(Column(name, kind or "string", "", form, "", 1 if word.endswith("+") else 0))
    return tuple(found)


def printer(text: str, cells: Callable[[JsonObject, float], Cells]) -> Printer:
    """A printer whose first column is the object's name and whose cells are the others."""

    def named(obj: JsonObject, now: float) -> Cells:
        return [name(obj), *cells(obj, now)]

    return Printer(columns(f"Name|{text}"), named)


def name(obj: JsonObject) -> str:
    """The name of an object."""
    return dig_str(obj, "metadata", "name")


def age(obj: JsonObject, now: float) -> str:
    """How long ago an object was created."""
    return since(dig(obj, "metadata", "creationTimestamp"), now)


def labels(value: JsonValue) -> str:
    """A label map in order of its keys."""
    found = value if isinstance(value, dict) else {}
    return ",".join(f"{key}={found[key]}" for key in sorted(found)) or NONE


def selector(value: JsonValue, empty: str = NONE) -> str:
    """A label selector as kubectl's `-l` would take it."""
    parts = [(key, f"{key}={item}") for key, item in dig_object(value, "matchLabels").items()]
    expressions = dig_objects(value, "matchExpressions")
    parts += [(dig_str(each, "key"), _expression(each)) for each in expressions]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0])) or empty


def _expression(each: JsonObject) -> str:
    key = dig_str(each, "key")
    values = ",".join(sorted(str(value) for value in dig_list(each, "values")))
    match dig_str(each, "operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return key
    return f"!{key}"


def containers(template: JsonValue) -> tuple[str, str]:
    """The names and the images of a pod template's containers."""
    found = dig_objects(template, "spec", "containers")
    return ",".join(dig_str(each, "name") for each in found), ",".join(
        dig_str(each, "image") for each in found
    )


def shortened(parts: list[str], total: int, most: int) -> str:
    """The first parts, and how many more there are."""
    shown = ",".join(parts[:most])
    return f"{shown} + {total - most} more..." if total > most else shown
