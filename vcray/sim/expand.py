"""The objects of a scenario's `given` or `create`, in the order in which they are created: what is in no namespace first, then
what pods need, then pods; PriorityClasses and namespaces that are only named are made too."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import RUNTIMECLASSES, resource_for
from vcray.errors import InputError, Problem
from vcray.sim import shorthand
from vcray.sim.hypernodes import hypernode
from vcray.sim.scenario import Objects

T = TypeVar("T")

_RANGE = re.compile(r"^(?P<stem>.*?)(?P<first>\d+)\.\.(?P=stem)?(?P<last>\d+)$")


def objects(given: Objects, where: str, order: int = 0) -> list[JsonObject]:
    """Plain objects: PriorityClasses first, then nodes, queues, groups, jobs, pods, and the plain ones as they stand.

    `order` picks one of the orders in which the objects of a kind may be created; 0 is the file's."""
    nodes = [
        shorthand.node(name, _text_or_map(spec, f"{where}.nodes.{name}"), f"{where}.nodes.{name}")
        for name, spec in _items(given.nodes)
    ]
    hypernodes = [
        hypernode(name, _map_or_none(spec, f"{where}.hypernodes.{name}") or {}, f"{where}.hypernodes.{name}")
        for name, spec in _items(given.hypernodes)
    ]
    queues = [
        shorthand.queue(name, _map_or_none(spec, f"{where}.queues.{name}"), f"{where}.queues.{name}")
        for name, spec in _items(given.queues)
    ]
    groups = [
        shorthand.group(name, _number_or_map(spec, f"{where}.groups.{name}"), f"{where}.groups.{name}")
        for name, spec in _items(given.groups)
    ]
    jobs = [
        shorthand.job(name, spec, f"{where}.jobs.{name}")
        for name, spec in _counted(given.jobs, f"{where}.jobs")
    ]
    pods = [
        pod
        for name, spec in _items(given.pods)
        for pod in shorthand.pods(
            name,
            None if spec is None else _text_or_map(spec, f"{where}.pods.{name}"),
            f"{where}.pods.{name}",
        )
    ]
    found = [obj for kind in (nodes, hypernodes, queues, groups, jobs, pods) for obj in permuted(kind, order)]
    wide = [dict(each) for each in given.objects if not _namespaced(each)]
    found = wide + found + [dict(each) for each in given.objects if _namespaced(each)]
    if given.namespace:
        found = [_moved(each, given.namespace) for each in found]
    named = [*_namespaces(found), *_priorities(given, found, f"{where}.priorities"), *_runtimes(found)]
    return [*named, *found]


def checked(given: Objects, where: str) -> None:
    """InputError VC0302 when any of the objects cannot be made, or is of a kind that nobody serves."""
    for index, obj in enumerate(given.objects):
        api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        try:
            resource_for(api_version, kind)
        except KeyError as error:
            what = f"unknown kind '{api_version} {kind}'"
            raise InputError(Problem("VC0302", f"{where}.objects[{index}]", what)) from error
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not ({"name", "generateName"} & set(metadata)):
            raise InputError(
                Problem("VC0302", f"{where}.objects[{index}].metadata", "the object has no name")
            )
    objects(given, where)


def _namespaced(obj: JsonObject) -> bool:
    try:
        return resource_for(str(obj.get("apiVersion")), str(obj.get("kind"))).namespaced
    except KeyError:
        return True


def _namespaces(found: Sequence[JsonObject]) -> list[JsonObject]:
    """Namespaces that some object is in and nobody lists; `default` is always there."""
    named: set[str] = set()
    for obj in found:
        metadata = obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        named.add(str(metadata.get("namespace") or shorthand.NAMESPACE))
    listed = {
        str(metadata.get("name"))
        for obj in found
        if obj.get("kind") == "Namespace" and isinstance(metadata := obj.get("metadata"), dict)
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted(named - listed - {shorthand.NAMESPACE})
    ]


