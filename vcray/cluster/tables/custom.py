"""The cells of custom kinds, by the JSONPaths of their definitions' columns.

A path that leads nowhere leaves the cell empty; a date is shown as the time since, any other value by the column's type.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from vcray.api.ages import since
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.served import AGE, Column
from vcray.cluster.tables.cells import Cells, Printer, name

_STEP = re.compile(
    r"""\.?(?:\[\s*(?:'([^']*)'|"([^"]*)"|(-?\d+)|(\*)|\?\(\s*@\.([\w.\-/]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([\w.]+))\s*\))\s*\]"""
    r"""|((?:[^.\[\]\\]|\\.)+))"""
)


def custom_printer(columns: tuple[Column, ...]) -> Printer:
    """A printer with a definition's columns behind the name."""
    first = Column("Name", "string", "", "name")

    def cells(obj: JsonObject, now: float) -> Cells:
        return [name(obj), *(_cell(column, obj, now) for column in columns)]

    return Printer((first, *columns), cells)


def age_only() -> tuple[Column, ...]:
    """The columns of a kind that names none."""
    return (AGE,)


def _cell(column: Column, obj: JsonObject, now: float) -> JsonValue:
    found = at_path(column.path, obj)
    if not found:
        return None
    if column.type != "string":
        return _typed(column.type, found[0], now)
    return found[0] if len(found) == 1 and isinstance(found[0], str) else " ".join(map(_text, found))


def _text(value: JsonValue) -> str:
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _typed(kind: str, value: JsonValue, now: float) -> JsonValue:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "integer":
            return int(value) if number else None  # type: ignore[arg-type]
        case "number":
            return value if number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            shown = since(value, now)
            return "<invalid>" if shown == "<unknown>" and value else shown
    return None


@lru_cache(maxsize=512)
def _steps(path: str) -> tuple[tuple[str, ...], ...]:
    """The steps of a path: ("key", k), ("index", i), ("all",), ("filter", path, operator, value)."""
    found: list[tuple[str, ...]] = []
    rest = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    for match in _STEP.finditer(rest):
        single, double, index, every, where, operator, *literals, plain = match.groups()
        if where is not None:
            found.append(("filter", where, operator, next(item for item in literals if item is not None)))
        elif every or plain == "*":
            found.append(("all",))
        elif index is not None:
            found.append(("index", index))
        else:
            key = single if single is not None else double if double is not None else plain
            found.append(("key", re.sub(r"\\(.)", r"\1", key or "")))
    return tuple(found)


def at_path(path: str, obj: JsonValue) -> list[JsonValue]:
    """Every value that a JSONPath (kubectl's subset: keys, indices, `*`, simple filters) leads to."""
    values = [obj]
    for step in _steps(path):
        values = [item for value in values for item in _follow(step, value)]
    return values


def _follow(step: tuple[str, ...], value: JsonValue) -> list[JsonValue]:
    match step[0]:
        case "key" if isinstance(value, dict):
            return [value[step[1]]] if step[1] in value else []
        case "index" if isinstance(value, list):
            place = int(step[1])
            return [value[place]] if -len(value) <= place < len(value) else []
        case "all":
            return (
                list(value)
                if isinstance(value, list)
                else list(value.values())
                if isinstance(value, dict)
                else []
            )
        case "filter" if isinstance(value, list):
            return [item for item in value if _holds(step, item)]
    return []


def _holds(step: tuple[str, ...], item: JsonValue) -> bool:
    _, path, operator, wanted = step
    found = at_path(f".{path}", item)
    equal = bool(found) and _text(found[0]) == wanted
    return bool(found) and (equal if operator == "==" else not equal)
