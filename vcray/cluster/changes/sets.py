"""Sets of fields in the form in which `managedFields` keeps them (`FieldsV1`), as they are, without taking them apart.

A set is a tree: steps (`f:name`, `k:{"name":"x"}`, `v:"x"`) lead to nodes. A node without steps is a member; one with steps
is a member only if it has the step `.`; None is the empty set. At the root, which stands for the object, nothing is said of
membership, so that there an empty tree is the empty set: `at_root` and `root_of` translate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeAlias, cast

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.shapes import Shape

Node: TypeAlias = "dict[str, Node]"
Set: TypeAlias = "Node | None"
Path: TypeAlias = tuple[str, ...]

SELF = "."


def at_root(tree: JsonValue, copied: bool = True) -> Set:
    """A tree of a request, or of the store unless `copied`, as a set; empty ones and malformed steps count as nothing."""
    if not isinstance(tree, dict):
        return None
    if not copied:
        return cast("Node", tree) or None
    return {step: _node(below) for step, below in tree.items() if step != SELF} or None


def _node(tree: JsonValue) -> Node:
    if not isinstance(tree, dict):
        return {}
    return {step: _node(below) for step, below in tree.items()}


def has_self(node: Set) -> bool:
    """True if the field that leads to the node is a member itself."""
    return node is not None and (not node or SELF in node)


def with_self(node: Set) -> Node:
    """The node with itself as a member."""
    if not node:
        return {}
    if SELF in node:
        return node
    return {SELF: {}, **node}


def union(one: Set, other: Set) -> Set:
    """Members of either."""
    if one is None or other is None:
        return one if other is None else other
    if not one:
        return with_self(other)
    if not other:
        return with_self(one)
    result = dict(one)
    for step, below in other.items():
        mine = result.get(step)
        joined = below if mine is None else union(mine, below)
        result[step] = {} if joined is None else joined
    return result


def _steps(node: Node) -> Iterator[str]:
    return (step for step in node if step != SELF)


def difference(one: Set, other: Set) -> Set:
    """Members of the one that are not in the other."""
    if one is None or other is None:
        return one
    stays = has_self(one) and not has_self(other)
    result: Node = {}
    for step in _steps(one):
        below = difference(one[step], other.get(step))
        if below is not None:
            result[step] = below
    return _closed(result, stays)


def intersection(one: Set, other: Set) -> Set:
    """Members of both."""
    if one is None or other is None:
        return None
    result: Node = {}
    for step in _steps(one):
        below = intersection(one[step], other.get(step))
        if below is not None:
            result[step] = below
    return _closed(result, has_self(one) and has_self(other))


def without_all(one: Set, other: Set) -> Set:
    """Members of the one but for members of the other and everything below those."""
    if one is None or other is None:
        return one
    if has_self(other):
        return None
    result: Node = {}
    for step in _steps(one):
        below = without_all(one[step], other.get(step))
        if below is not None:
            result[step] = below
    return _closed(result, has_self(one))


def root_without(one: Set, other: Set, all_below: bool = False) -> Set:
    """`difference` or `without_all` of two whole sets, whose roots are no members."""
    if one is None or other is None:
        return one
    cut = without_all if all_below else difference
    pairs = ((step, cut(below, other.get(step))) for step, below in one.items())
    return {step: below for step, below in pairs if below is not None} or None


def root_common(one: Set, other: Set) -> Set:
    """`intersection` of two whole sets."""
    if one is None or other is None:
        return None
    pairs = ((step, intersection(below, other.get(step))) for step, below in one.items())
    return {step: below for step, below in pairs if below is not None} or None


def _closed(node: Node, member: bool) -> Set:
    if member:
        return with_self(node)
    return node or None


def with_named_fields(node: Set, shape: Shape | None) -> Set:
    """The set with every field of a struct that it has something below of; entries of maps and lists stay as they are."""
    if not node:
        return node
    result: Node = {}
    for step, below in node.items():
        if step == SELF:
            result[step] = below
            continue
        inner, named = _inside(step, shape)
        deeper = with_named_fields(below, inner)
        result[step] = with_self(deeper) if named else (deeper or {})
    return result


def _inside(step: str, shape: Shape | None) -> tuple[Shape | None, bool]:
    """The shape behind a step, and whether that is a field that its map names."""
    if shape is None:
        return None, False
    if step.startswith("f:"):
        name = step[2:]
        return (shape.field(name), shape.known(name)) if shape.maps else (None, False)
    return (shape.item() if step.startswith("k:") and shape.lists else None), False


def paths(node: Set, path: Path = ()) -> Iterator[Path]:
    """All members; at each level those that end there before those that go deeper, each by their steps."""
    if node is None:
        return
    steps = sorted(_steps(node))
    for step in steps:
        if has_self(node[step]):
            yield (*path, step)
    for step in steps:
        yield from paths(node[step] or None, (*path, step))


def spoken(path: Path) -> str:
    """A path as messages show it: `.spec.containers[name="main"].image`."""
    words = []
    for step in path:
        mark, rest = step[0], step[2:]
        if mark == "f":
            words.append(f".{rest}")
        elif mark == "k":
            words.append(f"[{spoken_keys(rest)}]")
        else:
            words.append(f"[{'=' if mark == 'v' else ''}{rest}]")
    return "".join(words)


def spoken_keys(text: str) -> str:
    """The keys of an entry as messages show them: `name="main"`."""
    keys: JsonObject = json.loads(text)
    return ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
