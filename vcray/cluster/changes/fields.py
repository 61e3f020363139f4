"""Sets of fields, as server-side apply keeps them: which paths an object has, which a manager owns, how they are written.

A path is a tuple of steps in the notation of `FieldsV1`: `f:name` for a field, `k:{"name":"x"}` for the entry of a
keyed list, `v:"x"` for a member of a set. Lists and maps that are replaced whole are one path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias

from vcray.api.meta import JsonObject, JsonValue

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]
Leaves: TypeAlias = dict[Path, str]
"""Every path of an object with its value as JSON text; entries of lists stand for themselves with an empty text."""

_OWN_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_NOT_OWNED = ("apiVersion", "kind")


def part_of(structure: JsonValue, name: str) -> JsonValue:
    """The structure of one field of an object or map."""
    if not isinstance(structure, dict):
        return None
    properties = structure.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return structure.get("additionalProperties")


def list_keys(structure: JsonValue) -> list[str]:
    """The keys that tell the entries of a keyed list apart; empty for other lists."""
    if not isinstance(structure, dict) or structure.get("x-kubernetes-list-type") != "map":
        return []
    keys = structure.get("x-kubernetes-list-map-keys")
    return [str(key) for key in keys] if isinstance(keys, list) else []


def is_set(structure: JsonValue) -> bool:
    """True for a list without repetitions, merged by union."""
    return isinstance(structure, dict) and structure.get("x-kubernetes-list-type") == "set"


def is_whole_map(structure: JsonValue) -> bool:
    """True for a map that is replaced whole."""
    return isinstance(structure, dict) and structure.get("x-kubernetes-map-type") == "atomic"


def canonical(value: JsonValue) -> str:
    """JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def entry_step(item: JsonValue, structure: JsonValue) -> str:
    """The step to an entry of a keyed list or of a set; keys that the entry leaves out take their schema default."""
    keys = list_keys(structure)
    if not keys or not isinstance(item, dict):
        return f"v:{canonical(item)}"
    inner = structure.get("items") if isinstance(structure, dict) else None
    named: JsonObject = {}
    for key in keys:
        part = part_of(inner, key)
        default = part.get("default") if isinstance(part, dict) else None
        value = item.get(key, default)
        if value is not None:
            named[key] = value
    return f"k:{canonical(named)}"


def leaves(obj: JsonObject, structure: JsonObject, sections: Iterable[str] | None = None) -> Leaves:
    """All paths of an object that managers can own; only those of some top-level `sections` if given."""
    wanted = None if sections is None else set(sections)
    found: Leaves = {}
    for name, value in obj.items():
        if name in _NOT_OWNED or (wanted is not None and name not in wanted):
            continue
        shown = value
        if name == "metadata" and isinstance(value, dict):
            shown = {key: value[key] for key in _OWN_METADATA if key in value}
            if not shown:
                continue
        _walk(shown, part_of(structure, name), (f"f:{name}",), found)
    return found


def _walk(value: JsonValue, structure: JsonValue, path: Path, found: Leaves) -> None:
    if isinstance(value, dict) and value and not is_whole_map(structure):
        of_objects = isinstance(structure, dict) and bool(structure.get("additionalProperties"))
        for name, item in value.items():
            step = (*path, f"f:{name}")
            if of_objects and isinstance(item, dict):
                found[step] = ""
            _walk(item, part_of(structure, name), step, found)
    elif isinstance(value, list) and value and (list_keys(structure) or is_set(structure)):
        inner = structure.get("items") if isinstance(structure, dict) else None
        for item in value:
            step = (*path, entry_step(item, structure))
            if isinstance(item, dict):
                _walk(item, inner, step, found)
            found[step] = ""
    else:
        found[path] = canonical(value)


def encode(paths: FieldSet) -> JsonObject:
    """The `FieldsV1` tree of a set."""
    tree: JsonObject = {}
    inner = {path[:end] for path in paths for end in range(1, len(path))}
    for path in sorted(paths):
        node = tree
        for step in path:
            below = node.setdefault(step, {})
            assert isinstance(below, dict)
            node = below
        if path in inner:
            node["."] = {}
    return tree


def decode(tree: JsonValue) -> FieldSet:
    """The set that a `FieldsV1` tree describes."""
    found: set[Path] = set()

    def visit(node: JsonValue, path: Path) -> None:
        if not isinstance(node, dict) or not node:
            if path:
                found.add(path)
            return
        for step, below in node.items():
            if step == ".":
                found.add(path)
            else:
                visit(below, (*path, step))

    visit(tree, ())
    return frozenset(found)


def in_order(paths: FieldSet) -> list[Path]:
    """The paths as messages list them: at each level the fields that end there before those that go deeper."""
    return sorted(paths, key=lambda path: [(depth + 1 < len(path), step) for depth, step in enumerate(path)])


def spoken(path: Path) -> str:
    """A path as messages show it: `.spec.containers[name="main"].image`."""
    words = []
    for step in path:
        mark, rest = step[0], step[2:]
        if mark == "f":
            words.append(f".{rest}")
        elif mark == "k":
            keys = json.loads(rest)
            words.append("[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]")
        else:
            words.append(f"[{'=' if mark == 'v' else ''}{rest}]")
    return "".join(words)
