"""Do two values hold the same? For snapshots, whose tables hold arrays that `==` compares item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np


def same(a: object, b: object, but: frozenset[str] = frozenset()) -> bool:
    """Arrays, dataclasses, mappings and tuples are looked into; `but`: fields of the outermost dataclass that may differ."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        names = (each.name for each in fields(a) if each.name not in but)
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and _same_items(a, b)
    return bool(a == b)


def _same_items(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    """Names by the ten thousand are compared at once; only where an array is among the items does that fail."""
    try:
        return bool(a == b)
    except ValueError:
        return all(map(same, a, b))
