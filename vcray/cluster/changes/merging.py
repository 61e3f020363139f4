"""The merged value of a present one and a document, and values without some of their fields, by the shape of their type."""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.comparing import ABSENT, Present
from vcray.cluster.changes.gotext import go_text
from vcray.cluster.changes.sets import Node, Set, has_self, spoken_keys
from vcray.cluster.changes.shapes import Shape, entry_step, untyped_leaf


def merge(live: Present, wanted: Present, shape: Shape) -> JsonValue:
    """The document laid over the live value: maps and associative lists merge, everything else is the document's."""
    if wanted is ABSENT:
        assert live is not ABSENT
        return live
    if isinstance(wanted, dict) and isinstance(live, dict) and shape.maps and not shape.atomic_map:
        result = dict(live)
        for name, value in wanted.items():
            result[name] = merge(result.get(name, ABSENT), value, shape.field(name) or untyped_leaf())
        return result
    if isinstance(wanted, list) and isinstance(live, list) and shape.lists and not shape.atomic_list:
        return _merge_lists(live, wanted, shape)
    if wanted is None and isinstance(live, dict | list) and live and not _replaced(live, shape):
        return live
    return deepcopy(wanted)


def _replaced(live: JsonValue, shape: Shape) -> bool:
    """Whether a value of this kind is one leaf, which a null takes the place of."""
    return shape.atomic_map if isinstance(live, dict) else shape.atomic_list


def _merge_lists(live: list[JsonValue], wanted: list[JsonValue], shape: Shape) -> list[JsonValue]:
    """Entries by key, those of the document in its order, all others where they stood between those."""
    inner = shape.item()
    old_steps, new_steps = [_step(item, shape) for item in live], [_step(item, shape) for item in wanted]
    old = dict(zip(old_steps, live, strict=True))
    new = dict(zip(new_steps, wanted, strict=True))
    merged: list[JsonValue] = []
    shared = [step for step in new_steps if step in old]
    done: set[str] = set()
    at_old = at_new = 0

    def take(step: str) -> None:
        merged.append(merge(old.get(step, ABSENT), new.get(step, ABSENT), inner))
        done.add(step)
        if shared and shared[0] == step:
            shared.pop(0)

    while at_old < len(old_steps) or at_new < len(new_steps):
        step = old_steps[at_old] if at_old < len(old_steps) else None
        if step is not None and at_new < len(new_steps):
            if step == new_steps[at_new]:
                take(step)
                at_old, at_new = at_old + 1, at_new + 1
                continue
            if step in new and shared and shared[0] != step:
                at_old += 1
                continue
        if step is not None:
            if step not in new:
                merged.append(live[at_old])
                at_old += 1
                continue
            if step in done:
                at_old += 1
        if at_new < len(new_steps):
            take(new_steps[at_new])
            at_new += 1
    return merged


def _step(item: JsonValue, shape: Shape) -> str:
    try:
        return entry_step(item, shape)
    except ValueError:
        return "k:{}"


def without(value: JsonValue, gone: Set, shape: Shape) -> JsonValue:
    """The value without the members of a set; maps and lists that lose all are left empty, leaves go whole."""
    if gone is None:
        return value
    if isinstance(value, dict) and value and shape.maps and not shape.atomic_map:
        return _map_without(value, gone, shape)
    if isinstance(value, list) and value and shape.lists and not shape.atomic_list:
        return _list_without(value, gone, shape)
    return None if isinstance(value, dict | list) else value


def _map_without(value: JsonObject, gone: Node, shape: Shape) -> JsonObject:
    result: JsonObject = {}
    for name, item in value.items():
        node = gone.get(f"f:{name}")
        if node is None:
            result[name] = item
        elif not has_self(node):
            result[name] = _emptied(item, without(item, node, shape.field(name) or untyped_leaf()))
    return result


def _list_without(value: list[JsonValue], gone: Node, shape: Shape) -> list[JsonValue]:
    result: list[JsonValue] = []
    inner = shape.item()
    for item in value:
        node = gone.get(_step(item, shape))
        if node is None:
            result.append(item)
        elif not has_self(node):
            result.append(_emptied(item, without(item, node, inner)))
    return result


def _emptied(before: JsonValue, after: JsonValue) -> JsonValue:
    if after is None and isinstance(before, dict):
        return {}
    return [] if after is None and isinstance(before, list) else after


def type_faults(value: JsonValue, shape: Shape | None, path: str = "") -> list[str]:
    """What does not fit the shape of a document that is to be applied, in the words of structured merge."""
    if shape is None:
        return [f"{path}: field not declared in schema"]
    if value is None:
        return []
    if isinstance(value, dict):
        if not shape.maps:
            return [_unexpected(value, shape, path)]
        if shape.atomic_map:
            return []
        return [
            fault
            for name, item in value.items()
            for fault in type_faults(item, shape.field(name), f"{path}.{name}")
        ]
    if isinstance(value, list):
        return _list_faults(value, shape, path) if shape.lists else [_unexpected(value, shape, path)]
    if not shape.scalar:
        return [_unexpected(value, shape, path)]
    if shape.scalar == "untyped" or _go_kind(value) in _FITS[shape.scalar]:
        return []
    return [_unexpected(value, shape, path)]


def _list_faults(value: list[JsonValue], shape: Shape, path: str) -> list[str]:
    if shape.atomic_list:
        return []
    faults: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        try:
            step = entry_step(item, shape)
        except ValueError as error:
            faults.append(f"{path}: element {index}: {error}")
            continue
        shown = f"[{spoken_keys(step[2:])}]" if shape.keys else f"[={step[2:]}]"
        if step in seen:
            faults.append(f"{path}: duplicate entries for key {shown}")
        seen.add(step)
        faults += type_faults(item, shape.item(), path + shown)
    return faults


_FITS = {"string": ("string",), "numeric": ("int", "float"), "boolean": ("boolean",)}
_SCALAR_WORDS = {"string": "string", "numeric": "numeric (int or float)", "boolean": "boolean"}


def _unexpected(value: JsonValue, shape: Shape, path: str) -> str:
    if shape.scalar:
        return f"{path}: expected {_SCALAR_WORDS.get(shape.scalar, 'scalar')}, got {_go_kind(value)}"
    return f"{path}: expected {'map' if shape.maps else 'list'}, got &{{{go_text(value)}}}"


def _go_kind(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "string"
        case list():
            return "list"
    return "map"
