"""`volcano-scheduler.conf` -> a typed, frozen `SchedulerConfig`.

Read as Volcano reads it: plugin flags in its two spellings, an action list that is refused whole when one name is unknown,
plugins that nobody knows skipped. What is wrong comes back as problems with a code, a place and a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue

from vcray.errors import ConfigError, Problem, did_you_mean

ON_BY_DEFAULT = (
    "enableJobOrder",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enableJobStarving",
    "enabledVictim",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
    "enabledHyperNodeGradient",
)
OFF_BY_DEFAULT = ("enableHierarchy", "enabledClusterOrder")
FLAGS = frozenset(ON_BY_DEFAULT + OFF_BY_DEFAULT)
"""Flags of a plugin as the file spells them; some say `enable`, others `enabled`."""

SKIPPED = frozenset({"VC0106", "VC0107", "VC0108", "VC0111"})
"""Codes of problems that a running scheduler reports and goes on without; the others refuse the whole file."""

ACTIONS_TO_COME = frozenset({"preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim"})
"""Actions of Volcano's that a configuration may well name, although this version may not have them."""

DEFAULT_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
"""What Volcano has compiled in."""

HELM_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
"""What Volcano's Helm chart installs."""


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """One plugin of a tier. `flags`: only those that the file sets."""

    name: str
    flags: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)

    def enabled(self, flag: str) -> bool:
        """The flag, or its default when the file is silent."""
        return self.flags.get(flag, flag not in OFF_BY_DEFAULT)


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """A configuration that holds. `problems`: what was skipped (`SKIPPED`), for `vcray check` and events."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginConfig, ...], ...] = ()
    configurations: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def action_arguments(self, action: str) -> Mapping[str, JsonValue]:
        """Arguments of an action; the first entry of that name counts."""
        return self.configurations.get(action, {})


def load_scheduler_config(
    text: str, actions: Iterable[str] | None = None, plugins: Iterable[str] | None = None
) -> SchedulerConfig:
    """Read a configuration.

    actions, plugins: the known names; None leaves names unchecked. ConfigError with all problems when it cannot be used:
    no YAML, a wrong type, nothing in it, an unknown action, drf with enableHierarchy beside proportion in one tier."""
    reader = _Reader(
        None if actions is None else frozenset(actions), None if plugins is None else frozenset(plugins)
    )
    config = reader.read(text)
    fatal = [problem for problem in reader.problems if problem.code not in SKIPPED]
    if fatal or config is None:
        raise ConfigError(fatal)
    return config


class _Reader:
    """Walks the document and collects problems instead of stopping at the first."""

    def __init__(self, actions: frozenset[str] | None, plugins: frozenset[str] | None) -> None:
        self.known_actions = actions
        self.known_plugins = plugins
        self.problems: list[Problem] = []

    def read(self, text: str) -> SchedulerConfig | None:
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            self._say("VC0101", where, f"not YAML: {getattr(error, 'problem', None) or error}")
            return None
        if document is None:
            self._say(
                "VC0103", "", "the file is empty; name at least one action, such as `actions: allocate`"
            )
            return None
        if not isinstance(document, dict):
            self._say("VC0102", "", f"must be a mapping with `actions` and `tiers`, not {_kind(document)}")
            return None
        self._keys(document, ("actions", "tiers", "configurations", "metrics"), "")
        actions = self._actions(document.get("actions"))
        tiers = self._tiers(document.get("tiers"))
        configurations = self._configurations(document.get("configurations"))
        metrics = self._metrics(document.get("metrics"))
        skipped = tuple(problem for problem in self.problems if problem.code in SKIPPED)
        return SchedulerConfig(actions, tiers, configurations, metrics, skipped)

    def _say(self, code: str, where: str, what: str) -> None:
        self.problems.append(Problem(code, where, what))

    def _keys(self, table: Mapping[object, object], known: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in known:
                what = f"unknown key '{key}' has no effect{did_you_mean(str(key), known)}"
                self._say("VC0111", f"{where}{key}", what)

    def _actions(self, value: object) -> tuple[str, ...]:
        if value is None or value == "":
            self._say(
                "VC0103",
                "actions",
                'no action is named; write for example `actions: "enqueue, allocate, backfill"`',
            )
            return ()
        if not isinstance(value, str):
            self._say(
                "VC0102", "actions", f"must be a string of names with commas between, not {_kind(value)}"
            )
            return ()
        names = tuple(name.strip() for name in value.split(","))
        for position, name in enumerate(names):
            where = f"actions[{position}]"
            if not name:
                self._say("VC0105", where, "an action name is empty; is there a comma too many?")
            elif self.known_actions is not None and name not in self.known_actions:
                self._say("VC0105", where, self._unknown_action(name, self.known_actions))
        return names

    def _unknown_action(self, name: str, known: frozenset[str]) -> str:
        if name in ACTIONS_TO_COME:
            return f"this version of vcray has no action '{name}' yet; leave it out"
        return f"unknown action '{name}'{did_you_mean(name, known)}"

    def _tiers(self, value: object) -> tuple[tuple[PluginConfig, ...], ...]:
        tiers = []
        for position, tier in enumerate(self._list(value, "tiers")):
            where = f"tiers[{position}]"
            if tier is not None and not isinstance(tier, dict):
                self._say("VC0102", where, f"must be a mapping with `plugins`, not {_kind(tier)}")
                continue
            self._keys(tier or {}, ("plugins",), f"{where}.")
            entries = self._list((tier or {}).get("plugins"), f"{where}.plugins")
            found = [self._plugin(entry, f"{where}.plugins[{i}]") for i, entry in enumerate(entries)]
            plugins = tuple(plugin for plugin in found if plugin is not None)
            hierarchical = any(p.name == "drf" and p.enabled("enableHierarchy") for p in plugins)
            if hierarchical and any(p.name == "proportion" for p in plugins):
                what = "drf with enableHierarchy and proportion cannot share a tier; move one of them to another tier"
                self._say("VC0109", where, what)
            tiers.append(plugins)
        return tuple(tiers)

    def _plugin(self, entry: object, where: str) -> PluginConfig | None:
        if not isinstance(entry, dict):
            self._say("VC0102", where, f"must be a mapping with `name`, not {_kind(entry)}")
            return None
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            self._say("VC0102", f"{where}.name", "a plugin needs a name")
            return None
        flags: dict[str, bool] = {}
        for key, value in entry.items():
            if key in ("name", "arguments"):
                continue
            if key not in FLAGS:
                self._say(
                    "VC0106", f"{where}.{key}", f"unknown flag '{key}' has no effect{_near(str(key), FLAGS)}"
                )
            elif not isinstance(value, bool):
                self._say("VC0102", f"{where}.{key}", f"must be true or false, not {_kind(value)}")
            else:
                flags[key] = value
        arguments = entry.get("arguments") or {}
        if not isinstance(arguments, dict):
            self._say("VC0102", f"{where}.arguments", f"must be a mapping, not {_kind(arguments)}")
            arguments = {}
        if self.known_plugins is not None and name not in self.known_plugins:
            self._say(
                "VC0107", f"{where}.name", f"unknown plugin '{name}'{did_you_mean(name, self.known_plugins)}"
            )
            return None
        return PluginConfig(name, flags, {str(key): value for key, value in arguments.items()})

    def _configurations(self, value: object) -> dict[str, Mapping[str, JsonValue]]:
        out: dict[str, Mapping[str, JsonValue]] = {}
        for position, entry in enumerate(self._list(value, "configurations")):
            where = f"configurations[{position}]"
            arguments = entry.get("arguments") or {} if isinstance(entry, dict) else None
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(arguments, dict) or not isinstance(name, str):
                self._say(
                    "VC0102", where, "must be a mapping with the `name` of an action and its `arguments`"
                )
                continue
            out.setdefault(name, {str(key): item for key, item in arguments.items()})
        return out

    def _metrics(self, value: object) -> dict[str, str]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._say("VC0102", "metrics", f"must be a mapping of strings, not {_kind(value)}")
            return {}
        return {str(key): _scalar(item) for key, item in value.items()}

    def _list(self, value: object, where: str) -> list[object]:
        if value is None:
            return []
        if not isinstance(value, list):
            self._say("VC0102", where, f"must be a list, not {_kind(value)}")
            return []
        return value


def _near(name: str, known: Iterable[str]) -> str:
    """A suggestion for a flag, without the long list of all flags when nothing is near."""
    hint = did_you_mean(name, known)
    return hint if "did you mean" in hint else ""


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: object) -> str:
    """What a user would call a YAML value."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else "a mapping"
