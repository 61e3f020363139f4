"""The scenario file format: what a cluster holds, what happens to it, what must hold. `docs/scenarios.md` is its manual.

A file is YAML with one document a scenario. Reading it checks every key; running it is `vcray.sim.runner`'s part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from vcray.api.meta import JsonObject
from vcray.errors import InputError, Problem, did_you_mean
from vcray.sim.configurations import CONFIGURATIONS


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


ShortMap = dict[str, JsonValue]


class Objects(_Part):
    """Objects in short form by kind, plus `objects`: plain Kubernetes objects of any kind."""

    nodes: ShortMap = {}
    queues: ShortMap = {}
    priorities: dict[str, JsonValue] = {}
    groups: ShortMap = {}
    pods: ShortMap = {}
    jobs: ShortMap = {}
    objects: list[JsonObject] = []
    namespace: str | None = None


Count = int | str
"""A number, or a comparison such as `>=2`, `<5`, `2..3`."""


class EventExpectation(_Part):
    """An event that must have been seen: on `kind/name` (globs), with this reason, its message matching the glob."""

    on: str
    reason: str
    type: Literal["Normal", "Warning"] | None = None
    message: str = "*"


class ObjectExpectation(_Part):
    """An object that must exist (or not) and hold the given fields; lists and scalars are compared whole, maps by the keys
    that are given; null means absent."""

    kind: str
    name: str
    namespace: str = "default"
    exists: bool = True
    fields: JsonObject = {}


class Expectations(_Part):
    """What must hold. A *selector* is `job`, `job/task`, `group` or a pod name, with globs."""

    bound: dict[str, Count] = {}
    running: dict[str, Count] = {}
    pending: dict[str, Count] = {}
    pods: dict[str, Count] = {}
    succeeded: dict[str, Count] = {}
    failed: dict[str, Count] = {}
    nodes: dict[str, Count | list[str] | dict[str, Count]] = {}
    phases: dict[str, str | list[str]] = {}
    conditions: dict[str, str] = {}
    evicted: Count | dict[str, Count] | None = None
    events: list[EventExpectation] = []
    no_events: list[EventExpectation] = []
    objects: list[ObjectExpectation] = []
    queues: dict[str, JsonObject] = {}
    messages: dict[str, str] = {}


class Finish(_Part):
    """Let pods end: those that match the selector, with an exit code (0 succeeds)."""

    pods: str
    code: int = 0


class Target(_Part):
    """One object."""

    kind: str
    name: str
    namespace: str = "default"


class PatchStep(Target):
    """A merge patch of an object, or of its status; `delay_event` keeps watchers from seeing it until `release`."""

    patch: JsonObject
    subresource: str | None = None
    delay_event: bool = False


class Kubelet(_Part):
    """How the simulated kubelet treats pods that match the selector: they never start, or stop only after some cycles,
    or succeed when told to stop."""

    pods: str
    start: bool = True
    stop_cycles: int = 1
    on_stop: Literal["gone", "succeed"] = "gone"


class CommandStep(_Part):
    """A bus Command on a vcjob or queue."""

    action: str
    kind: Literal["Job", "Queue"] = "Job"
    name: str
    namespace: str = "default"


class Step(_Part):
    """One step; exactly one of its keys is given."""

    create: Objects | None = None
    delete: Target | None = None
    patch: PatchStep | None = None
    finish: Finish | None = None
    node_down: str | None = None
    node_up: str | None = None
    cordon: str | None = None
    uncordon: str | None = None
    kubelet: Kubelet | None = None
    command: CommandStep | None = None
    stop: Literal["scheduler", "controllers"] | None = None
    start: Literal["scheduler", "controllers"] | None = None
    restart: Literal["scheduler", "controllers", "all"] | None = None
    hold: Target | None = None
    release: Target | None = None
    cycles: Annotated[int, Field(ge=1, le=1000)] | None = None
    settle: bool | None = None
    advance: str | None = None
    expect: Expectations | None = None

    @property
    def verb(self) -> str:
        """The key that is given."""
        return next(name for name in type(self).model_fields if name in self.model_fields_set)


class Scenario(_Part):
    """One scenario. `never` is checked after every cycle; `repeat` runs it with other event and creation orders."""

    name: str
    about: str = ""
    source: str = ""
    config: str | JsonObject = "K0"
    given: Objects = Objects()
    steps: list[Step] = [Step(settle=True)]
    expect: Expectations = Expectations()
    never: Expectations | None = None
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1

    @field_validator("config")
    @classmethod
    def _known(cls, value: str | JsonObject) -> str | JsonObject:
        if isinstance(value, str) and value not in CONFIGURATIONS:
            raise ValueError(f"unknown configuration '{value}'{did_you_mean(value, CONFIGURATIONS)}")
        return value

    @field_validator("steps", mode="before")
    @classmethod
    def _bare_words(cls, value: object) -> object:
        return (
            [{each: True} if each == "settle" else each for each in value]
            if isinstance(value, list)
            else value
        )

    @property
    def scheduler_conf(self) -> str:
        """The text of its volcano-scheduler.conf."""
        return (
            CONFIGURATIONS[self.config]
            if isinstance(self.config, str)
            else yaml.safe_dump(self.config, sort_keys=False)
        )


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
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
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


def _validated(document: JsonObject, where: str) -> Scenario:
    try:
        scenario = Scenario.model_validate(document)
    except ValidationError as error:
        raise InputError(_problem(where, each) for each in error.errors()) from error
    for index, step in enumerate(scenario.steps):
        if len(step.model_fields_set) != 1:
            given = ", ".join(sorted(step.model_fields_set)) or "none"
            raise InputError(
                Problem("VC0302", f"{where}: steps[{index}]", f"a step has exactly one key, got {given}")
            )
    return scenario


def _problem(where: str, error: object) -> Problem:
    assert isinstance(error, dict)
    path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in error["loc"]).lstrip(".")
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        known = _known_keys(error["loc"][:-1])
        message = f"unknown key '{error['loc'][-1]}'{did_you_mean(str(error['loc'][-1]), known)}"
    return Problem("VC0302", f"{where}: {path}", message)


def _known_keys(path: tuple[str | int, ...]) -> list[str]:
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
