"""List and set functions: isSorted, sum, min, max, indexOf, lastIndexOf, and the `sets` library."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from vcray.cel.functions import Function, member, plain

_SUMMABLE = ("int", "uint", "double", "duration")
_ORDERED = ("int", "uint", "double", "bool", "string", "bytes", "duration", "timestamp")


def _sorted(values: list[object]) -> bool:
    return all(a <= b for a, b in pairwise(values))  # type: ignore[operator]


def _sum(values: list[object]) -> object:
    if not values:
        return 0
    if isinstance(values[0], timedelta):
        return sum((item for item in values if isinstance(item, timedelta)), timedelta())
    return sum(values)  # type: ignore[arg-type]


def _least(values: list[object]) -> object:
    if not values:
        raise ValueError("min called on empty list")
    return min(values)  # type: ignore[type-var]


def _greatest(values: list[object]) -> object:
    if not values:
        raise ValueError("max called on empty list")
    return max(values)  # type: ignore[type-var]


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _index(values: list[object], wanted: object) -> int:
    return next((i for i, item in enumerate(values) if _same(item, wanted)), -1)


def _last_index(values: list[object], wanted: object) -> int:
    return next((i for i in range(len(values) - 1, -1, -1) if _same(values[i], wanted)), -1)


def _contains(values: list[object], wanted: list[object]) -> bool:
    return all(_index(values, item) >= 0 for item in wanted)


def _equivalent(a: list[object], b: list[object]) -> bool:
    return _contains(a, b) and _contains(b, a)


def _intersects(a: list[object], b: list[object]) -> bool:
    return any(_index(a, item) >= 0 for item in b)


def _keys(value: object) -> list[object]:
    """The keys of a map, the indices of a list: what a macro with two variables runs over."""
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return list(range(len(value)))
    raise ValueError("no such overload")


FUNCTIONS: tuple[Function, ...] = (
    *(member("isSorted", f"list<{kind}>", "bool", _sorted) for kind in _ORDERED),
    *(member("sum", f"list<{kind}>", kind, _sum) for kind in _SUMMABLE),
    *(member("min", f"list<{kind}>", kind, _least) for kind in _ORDERED),
    *(member("max", f"list<{kind}>", kind, _greatest) for kind in _ORDERED),
    member("indexOf", "list<dyn> dyn", "int", _index),
    member("lastIndexOf", "list<dyn> dyn", "int", _last_index),
    plain("keys__", "dyn", "list<dyn>", _keys),
    plain("sets.contains", "list<dyn> list<dyn>", "bool", _contains),
    plain("sets.equivalent", "list<dyn> list<dyn>", "bool", _equivalent),
    plain("sets.intersects", "list<dyn> list<dyn>", "bool", _intersects),
)
