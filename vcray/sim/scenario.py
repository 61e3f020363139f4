"""The scenario file format: what a cluster holds, what happens to it, what must hold. `docs/scenarios.md` is its manual.

These are the models; `vcray.sim.reading` makes them from a file, `vcray.sim.runner` runs them.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from vcray.api.meta import JsonObject
from vcray.api.resources import resolve
from vcray.cluster.operators.table import STAND_INS
from vcray.config.settings import load
from vcray.errors import ConfigError, did_you_mean
from vcray.sim.configurations import CONFIGURATIONS

COMPARISON = re.compile(r"(?P<sign>>=|<=|!=|>|<|)(?P<number>\d+(?:\.\d+)?)|(?P<low>\d+)\.\.(?P<high>\d+)")
"""`3`, `>=2`, `<5`, `!=0`, `2..3`, without blanks."""

BARE_WORDS = ("settle", "disconnect")
OBJECT_KINDS = ("job", "group", "pod", "queue", "node")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


ShortMap = dict[str, JsonValue]


def _count(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and COMPARISON.fullmatch(value.replace(" ", "")):
        return value
    raise ValueError(f"expected a number or a comparison such as '>=2', '<5' or '2..3', got {value!r}")


def _count_or_none(value: object) -> object:
    return None if value is None else _count(value)


def _on_node(value: object) -> object:
    if isinstance(value, list):
        if not all(isinstance(each, str) for each in value):
            raise ValueError("expected a list of pod names")
        return value
    return {key: _count(each) for key, each in value.items()} if isinstance(value, dict) else _count(value)


def _evicted(value: object) -> object:
    return {key: _count(each) for key, each in value.items()} if isinstance(value, dict) else _count(value)


def _words(value: object) -> object:
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return value
    raise ValueError(f"expected a phase or a list of phases, got {value!r}")


def _named(value: str) -> str:
    kind, slash, name = value.partition("/")
    if kind not in OBJECT_KINDS or not slash or not name:
        kinds = ", ".join(f"{each}/NAME" for each in OBJECT_KINDS)
        raise ValueError(f"'{value}' is none of {kinds}")
    return value


def _condition(value: str) -> str:
    target, colon, kind = value.rpartition(":")
    if not colon or not kind:
        raise ValueError(f"'{value}' is not of the form KIND/NAME:CONDITION")
    _named(target)
    return value


def _about(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z*?]+/.+", value):
        raise ValueError(f"'{value}' is not of the form KIND/NAME, such as pod/web-*")
    return value


def _kind(value: str) -> str:
    if resolve(value) is None:
        raise ValueError(f"unknown kind '{value}'")
    return value


def _duration(value: str) -> str:
    seconds(value)
    return value


def per_cents(spelled: str) -> tuple[float, float]:
    """cpu and memory of `70/30` or `70%/30%`. ValueError for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)%?/(\d+(?:\.\d+)?)%?", spelled)
    if found is None:
        raise ValueError(f"expected per cents of cpu and memory such as 70/30, got '{spelled}'")
    return float(found[1]), float(found[2])


def _loads(value: dict[str, str]) -> dict[str, str]:
    for each in value.values():
        per_cents(each)
    return value


