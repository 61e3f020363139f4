"""Arguments of `usage`, read value by value: what is out of range or of a wrong type keeps its default and is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import Field, JsonValue

from vcray.api.quantity import QuantityError, milli, value
from vcray.config.nested import unknown_key
from vcray.core.plugin import Args
from vcray.errors import Problem

MI = 2**20


class UsageArgs(Args):
    """See docs/plugins/usage.md."""

    minimums: ClassVar[dict[str, float]] = {"usage.weight": 0, "cpu.weight": 0, "memory.weight": 0}

    weight: int = Field(5, alias="usage.weight")
    cpu: int = Field(1, alias="cpu.weight")
    memory: int = Field(1, alias="memory.weight")
    thresholds: JsonValue = Field(None, alias="thresholds")
    estimator: JsonValue = Field(None, alias="estimator")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`, with what is wrong inside the maps."""
        args, problems = super().read(given, where)
        wrong = [*Thresholds.of(args.thresholds).wrong, *Estimator.of(args.estimator).wrong]
        return args, [*problems, *(Problem("VC0108", f"{where}.{key}", what) for key, what in wrong)]

    def weights(self) -> tuple[int, int, int]:
        """Of the plugin, of cpu and of memory; a negative one is its default."""
        return tuple(  # type: ignore[return-value]
            given if given >= 0 else default
            for given, default in ((self.weight, 5), (self.cpu, 1), (self.memory, 1))
        )


Wrong = tuple[tuple[str, str], ...]


def _take(
    table: JsonValue,
    name: str,
    readers: Mapping[str, Callable[[JsonValue], float | None]],
    defaults: Mapping[str, float],
) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """Values of a map by key; what a reader refuses, and keys that nobody knows, are noted."""
    found, noted = dict(defaults), []
    if table is not None and not isinstance(table, dict):
        noted.append((name, f"must be a map, got {table!r}; the defaults are kept"))
    for key, given in table.items() if isinstance(table, dict) else ():
        taken = readers[key](given) if key in readers else None
        if key not in readers:
            noted.append((f"{name}.{key}", unknown_key(key, readers)))
        elif taken is None:
            noted.append(
                (f"{name}.{key}", f"is out of range or of a wrong type: {given!r}; the default is kept")
            )
        else:
            found[key] = taken
    return found, noted


def _number(given: JsonValue) -> float | None:
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None


def _per_cent(given: JsonValue) -> float | None:
    return float(given) if type(given) is int and 0 <= given <= 100 else None


def _share(given: JsonValue) -> float | None:
    number = _number(given)
    return number if number is not None and 0 <= number <= 1 else None


def _factor(given: JsonValue) -> float | None:
    number = _number(given)
    return number if number is not None and number >= 1 else None


def _cpu(given: JsonValue) -> float | None:
    return _amount(given, milli, 1)


def _memory(given: JsonValue) -> float | None:
    return _amount(given, value, MI)


def _amount(given: JsonValue, parse: Callable[[str], int], unit: int) -> float | None:
    """A whole number counts units, a string is a quantity."""
    if type(given) is int:
        return float(given * unit) if given >= 0 else None
    try:
        amount = parse(given) if isinstance(given, str) else -1
    except QuantityError:
        return None
    return float(amount) if amount >= 0 else None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Per cent of cpu and memory above which a node takes nobody."""

    cpu: float
    memory: float
    wrong: Wrong

    @classmethod
    def of(cls, table: JsonValue) -> Thresholds:
        """80 each unless said otherwise; whole numbers from 0 to 100."""
        found, noted = _take(
            table, "thresholds", {"cpu": _per_cent, "mem": _per_cent}, {"cpu": 80.0, "mem": 80.0}
        )
        return cls(found["cpu"], found["mem"], tuple(noted))


@dataclass(frozen=True, slots=True)
class Estimator:
    """What a pod will use, before anybody measured it. `be_cpu` in milli, `be_mem` in bytes: pods that request nothing."""

    request_ratio: float
    burst_ratio: float
    risk_threshold: float
    risk_factor: float
    be_cpu: float
    be_mem: float
    wrong: Wrong

    @classmethod
    def of(cls, table: JsonValue) -> Estimator:
        """Ratios and the threshold from 0 to 1, the factor from 1."""
        defaults = {
            "request_ratio": 0.7,
            "burst_ratio": 0.0,
            "risk_threshold": 0.6,
            "risk_factor": 1.2,
            "be_cpu": 250.0,
            "be_mem": 200.0 * MI,
        }
        readers = {
            "request_ratio": _share,
            "burst_ratio": _share,
            "risk_threshold": _share,
            "risk_factor": _factor,
            "be_cpu": _cpu,
            "be_mem": _memory,
        }
        found, noted = _take(table, "estimator", readers, defaults)
        return cls(**found, wrong=tuple(noted))

    def guess(self, request: float, limit: float, risk: float) -> float:
        """Of one resource of a pod that requests something: part of the request, part of what is above it up to the
        limit, never more than the limit."""
        most = max(limit, request)
        guess = (request * self.request_ratio + (most - request) * self.burst_ratio) * risk
        return min(max(guess, 0.0), most)
