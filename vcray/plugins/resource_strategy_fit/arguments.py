"""Arguments of `resource-strategy-fit`: nested maps, read value by value.

Volcano decodes each of these maps as a whole and ends the process on a wrong type; here a value of a wrong type keeps its
default and is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import Field, JsonValue

from vcray.config.nested import known_keys, listed_names, unknown_key, unlisted
from vcray.core.plugin import Args
from vcray.errors import Problem

LEAST = "LeastAllocated"
MOST = "MostAllocated"
DEFAULT_WEIGHT = 10


class ResourceStrategyFitArgs(Args):
    """See docs/plugins/resource-strategy-fit.md."""

    minimums: ClassVar[dict[str, float]] = {"resourceStrategyFitWeight": 0}

    weight: int = Field(DEFAULT_WEIGHT, alias="resourceStrategyFitWeight")
    resources: JsonValue = Field(None, alias="resources")
    sra: JsonValue = Field(None, alias="sra")
    proportional: JsonValue = Field(None, alias="proportional")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`, with what is wrong inside the maps."""
        args, problems = super().read(given, where)
        wrong = [*Strategies.of(args.resources).wrong, *Sra.of(args.sra).wrong]
        wrong += Proportional.of(args.proportional).wrong
        problems += [Problem("VC0108", f"{where}.{key}", what) for key, what in wrong]
        return args, problems


Wrong = tuple[tuple[str, str], ...]
"""Pairs of key and sentence."""


