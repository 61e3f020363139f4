"""A YAML text as plain values, with what YAML itself passes over: keys given twice, documents after the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import yaml
from pydantic import JsonValue

Document: TypeAlias = dict[str, JsonValue]


class _Loader(yaml.SafeLoader):
    """Keys are text as written, whatever YAML takes them for."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, JsonValue]:  # type: ignore[override]
        self.flatten_mapping(node)
        return {str(key.value): self.construct_object(value, deep=deep) for key, value in node.value}


def parse(text: str) -> tuple[JsonValue, list[tuple[str, str]]]:
    """The first document, and (place, sentence) of each thing passed over. Raises yaml.YAMLError."""
    try:
        return _parsed(text)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


@lru_cache(maxsize=16)
def _nodes(text: str) -> Sequence[yaml.Node]:
    """Kept, since several parts of one process read the same text."""
    return tuple(yaml.compose_all(text, Loader=yaml.SafeLoader))


def _parsed(text: str) -> tuple[JsonValue, list[tuple[str, str]]]:
    nodes = _nodes(text)
    if not nodes or nodes[0] is None:
        return None, []
    _refuse_loops(nodes[0], set(), set())
    loader = _Loader("")
    try:
        document: JsonValue = loader.construct_document(nodes[0])
    finally:
        loader.dispose()
    faults = list(_repeated(nodes[0], "", set()))
    if len(nodes) > 1:
        faults.append((f"line {nodes[1].start_mark.line + 1}", "only the first YAML document is read"))
    return document, faults


def lines(text: str) -> dict[str, int]:
    """Place -> the line where it stands, from 1, such as `tiers[0].plugins[2].name`. Empty for a text that is not YAML."""
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return {}
    return dict(_places(nodes[0], "", set())) if nodes and nodes[0] is not None else {}


def line_of(place: str, known: dict[str, int]) -> int | None:
    """The line of a place, or of the nearest thing around it."""
    while place and place not in known:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    return known.get(place)


def _refuse_loops(node: yaml.Node, above: set[int], done: set[int]) -> None:
    """An anchor that holds itself has no value."""
    if id(node) in above:
        raise yaml.MarkedYAMLError(problem="an anchor holds itself", problem_mark=node.start_mark)
    if id(node) in done or isinstance(node, yaml.ScalarNode):
        return
    above.add(id(node))
    for child in _children(node):
        _refuse_loops(child, above, done)
    above.discard(id(node))
    done.add(id(node))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _repeated(node: yaml.Node, place: str, seen_nodes: set[int]) -> Iterator[tuple[str, str]]:
    if id(node) in seen_nodes:  # by an alias: told where it stands first
        return
    seen_nodes.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            where = f"{place}.{name}" if place else name
            line = key.start_mark.line + 1
            if name in seen:
                yield where, f"stands on line {seen[name]} and again on line {line}; the last one counts"
            seen[name] = line
            yield from _repeated(value, where, seen_nodes)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _repeated(item, f"{place}[{index}]", seen_nodes)


def _places(node: yaml.Node, place: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            where = f"{place}.{key.value}" if place else str(key.value)
            yield where, key.start_mark.line + 1
            yield from _places(value, where, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield f"{place}[{index}]", item.start_mark.line + 1
            yield from _places(item, f"{place}[{index}]", seen)
