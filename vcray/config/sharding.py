"""Which scheduler gets which nodes: `sharding.yaml` of a ConfigMap, and the shorter form of a flag.

Both come to a chain of policies for each scheduler, with Volcano's rules, defaults and words (api-controllers.md 4.6). A text
is read whole or not at all: ShardingError names the first thing that is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite
from typing import Final, TypeAlias

import yaml
from pydantic import JsonValue

from vcray.config.document import parse
from vcray.config.given import duration, truth
from vcray.errors import did_you_mean

KEY: Final = "sharding.yaml"
"""Key of the ConfigMap."""

Table: TypeAlias = Mapping[str, JsonValue]


class ShardingError(ValueError):
    """A configuration that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class AllocationRate:
    """Nodes whose CPU utilisation, rounded to 2 decimals, is within [low, high]; busier ones first."""

    low: float
    high: float
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Warmup:
    """Nodes with a label come first."""

    label: str = "node.volcano.sh/warmup"
    value: str = "true"
    weight: int = 1


@dataclass(frozen=True, slots=True)
class NodeLimit:
    """At most so many nodes; 0 for no limit."""

    most: int


Policy: TypeAlias = AllocationRate | Warmup | NodeLimit


@dataclass(frozen=True, slots=True)
class ShardScheduler:
    """A scheduler, and the policies that choose its nodes."""

    name: str
    policies: tuple[Policy, ...]


@dataclass(frozen=True, slots=True)
class ShardingConfig:
    """Schedulers in the order in which they take nodes. `period_s` and `node_events` are None where the text is silent;
    `warnings`: what was passed over."""

    schedulers: tuple[ShardScheduler, ...] = ()
    period_s: float | None = None
    node_events: bool | None = None
    warnings: tuple[str, ...] = ()


def rounded(utilisation: float) -> float:
    """To 2 decimals, halves up."""
    return floor(utilisation * 100 + 0.5) / 100


def parse_sharding(text: str) -> ShardingConfig:
    """Read `sharding.yaml`. ShardingError when it cannot be used."""
    try:
        document, faults = parse(text)
    except yaml.YAMLError as error:
        raise ShardingError(f"failed to unmarshal sharding config: {error}") from None
    table = _table(document, "sharding config")
    entries = _list(table, "schedulerConfigs", "")
    if not entries:
        raise ShardingError("sharding config must contain at least one schedulerConfig entry")
    warnings = [f"{where}: {what}" for where, what in faults]
    period_s: float | None = None
    period = table.get("shardSyncPeriod")
    if period not in (None, ""):
        try:
            period_s = _positive(str(period))
        except ValueError as error:
            warnings.append(f"invalid shardSyncPeriod {period!r}: {error}; the period stays")
    events = table.get("enableNodeEventTrigger")
    if events is not None and not isinstance(events, bool):
        raise ShardingError("enableNodeEventTrigger must be true or false")
    schedulers = tuple(
        _scheduler(_table(each, f"schedulerConfigs[{i}]"), i) for i, each in enumerate(entries)
    )
    return ShardingConfig(_distinct(schedulers), period_s, events, tuple(warnings))


def parse_scheduler_configs(texts: Iterable[str]) -> tuple[ShardScheduler, ...]:
    """The form of the flag, `name:type:min:max:warmup:minNodes:maxNodes`; `warmup` is read and has no effect. ShardingError."""
    return _distinct([_short(text) for text in texts])


def _distinct(schedulers: Sequence[ShardScheduler]) -> tuple[ShardScheduler, ...]:
    names = [each.name for each in schedulers]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ShardingError(f"scheduler {twice[0]} stands more than once")
    return tuple(schedulers)


def _short(text: str) -> ShardScheduler:
    parts = text.split(":")
    if len(parts) != 7:
        raise ShardingError(f"invalid scheduler config format: {text}, expected 7 colon-separated parts")
    name, _, low, high, warmup, least, most = parts
    try:
        truth(warmup)
        bounds = _utilisation(low), _utilisation(high)
        nodes = int(least), int(most)
    except ValueError as error:
        raise ShardingError(f"failed to parse scheduler config {text}: {error}") from None
    if not name:
        raise ShardingError(f"failed to parse scheduler config {text}: name must not be empty")
    where = f"scheduler config {text}"
    policies: list[Policy] = [_allocation_rate({"minCPUUtil": bounds[0], "maxCPUUtil": bounds[1]}, 1, where)]
    if max(nodes) > 0:
        policies.append(_node_limit({"minNodes": nodes[0], "maxNodes": nodes[1]}, 1, where))
    return ShardScheduler(name, tuple(policies))


def _utilisation(text: str) -> float:
    if text in ("inf", "infinity"):
        return 1.0
    return 0.0 if text in ("-inf", "-infinity") else float(text)


def _positive(text: str) -> float:
    seconds = duration(text)
    if seconds <= 0:
        raise ValueError("must be more than 0")
    return seconds


# ---- one scheduler of the ConfigMap ----