class _Reader:
    """Takes values of one map and notes what does not fit. `known`: the keys that it may have; none for any key."""

    def __init__(self, name: str, value: JsonValue, *known: str) -> None:
        self.name = name
        self.noted: list[tuple[str, str]] = []
        self.table: Mapping[str, JsonValue] = {}
        if isinstance(value, dict):
            self.table, wrong = known_keys(value, known) if known else (value, {})
            self.noted += [(f"{name}.{key}", what) for key, what in wrong.items()]
        elif value is not None:
            self.noted.append((name, f"must be a map, got {value!r}; the default is kept"))

    def number(self, key: str, default: int) -> int:
        """A whole number, at least the default."""
        value = self.table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            self._note(key, "a whole number", value)
        elif value < default:
            self._note(key, f"at least {default}", value)
        else:
            return value
        return default

    def switch(self, key: str) -> bool:
        value = self.table.get(key, False)
        if isinstance(value, bool):
            return value
        self._note(key, "true or false", value)
        return False

    def names(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            self._note(key, "a string of names with commas between", value)
            return ()
        return listed_names(value)

    def numbers(self, key: str) -> dict[str, float]:
        value = self.table.get(key)
        if value is not None and not isinstance(value, dict):
            self._note(key, "a map of numbers", value)
            return {}
        found: dict[str, float] = {}
        for name, item in (value or {}).items():
            if not isinstance(item, int | float) or isinstance(item, bool):
                self._note(f"{key}.{name}", "a number", item)
            elif item < 0:
                self._note(f"{key}.{name}", "at least 0", item)
            else:
                found[name] = item
        return found

    def _note(self, key: str, what: str, got: JsonValue) -> None:
        self.noted.append((f"{self.name}.{key}", f"must be {what}, got {got!r}; the default is kept"))


@dataclass(frozen=True, slots=True)
class Strategy:
    """How one resource is scored."""

    most: bool
    weight: int


@dataclass(frozen=True, slots=True)
class Strategies:
    """Strategies by resource name: exact ones, and by what a name begins with, the longest beginning first."""

    exact: Mapping[str, Strategy]
    beginnings: tuple[tuple[str, Strategy], ...] = ()
    wrong: Wrong = ()

    @classmethod
    def of(cls, value: JsonValue) -> Strategies:
        """cpu and memory LeastAllocated when nothing is given; an unknown type is LeastAllocated, a weight below 1 is 1."""
        outer = _Reader("resources", value)
        if not outer.table:
            least = Strategy(False, 1)
            return cls({"cpu": least, "memory": least}, (), tuple(outer.noted))
        exact: dict[str, Strategy] = {}
        beginnings: dict[str, Strategy] = {}
        noted = outer.noted
        for name, item in outer.table.items():
            reader = _Reader(f"resources.{name}", item, "type", "weight")
            kind = reader.table.get("type")
            strategy = Strategy(kind == MOST, reader.number("weight", 1))
            noted += reader.noted
            if kind not in (LEAST, MOST, None):
                what = f"must be {LEAST} or {MOST}, got {kind!r}; {LEAST} is taken"
                noted.append((f"resources.{name}.type", what))
            if "*" not in name:
                exact[name] = strategy
            elif name.endswith("*") and name.count("*") == 1 and len(name) > 1:
                beginnings[name[:-1]] = strategy
            else:
                what = "a pattern is the beginning of a name with * after it; this one has no effect"
                noted.append((f"resources.{name}", what))
        ordered = sorted(beginnings.items(), key=lambda pair: (-len(pair[0]), pair[0]))
        return cls(exact, tuple(ordered), tuple(noted))

    def get(self, name: str) -> Strategy | None:
        """The strategy of a resource."""
        found = self.exact.get(name)
        if found is not None:
            return found
        return next((strategy for start, strategy in self.beginnings if name.startswith(start)), None)


def of_pod(kind: str, weights: str) -> Strategies:
    """What a pod's two annotations say: one type for all resources, weights as JSON. Nothing that holds: no resource."""
    try:
        given = json.loads(weights)
    except ValueError:
        given = None
    if kind not in (LEAST, MOST) or not isinstance(given, dict):
        return Strategies({})
    if any(isinstance(weight, bool) or not isinstance(weight, int) for weight in given.values()):
        return Strategies({})
    return Strategies({name: Strategy(kind == MOST, weight) for name, weight in given.items()})


@dataclass(frozen=True, slots=True)
class Sra:
    """Keep off nodes with scarce resources: `weights` of these resources; weight 0 switches it off."""

    weight: int
    weights: Mapping[str, int]
    wrong: Wrong = ()

    @classmethod
    def of(cls, value: JsonValue) -> Sra:
        """On with `enable` and a `weight` above 0."""
        reader = _Reader("sra", value, "enable", "weight", "resources", "resourceWeight")
        enabled, weight = reader.switch("enable"), reader.number("weight", 0)
        names, given = reader.names("resources"), reader.numbers("resourceWeight")
        wrong = unlisted(given, names, "sra.resources")
        reader.noted += [(f"sra.resourceWeight.{name}", what) for name, what in wrong.items()]
        weights = {name: int(given.get(name, 1)) for name in names}
        return cls(weight if enabled else 0, weights, tuple(reader.noted))


@dataclass(frozen=True, slots=True)
class Proportional:
    """Per scarce resource, the cores and the 10**9 bytes that must stay idle beside each idle one."""

    rates: Mapping[str, tuple[float, float]]
    wrong: Wrong = ()

    @classmethod
    def of(cls, value: JsonValue) -> Proportional:
        """Nothing unless `enable` is set."""
        reader = _Reader("proportional", value, "enable", "resources", "resourceProportion")
        enabled, names = reader.switch("enable"), reader.names("resources")
        read = [f"{name}.{amount}" for name in names for amount in ("cpu", "memory")]
        given = reader.numbers("resourceProportion")
        reader.noted += [
            (f"proportional.resourceProportion.{key}", unknown_key(key, read))
            for key in given
            if key not in read
        ]

        def rate(key: str) -> float:
            return float(given.get(key, 1))

        rates = {name: (rate(f"{name}.cpu"), rate(f"{name}.memory")) for name in names if enabled}
        return cls(rates, tuple(reader.noted))

    def __iter__(self) -> Iterator[tuple[str, float, float]]:
        return ((name, cpu, memory) for name, (cpu, memory) in self.rates.items())