def _operators(value: object) -> object:
    """A list of names, or a map from names to their gang support."""
    found = dict.fromkeys(value, "") if isinstance(value, list) else value
    for name in found if isinstance(found, dict) else ():
        if name not in STAND_INS:
            raise ValueError(f"there is no stand-in operator '{name}'{did_you_mean(str(name), STAND_INS)}")
    return found


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(spelled: str) -> float:
    """Seconds of `500ms`, `10s`, `1m30s`. ValueError for anything else."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", spelled)
    if not parts or "".join(number + unit for number, unit in parts) != spelled:
        raise ValueError(f"'{spelled}' is not a duration such as 500ms, 10s, 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


Count = Annotated[int | str, BeforeValidator(_count)]
"""A number, or a comparison such as `>=2`, `<5`, `2..3`."""

Component = Literal["scheduler", "controllers", "integrations"]
Kind = Annotated[str, AfterValidator(_kind)]
Named = Annotated[str, AfterValidator(_named)]
"""`job/NAME`, `group/NAME`, `pod/NAME`, `queue/NAME`, `node/NAME`; NAME may hold globs."""


class Objects(_Part):
    """Objects in short form by kind, plus `objects`: plain Kubernetes objects of any kind."""

    nodes: ShortMap = {}
    hypernodes: ShortMap = {}
    queues: ShortMap = {}
    priorities: dict[str, JsonValue] = {}
    groups: ShortMap = {}
    pods: ShortMap = {}
    jobs: ShortMap = {}
    objects: list[JsonObject] = []
    namespace: str | None = None


class EventExpectation(_Part):
    """An event that must have been seen: on `kind/name` (globs), with this reason, its message matching the glob."""

    on: Annotated[str, AfterValidator(_about)]
    reason: str
    type: Literal["Normal", "Warning"] | None = None
    message: str = "*"


class ObjectExpectation(_Part):
    """An object that must exist (or not) and hold the given fields; scalars and lists are compared whole, maps by the keys
    that are given (a list by index: `'0'`); null means absent."""

    kind: Kind
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
    nodes: dict[str, Annotated[int | str | list[str] | dict[str, int | str], BeforeValidator(_on_node)]] = {}
    phases: dict[Named, Annotated[str | list[str], BeforeValidator(_words)]] = {}
    conditions: dict[Annotated[str, AfterValidator(_condition)], str] = {}
    evicted: Annotated[int | str | dict[str, int | str] | None, BeforeValidator(_evicted)] = None
    events: list[EventExpectation] = []
    no_events: list[EventExpectation] = []
    objects: list[ObjectExpectation] = []
    queues: dict[str, JsonObject] = {}
    messages: dict[Named, str] = {}
    metrics: dict[str, Annotated[int | str | None, BeforeValidator(_count_or_none)]] = {}


class Finish(_Part):
    """Let pods end: those on a node that match the selector, with an exit code (0 succeeds)."""

    pods: str
    code: Annotated[int, Field(ge=0, le=255)] = 0


class Target(_Part):
    """One object, or with globs in its name several."""

    kind: Kind
    name: str
    namespace: str = "default"


class PatchStep(Target):
    """A merge patch of an object, or of its status; `delay_event` keeps watchers from seeing it until `release`."""

    patch: JsonObject
    subresource: str | None = None
    delay_event: bool = False


class OverwriteStep(Target):
    """A merge into a stored object past defaults and checks: what an older version may have left there."""

    patch: JsonObject


class Refused(_Part):
    """A create, patch or delete that the API server must refuse, with a message matching the glob."""

    create: Objects | None = None
    patch: PatchStep | None = None
    delete: Target | None = None
    message: str = "*"


class Kubelet(_Part):
    """How the simulated kubelet treats pods that match the selector: they never start, or stop only after some cycles,
    or succeed when told to stop; an evicted pod that nobody owns comes back Pending unless `replace` is false."""

    pods: str
    start: bool = True
    stop_cycles: Annotated[int, Field(ge=1)] = 1
    on_stop: Literal["gone", "succeed"] = "gone"
    replace: bool = True


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
    overwrite: OverwriteStep | None = None
    refused: Refused | None = None
    finish: Finish | None = None
    node_down: str | None = None
    node_up: str | None = None
    cordon: str | None = None
    uncordon: str | None = None
    kubelet: Kubelet | None = None
    command: CommandStep | None = None
    stop: Component | None = None
    start: Component | None = None
    restart: Component | Literal["all"] | None = None
    hold: Target | None = None
    release: Target | None = None
    disconnect: Literal[True] | None = None
    cycles: Annotated[int, Field(ge=1, le=1000)] | None = None
    settle: Literal[True] | None = None
    advance: Annotated[str, AfterValidator(_duration)] | None = None
    load: Annotated[dict[str, str], AfterValidator(_loads)] | None = None
    expect: Expectations | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, step: object) -> object:
        if isinstance(step, str):
            near = did_you_mean(step, cls.model_fields)
            raise ValueError(
                f"'{step}' is no step{near}; only `settle` stands alone, others are a map of one key"
            )
        if isinstance(step, dict) and len(step) != 1:
            given = ", ".join(map(str, step)) or "none"
            raise ValueError(f"a step has exactly one key, got {given}")
        if isinstance(step, dict) and None in step.values():
            raise ValueError(f"'{next(iter(step))}' says nothing; give it a value")
        return step

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
    settings: JsonObject = {}
    operators: Annotated[dict[str, Literal["", "volcano"]], BeforeValidator(_operators)] = {}
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

    @field_validator("settings")
    @classmethod
    def _usable(cls, value: JsonObject) -> JsonObject:
        try:
            load(value, {})
        except ConfigError as error:
            raise ValueError(str(error)) from error
        return value

    @field_validator("steps", mode="before")
    @classmethod
    def _bare_words(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        return [{each: True} if each in BARE_WORDS else each for each in value]

    @field_validator("never")
    @classmethod
    def _positive(cls, value: Expectations | None) -> Expectations | None:
        if value is not None and value.no_events:
            raise ValueError("say `events` under never; no_events belongs under expect")
        return value

    @property
    def scheduler_conf(self) -> str:
        """The text of its volcano-scheduler.conf."""
        return (
            CONFIGURATIONS[self.config]
            if isinstance(self.config, str)
            else yaml.safe_dump(self.config, sort_keys=False)
        )