def _scheduler(entry: Table, index: int) -> ShardScheduler:
    name = _text(entry, "name", f"schedulerConfigs[{index}]")
    if not name:
        raise ShardingError(f"schedulerConfigs[{index}]: name must not be empty")
    where = f"schedulerConfigs[{index}] ({name})"
    _text(entry, "type", where)
    low, high = (_number(entry, key, where) for key in ("cpuUtilizationMin", "cpuUtilizationMax"))
    for key, bound in (("cpuUtilizationMin", low), ("cpuUtilizationMax", high)):
        if not 0 <= bound <= 1:
            raise ShardingError(f"{where}: {key} {bound:.2f} out of range [0,1]")
    if low > high:
        raise ShardingError(
            f"{where}: cpuUtilizationMin ({low:.2f}) must be <= cpuUtilizationMax ({high:.2f})"
        )
    least, most = (_whole(entry, key, where) for key in ("minNodes", "maxNodes"))
    if least < 0:
        raise ShardingError(f"{where}: minNodes must be >= 0")
    if most < least:
        raise ShardingError(f"{where}: maxNodes ({most}) must be >= minNodes ({least})")
    policies = [
        _policy(each, f"{where}: policies[{i}]") for i, each in enumerate(_list(entry, "policies", where))
    ]
    if not policies:
        legacy = _table(entry.get("arguments") or {}, f"{where}: arguments")
        bounds: Table = legacy or {"minCPUUtil": low, "maxCPUUtil": high}
        policies.append(_allocation_rate(bounds, 1, where))
        if _flag(entry, "preferWarmupNodes", where):
            policies.append(Warmup())
    if most > 0 and not any(isinstance(each, NodeLimit) for each in policies):
        policies.append(NodeLimit(most))
    return ShardScheduler(name, tuple(policies))


def _policy(value: JsonValue, where: str) -> Policy:
    entry = _table(value, where)
    name = _text(entry, "name", where)
    if not name:
        raise ShardingError(f"{where}.name must not be empty")
    where = f"{where} ({name})"
    weight = _whole(entry, "weight", where)
    if weight < 0:
        raise ShardingError(f"{where}: weight must be >= 0 (omit for default of 1)")
    arguments = _table(entry.get("arguments") or {}, f"{where}: arguments")
    for key in ("minNodes", "maxNodes"):
        if key in arguments and name != "node-limit":
            raise ShardingError(f"{where}: {key} is only supported by the node-limit policy")
    make = _POLICIES.get(name)
    if make is None:
        raise ShardingError(f"{where}: there is no such policy{did_you_mean(name, _POLICIES)}")
    return make(arguments, weight or 1, where)


def _allocation_rate(arguments: Table, weight: int, where: str) -> Policy:
    low, high = (_number(arguments, key, where) for key in ("minCPUUtil", "maxCPUUtil"))
    if low < 0 or high > 1 or low > high:
        what = "must be within [0.0, 1.0] and min <= max"
        raise ShardingError(f"{where}: invalid CPU utilization range [{low:.2f}, {high:.2f}]: {what}")
    return AllocationRate(rounded(low), rounded(high), weight)


def _warmup(arguments: Table, weight: int, where: str) -> Policy:
    known = Warmup()
    label = _text(arguments, "warmupLabel", where, known.label)
    if not label:
        raise ShardingError(f"{where}: warmupLabel cannot be empty")
    return Warmup(label, _text(arguments, "warmupLabelValue", where, known.value), weight)


def _node_limit(arguments: Table, weight: int, where: str) -> Policy:
    least, most = (_whole(arguments, key, where) for key in ("minNodes", "maxNodes"))
    if least < 0:
        raise ShardingError(f"{where}: invalid minNodes {least}: must be >= 0")
    if 0 < most < least:
        raise ShardingError(f"{where}: invalid bounds [{least}, {most}]: maxNodes must be >= minNodes")
    return NodeLimit(max(0, most))


_POLICIES: Final = {"allocation-rate": _allocation_rate, "warmup": _warmup, "node-limit": _node_limit}


# ---- values of the document ----


def _table(value: JsonValue, where: str) -> Table:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ShardingError(f"{where} must be a mapping")
    return value


def _list(holder: Table, key: str, where: str) -> list[JsonValue]:
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ShardingError(f"{where}{': ' if where else ''}{key} must be a list")
    return value


def _text(holder: Table, key: str, where: str, default: str = "") -> str:
    value = holder.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ShardingError(f"{where}: {key} must be a string")
    return value


def _number(holder: Table, key: str, where: str) -> float:
    value = holder.get(key)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ShardingError(f"{where}: {key} must be a number")
    return float(value)


def _whole(holder: Table, key: str, where: str) -> int:
    number = _number(holder, key, where)
    if number != int(number):
        raise ShardingError(f"{where}: {key} must be a whole number")
    return int(number)


def _flag(holder: Table, key: str, where: str) -> bool:
    value = holder.get(key)
    if value is not None and not isinstance(value, bool):
        raise ShardingError(f"{where}: {key} must be true or false")
    return value is True
