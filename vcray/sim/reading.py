"""Scenario files -> scenarios, with every fault of a file found before anything runs.

YAML is read as its version 1.2 has it: only `true` and `false` are booleans, so `on:` is a key like any other; a key that
stands twice in one map is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from vcray.api.meta import JsonObject
from vcray.errors import InputError, Problem, did_you_mean
from vcray.sim import expand
from vcray.sim.scenario import Objects, Scenario


class _Rules(yaml.constructor.SafeConstructor):
    """No key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key '{key.value}' stands twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Loader(_Rules, yaml.SafeLoader):
    """Tells faults alike on every machine."""


class _QuickLoader(_Rules, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Takes a tenth of the time."""


for _each in (_Loader, _QuickLoader):
    _each.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if not tag.endswith((":bool", ":timestamp", ":int"))]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    _each.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))
    _each.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^[-+]?[0-9]+$"), list("-+0123456789"))
    _each.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))


def load(path: Path) -> list[Scenario]:
    """The scenarios of a file. InputError with every fault: file, path inside it, what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("VC0503", str(path), f"cannot be read: {reason}")) from error
    return list(parse(text, str(path)))


def parse(text: str, where: str) -> Iterator[Scenario]:
    """The scenarios of a text; `where` names it in errors."""
    try:
        documents = [each for each in _documents(text) if each is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise InputError(Problem("VC0301", f"{where}{line}", str(problem))) from error
    if not documents:
        raise InputError(Problem("VC0301", where, "the file holds no scenario"))
    for number, document in enumerate(documents):
        place = where if len(documents) == 1 else f"{where}[{number}]"
        if not isinstance(document, dict):
            raise InputError(Problem("VC0302", place, "a scenario is a map with name, given, steps, expect"))
        yield _validated(document, place)


def _documents(text: str) -> list[JsonValue]:
    try:
        return list(yaml.load_all(text, _QuickLoader))
    except yaml.YAMLError:
        return list(yaml.load_all(text, _Loader))


def _validated(document: JsonObject, where: str) -> Scenario:
    try:
        scenario = Scenario.model_validate(document)
    except ValidationError as error:
        raise InputError(_problems(where, error)) from error
    for place, given in _created(scenario):
        expand.checked(given, f"{where}: {place}")
    return scenario


def _created(scenario: Scenario) -> Iterator[tuple[str, Objects]]:
    yield "given", scenario.given
    for index, step in enumerate(scenario.steps):
        if step.create is not None:
            yield f"steps[{index}].create", step.create
        if step.refused is not None and step.refused.create is not None:
            yield f"steps[{index}].refused.create", step.refused.create


def _problems(where: str, error: ValidationError) -> Sequence[Problem]:
    """One sentence a place: a value that fits no member of a union is one fault, not one for each member."""
    found: dict[str, Problem] = {}
    for each in error.errors():
        location = _in_file(each["loc"])
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in location).lstrip(".")
        found.setdefault(path, Problem("VC0302", f"{where}: {path}", _sentence(each, location)))
    return list(found.values())


def _in_file(location: Sequence[str | int]) -> Sequence[str | int]:
    """The keys of a location that stand in the file: without what pydantic adds for dict keys and union members."""
    added = ("[key]", "str", "int", "JsonValue", "list[str]")
    return [key for key in location if key not in added and not str(key).startswith(("dict[", "function-"))]


def _sentence(error: Mapping[str, object], location: Sequence[str | int]) -> str:
    if error["type"] == "extra_forbidden":
        key = str(location[-1])
        return f"unknown key '{key}'{did_you_mean(key, _known_keys(location[:-1]))}"
    return str(error["msg"]).removeprefix("Value error, ").replace("dictionary or instance of ", "map, a ")


def _known_keys(path: Sequence[str | int]) -> list[str]:
    model: type[BaseModel] = Scenario
    for key in path:
        if isinstance(key, int):
            continue
        field = model.model_fields.get(key)
        if field is None:
            return []
        found = [
            each
            for each in (field.annotation, *getattr(field.annotation, "__args__", ()))
            if isinstance(each, type) and issubclass(each, BaseModel)
        ]
        if not found:
            return []
        model = found[0]
    return list(model.model_fields)
