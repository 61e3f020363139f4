"""Strategic merge patch for built-in kinds: a merge patch whose keyed lists merge entry by entry.

Understands `$patch: delete|replace` on entries and objects, `$deleteFromPrimitiveList/<field>` and `$retainKeys`.
Order directives are accepted and have no effect.
"""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonValue
from vcray.cluster.changes.fields import canonical
from vcray.kube.errors import BadRequest

_DIRECTIVE = "$patch"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"

_FIRST_KEY_ONLY = {"containerPort", "port"}
"""Ports are told apart by number and protocol in apply, by number alone in a strategic merge."""


def strategic_merge(target: JsonValue, patch: JsonValue, structure: JsonValue) -> JsonValue:
    """The patched value; the arguments are not altered. BadRequest for an entry without its merge key."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    if patch.get(_DIRECTIVE) == "replace":
        return {key: deepcopy(value) for key, value in patch.items() if key != _DIRECTIVE}
    result = dict(target) if isinstance(target, dict) else {}
    if patch.get(_DIRECTIVE) == "delete":
        return {}
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key in (_DIRECTIVE, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_FROM):
            field = key.removeprefix(_DELETE_FROM)
            present, gone = result.get(field), value if isinstance(value, list) else []
            result[field] = (
                [item for item in present if item not in gone] if isinstance(present, list) else []
            )
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_field(result.get(key), value, _part(structure, key))
    return result


def _part(structure: JsonValue, key: str) -> JsonValue:
    if not isinstance(structure, dict):
        return None
    properties = structure.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    return structure.get("additionalProperties")


def _merge_field(present: JsonValue, value: JsonValue, part: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        return strategic_merge(present, value, part)
    shape = part if isinstance(part, dict) else {}
    old = present if isinstance(present, list) else []
    if shape.get("x-kubernetes-list-type") == "set":
        named = {canonical(item): deepcopy(item) for item in value}
        present_items = {canonical(item): item for item in old}
        return [{**present_items, **named}[mark] for mark in _ordered(list(present_items), list(named))]
    keys = shape.get("x-kubernetes-list-map-keys")
    if isinstance(keys, list) and keys:
        names = [str(key) for key in keys]
        return _merge_entries(
            old, value, names[:1] if names[0] in _FIRST_KEY_ONLY else names, shape.get("items")
        )
    return [deepcopy(item) for item in value if not (isinstance(item, dict) and _DIRECTIVE in item)]


def _merge_entries(
    old: list[JsonValue], patch: list[JsonValue], keys: list[str], structure: JsonValue
) -> list[JsonValue]:
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
        return [deepcopy(item) for item in patch if not (isinstance(item, dict) and _DIRECTIVE in item)]
    before = {_mark(item, keys): item for item in old}
    merged, named = dict(before), dict[str, None]()
    for item in patch:
        if not isinstance(item, dict):
            raise BadRequest(f"expected an object in a list merged by {', '.join(keys)}")
        if any(key not in item for key in keys):
            raise BadRequest(f"map: {item} does not contain declared merge key: {keys[0]}")
        mark = _mark(item, keys)
        if item.get(_DIRECTIVE) == "delete":
            merged.pop(mark, None)
        else:
            merged[mark] = strategic_merge(merged.get(mark, {}), item, structure)
            named[mark] = None
    return [merged[mark] for mark in _ordered(list(before), list(named)) if mark in merged]


def _mark(item: JsonValue, keys: list[str]) -> str:
    """What tells an entry apart; an entry of the stored list that lacks a key is told apart by its whole content."""
    if isinstance(item, dict) and all(key in item for key in keys):
        return canonical([item[key] for key in keys])
    return canonical(item)


def _ordered(stored: list[str], named: list[str]) -> list[str]:
    """Entries that the patch names in its order; the others in theirs, each before those it stood before."""
    place = {mark: index for index, mark in enumerate(stored)}
    others = [mark for mark in stored if mark not in set(named)]
    order: list[str] = []
    for mark in named:
        while others and mark in place and place[others[0]] < place[mark]:
            order.append(others.pop(0))
        order.append(mark)
    return order + others
