"""Which fields an object has, and what differs between two versions of it: what was added, modified, removed.

Maps and lists that merge are looked into, others are one leaf. A field that comes or goes counts together with all that is
in it. Null stands for an empty map or list, an absent field (`ABSENT`) for none.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from vcray.api.meta import JsonValue
from vcray.cluster.changes.sets import SELF, Node, Set, union, with_self
from vcray.cluster.changes.shapes import Shape, entry_step, untyped_leaf


class Absent(Enum):
    """The value of a field that is not there."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
Present: TypeAlias = "JsonValue | Absent"


class Comparison(NamedTuple):
    """What a new version added, modified and removed."""

    added: Set
    modified: Set
    removed: Set

    @property
    def written(self) -> Set:
        """What was added or modified."""
        return union(self.added, self.modified)


_SAME = Comparison(None, None, None)


def field_set(value: JsonValue, shape: Shape) -> Set:
    """The fields that a document names: its leaves, the entries of its lists and maps."""
    if isinstance(value, dict) and shape.maps:
        if shape.atomic_map:
            return {}
        result: Node = {}
        for name, item in value.items():
            inner = shape.field(name) or untyped_leaf()
            below = field_set(item, inner)
            if item is None or item == {} or not shape.known(name):
                below = with_self(below)
            if below is not None:
                result[f"f:{name}"] = below
        return result or None
    if isinstance(value, list) and shape.lists:
        if shape.atomic_list:
            return {}
        inner = shape.item()
        entries: Node = {}
        for item in value:
            step = _step(item, shape)
            entries[step] = with_self(union(entries.get(step), field_set(item, inner)))
        return entries or None
    if value is None and not shape.scalar:
        return {} if _is_leaf(shape) else None
    return {}


def _is_leaf(shape: Shape) -> bool:
    return (shape.maps and shape.atomic_map) or (shape.lists and shape.atomic_list)


def _step(item: JsonValue, shape: Shape) -> str:
    try:
        return entry_step(item, shape)
    except ValueError:
        return "k:{}"


def whole(value: JsonValue, shape: Shape) -> Node:
    """A field with everything in it, for one that comes or goes."""
    if isinstance(value, dict) and value and shape.maps and not shape.atomic_map:
        result: Node = {SELF: {}}
        for name, item in value.items():
            result[f"f:{name}"] = whole(item, shape.field(name) or untyped_leaf())
        return result
    if isinstance(value, list) and value and shape.lists and not shape.atomic_list:
        inner = shape.item()
        entries: Node = {SELF: {}}
        for item in value:
            entries[_step(item, shape)] = whole(item, inner)
        return entries
    return {}


def compare(old: JsonValue, new: JsonValue, shape: Shape) -> Comparison:
    """The differences of two present values."""
    if old is new or (old == new and old.__class__ is new.__class__):
        return _SAME
    if isinstance(old, dict | None) and isinstance(new, dict | None) and shape.maps and (old or new):
        if not shape.atomic_map and (isinstance(old, dict) or isinstance(new, dict)):
            return _compare_maps(old or {}, new or {}, shape)
    elif (
        isinstance(old, list | None) and isinstance(new, list | None) and shape.lists and (old or new)
    ) and not shape.atomic_list:
        return _compare_lists(old or [], new or [], shape)
    return Comparison(None, {}, None)


class _Parts:
    """The three trees of one level while they grow."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Node = {}
        self.modified: Node = {}
        self.removed: Node = {}

    def take(self, step: str, inner: Comparison) -> None:
        if inner.added is not None:
            self.added[step] = inner.added
        if inner.modified is not None:
            self.modified[step] = inner.modified
        if inner.removed is not None:
            self.removed[step] = inner.removed

    def done(self) -> Comparison:
        return Comparison(self.added or None, self.modified or None, self.removed or None)


def _compare_maps(old: dict[str, JsonValue], new: dict[str, JsonValue], shape: Shape) -> Comparison:
    parts = _Parts()
    for name, after in new.items():
        before: Present = old.get(name, ABSENT)
        if before is ABSENT:
            parts.added[f"f:{name}"] = whole(after, shape.field(name) or untyped_leaf())
        elif before is not after and (before != after or before.__class__ is not after.__class__):
            parts.take(f"f:{name}", compare(before, after, shape.field(name) or untyped_leaf()))
    for name, before in old.items():
        if name not in new:
            parts.removed[f"f:{name}"] = whole(before, shape.field(name) or untyped_leaf())
    return parts.done()


def _compare_lists(old: list[JsonValue], new: list[JsonValue], shape: Shape) -> Comparison:
    before, after = _by_step(old, shape), _by_step(new, shape)
    parts, inner = _Parts(), shape.item()
    for step, items in after.items():
        known = before.get(step)
        if known is None:
            parts.added[step] = whole(items[0], inner) if len(items) == 1 else {}
        elif len(known) == len(items) == 1:
            parts.take(step, compare(known[0], items[0], inner))
        elif known != items:
            parts.modified[step] = {}
    for step, items in before.items():
        if step not in after:
            parts.removed[step] = whole(items[0], inner) if len(items) == 1 else {}
    return parts.done()


def _by_step(items: list[JsonValue], shape: Shape) -> dict[str, list[JsonValue]]:
    found: dict[str, list[JsonValue]] = {}
    for item in items:
        found.setdefault(_step(item, shape), []).append(item)
    return found
