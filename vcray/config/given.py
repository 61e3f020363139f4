"""Flags of Volcano's programs as they were given on a command line -> values of `Settings`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vcray.config.flags import ENVIRONMENT, FLAGS, GATES, OVERRIDING, Flag, by_name
from vcray.errors import ConfigError, Problem, did_you_mean

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|us|µs|ns|m|s)")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
DEBUG_VERBOSITY = 4


@dataclass(slots=True)
class Given:
    """What the flags came to. `settings`: field -> value; `origin`: field -> the flag; `ineffective`: flags without effect;
    `master` and `version` concern the program itself."""

    settings: dict[str, object] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    ineffective: list[str] = field(default_factory=list)
    master: str = ""
    version: bool = False


def read_given(
    given: Mapping[str, Sequence[str]], flags: Sequence[Flag] = FLAGS, metrics_on: bool = True
) -> Given:
    """Flag name -> the texts given for it, in order. ConfigError (VC0502) names all that are malformed.

    `metrics_on`: whether they are served where no flag says so."""
    out, table = Given(), by_name(flags)
    problems: list[Problem] = []
    switches: dict[str, str] = {}
    for name, texts in sorted(given.items(), key=lambda each: _dashed(each[0]) == OVERRIDING):
        known = table.get(_dashed(name))
        if known is None or not texts:
            continue
        if known.verdict == "accepted":
            out.ineffective.append(name)
        else:
            try:
                value = _value(known, texts)
            except ValueError as error:
                problems.append(Problem("VC0502", f"--{name}", f"{error}, got {texts[-1]!r}"))
                continue
            if value == known.default == "":
                continue  # as if it were not there, as in Go
            if known.setting:
                out.settings[known.setting] = _setting(known, value)
                out.origin[known.setting] = f"--{name}"
            else:
                switches[known.name] = str(value)
    problems += _addresses(switches, out, table, metrics_on)
    if problems:
        raise ConfigError(problems)
    out.master, out.version = switches.get("master", ""), switches.get("version") == "True"
    return out


def of_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Field of `Settings` -> (variable of vc-scheduler, its text)."""
    return {
        each.setting: (each.name, environment[each.name])
        for each in ENVIRONMENT
        if each.setting and environment.get(each.name)
    }


def duration(text: str) -> float:
    """Seconds of a Go duration such as `1m30s`. ValueError for anything else."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    parts = _DURATION.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError("must be a duration such as 1m30s")
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def truth(text: str) -> bool:
    """What a Go program takes for true or false. ValueError for anything else."""
    if text not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return text in _TRUE


def read_gates(pairs: Iterable[str]) -> tuple[dict[str, bool], list[str]]:
    """`Name=true` pairs as a mapping, and a sentence for each that cannot be read."""
    gates: dict[str, bool] = {}
    wrong: list[str] = []
    for pair in pairs:
        name, _, text = pair.strip().partition("=")
        near = did_you_mean(name, GATES) if name not in GATES else ""
        if text not in _TRUE | _FALSE:
            wrong.append(f"'{pair}' must be Name=true or Name=false")
        elif "did you mean" in near:
            wrong.append(f"there is no feature gate '{name}'{near}")
        else:
            gates[name] = text in _TRUE
    return gates, wrong


def other_gates(pairs: Iterable[str]) -> list[str]:
    """The names that are no gates of Volcano's: gates of Kubernetes, or of nobody."""
    names = (pair.partition("=")[0].strip() for pair in pairs)
    return [name for name in dict.fromkeys(names) if name not in GATES]


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _value(known: Flag, texts: Sequence[str]) -> object:
    text = texts[-1]
    if known.kind == "list":
        return [part.strip() for each in texts for part in each.split(",") if part.strip()]
    if known.kind == "duration":
        return duration(text)
    if known.kind == "decimal":
        try:
            return float(text)
        except ValueError:
            raise ValueError("must be a number") from None
    if known.kind == "number":
        try:
            return int(text, 0)
        except ValueError:
            raise ValueError("must be a whole number") from None
    if known.kind == "switch":
        return truth(text)
    return text


def _setting(known: Flag, value: object) -> object:
    if known.name == "v":
        return "DEBUG" if isinstance(value, int) and value >= DEBUG_VERBOSITY else "INFO"
    return value


def _addresses(
    switches: Mapping[str, str], out: Given, table: Mapping[str, Flag], metrics_on: bool
) -> list[Problem]:
    """listen-address, enable-metrics, healthz-address and enable-healthz, which set several settings together."""
    problems = []
    for switch, name, host_field, port_field, on in (
        ("enable-metrics", "listen-address", "metrics_address", "metrics_port", metrics_on),
        ("enable-healthz", "healthz-address", "health_address", "health_port", False),
    ):
        if switch not in table:
            continue
        wanted = switches.get(switch, str(on)) == "True"
        text = switches.get(name)
        if not wanted:
            out.settings |= {port_field: -1} if switch in switches else {}
            continue
        if text is None and (on or switch not in switches):
            continue
        text = text or table[name].default
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit():
            problems.append(Problem("VC0502", f"--{name}", f"must be HOST:PORT or :PORT, got '{text}'"))
            continue
        out.settings |= {host_field: host.strip("[]") or "0.0.0.0", port_field: int(port)}
        out.origin |= {host_field: f"--{name}", port_field: f"--{name}"}
    return problems