def permuted(items: Sequence[T], order: int) -> list[T]:
    """The `order`-th permutation of a few items (all of them come up in turn), a seeded shuffle of many."""
    if order == 0:
        return list(items)
    if len(items) <= 4:
        every = list(itertools.permutations(items))
        return list(every[order % len(every)])
    shuffled = list(items)
    random.Random(order).shuffle(shuffled)
    return shuffled


def _priorities(given: Objects, found: Sequence[JsonObject], where: str) -> list[JsonObject]:
    """PriorityClasses that are listed, and one for each number that some object uses."""
    made: dict[str, JsonObject] = {}
    for name, spec in given.priorities.items():
        listed = _number_or_map(spec, f"{where}.{name}")
        more: JsonObject = {"value": listed} if isinstance(listed, int) else dict(listed)
        value = shorthand.number(more.pop("value", 0), f"{where}.{name}.value")
        made[name] = shorthand.priority_class(name, value, **more)
    for name in _class_names(list(found)):
        number = re.fullmatch(r"priority-(-?\d+)", name)
        if number and name not in made:
            made[name] = shorthand.priority_class(name, int(number[1]))
    return list(made.values())


def _runtimes(found: Sequence[JsonObject]) -> list[JsonObject]:
    """A RuntimeClass for each overhead that some pod is given in short form."""
    overheads = {
        shorthand.runtime_class(overhead): overhead
        for obj in found
        if obj.get("kind") == "Pod" and (overhead := dig(obj, "spec", "overhead")) is not None
    }
    return [
        {
            "apiVersion": RUNTIMECLASSES.api_version,
            "kind": RUNTIMECLASSES.kind,
            "metadata": {"name": name},
            "handler": "simulated",
            "overhead": {"podFixed": overhead},
        }
        for name, overhead in overheads.items()
        if any(dig(obj, "spec", "runtimeClassName") == name for obj in found)
    ]


def _class_names(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "priorityClassName" and isinstance(each, str):
                yield each
            else:
                yield from _class_names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _class_names(each)


def _items(entries: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Entries with `n1..n5` spelled out."""
    for name, spec in entries.items():
        match = _RANGE.match(name)
        if match is None:
            yield name, spec
            continue
        for number in range(int(match["first"]), int(match["last"]) + 1):
            yield f"{match['stem']}{number}", spec


def _counted(
    entries: Mapping[str, JsonValue], where: str
) -> Iterator[tuple[str, str | Mapping[str, JsonValue]]]:
    """Jobs with `count: 100` spelled out as NAME-0 to NAME-99."""
    for name, spec in _items(entries):
        given = _text_or_map(spec, f"{where}.{name}")
        count = None if isinstance(given, str) else given.get("count")
        if count is None or isinstance(given, str):
            yield name, given
            continue
        rest = {key: value for key, value in given.items() if key != "count"}
        for index in range(shorthand.number(count, f"{where}.{name}.count")):
            yield f"{name}-{index}", rest


def _moved(obj: JsonObject, namespace: str) -> JsonObject:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace") is None:
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


def _check(value: JsonValue, kinds: tuple[type, ...], where: str, words: str) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise InputError(Problem("VC0302", where, f"expected {words}, got {value!r}"))


def _text_or_map(value: JsonValue, where: str) -> str | Mapping[str, JsonValue]:
    _check(value, (str, dict), where, "an amount or a map")
    assert isinstance(value, str | dict)
    return value


def _number_or_map(value: JsonValue, where: str) -> int | Mapping[str, JsonValue]:
    _check(value, (int, dict), where, "a number or a map")
    assert isinstance(value, int | dict)
    return value


def _map_or_none(value: JsonValue, where: str) -> Mapping[str, JsonValue] | None:
    _check(value, (dict, type(None)), where, "a map")
    assert value is None or isinstance(value, dict)
    return value
