"""Walks a `volcano-scheduler.conf` and collects what is wrong with it instead of stopping at the first.

As tolerant as Volcano's own reader (yaml.v2, not strict): unknown keys, plugins without a name and flags without a value pass,
of equal keys the last counts, of several documents the first. Each of these is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml
from pydantic import JsonValue

from vcray.config.document import Document, parse
from vcray.config.language import FLAGS, METRICS_KEYS, unknown_name
from vcray.config.model import PluginConfig, SchedulerConfig
from vcray.config.nested import unknown_key
from vcray.errors import Problem, did_you_mean


class Reader:
    """One reading. `problems`: what is wrong; `warnings`: what is read, but hardly as it was meant."""

    def __init__(self, actions: frozenset[str] | None, plugins: frozenset[str] | None) -> None:
        self.known_actions = actions
        self.known_plugins = plugins
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def read(self, text: str) -> SchedulerConfig | None:
        """The configuration as far as it could be read; None when there is none."""
        document = self._document(text)
        if document is None:
            return None
        self._keys(document, ("actions", "tiers", "configurations", "metrics"), "")
        actions = self._actions(document.get("actions"))
        tiers = self._tiers(document.get("tiers"))
        configurations = self._configurations(document.get("configurations"))
        metrics = self._metrics(document.get("metrics"))
        return SchedulerConfig(
            actions, tiers, configurations, metrics, tuple(self.problems), tuple(self.warnings)
        )

    def _document(self, text: str) -> Document | None:
        try:
            document, faults = parse(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            self._say("VC0101", where, f"not YAML: {getattr(error, 'problem', None) or error}")
            return None
        self.warnings += [Problem("VC0112", where, what) for where, what in faults]
        if document is None:
            self._say(
                "VC0103", "", "the file is empty; name at least one action, such as `actions: allocate`"
            )
            return None
        if not isinstance(document, dict):
            self._say("VC0102", "", f"must be a mapping with `actions` and `tiers`, not {_kind(document)}")
            return None
        return document

    def _say(self, code: str, where: str, what: str) -> None:
        self.problems.append(Problem(code, where, what))

    def _keys(self, table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in known:
                self._say("VC0111", f"{where}{key}", unknown_key(key, known))

    # ---- actions ----

    def _actions(self, value: object) -> tuple[str, ...]:
        if value is None or value == "":
            what = 'no action is named; write for example `actions: "enqueue, allocate, backfill"`'
            self._say("VC0103", "actions", what)
            return ()
        if isinstance(value, dict | list):
            what = f"must be a string of names with commas between, not {_kind(value)}"
            self._say("VC0102", "actions", what)
            return ()
        names = tuple(name.strip() for name in _scalar(value).split(","))
        for position, name in enumerate(names):
            where = f"actions[{position}]"
            if not name:
                self._say("VC0105", where, "an action name is empty; is there a comma too many?")
            elif self.known_actions is not None and name not in self.known_actions:
                self._say("VC0105", where, unknown_name("action", name, self.known_actions))
        return names

    # ---- tiers ----

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
        self._repeated([plugin for tier in tiers for plugin in tier])
        return tuple(tiers)

    def _plugin(self, entry: object, where: str) -> PluginConfig | None:
        if entry is not None and not isinstance(entry, dict):
            self._say("VC0102", where, f"must be a mapping with `name`, not {_kind(entry)}")
            return None
        table: Document = entry or {}
        name = table.get("name")
        if isinstance(name, dict | list):
            self._say("VC0102", f"{where}.name", f"must be a string, not {_kind(name)}")
            return None
        flags = self._flags(table, where)
        arguments = table.get("arguments") or {}
        if not isinstance(arguments, dict):
            self._say("VC0102", f"{where}.arguments", f"must be a mapping, not {_kind(arguments)}")
            arguments = {}
        if name is None or name == "":
            self._say("VC0107", where, "a plugin without a name has no effect; name it")
            return None
        name = _scalar(name)
        if self.known_plugins is not None and name not in self.known_plugins:
            self._say("VC0107", where, unknown_name("plugin", name, self.known_plugins))
            return None
        for flag in sorted(FLAGS.intersection(arguments)):
            what = "a flag has no effect among the arguments; write it beside `name`"
            self._say("VC0106", f"{where}.arguments.{flag}", what)
        given = {key: value for key, value in arguments.items() if key not in FLAGS}
        return PluginConfig(name, flags, given, where)

    def _flags(self, entry: Document, where: str) -> dict[str, bool]:
        flags: dict[str, bool] = {}
        for key, value in entry.items():
            place = f"{where}.{key}"
            if key in _NO_FLAGS:
                continue
            if key not in FLAGS:
                near = _near(key, {*FLAGS, *_NO_FLAGS})
                self._say("VC0106", place, f"unknown flag '{key}' has no effect{near}")
            elif value is None:
                self._say("VC0106", place, "has no value; the default is kept")
            elif not isinstance(value, bool):
                self._say("VC0102", place, f"must be true or false, not {_kind(value)}")
            else:
                flags[key] = value
        return flags

    def _repeated(self, plugins: Iterable[PluginConfig]) -> None:
        first: dict[str, PluginConfig] = {}
        for plugin in plugins:
            before = first.setdefault(plugin.name, plugin)
            if before is not plugin:
                what = (
                    f"plugin '{plugin.name}' stands at {before.place} too: it is asked twice, both times with the "
                    "arguments given here; name it once"
                )
                self.warnings.append(Problem("VC0112", plugin.place, what))

    # ---- the other sections ----

    def _configurations(self, value: object) -> dict[str, Mapping[str, JsonValue]]:
        out: dict[str, Mapping[str, JsonValue]] = {}
        for position, entry in enumerate(self._list(value, "configurations")):
            where = f"configurations[{position}]"
            table = {} if entry is None else entry
            arguments = (table.get("arguments") or {}) if isinstance(table, dict) else None
            name = table.get("name") if isinstance(table, dict) else None
            if not (isinstance(table, dict) and isinstance(arguments, dict)) or isinstance(name, dict | list):
                self._say(
                    "VC0102", where, "must be a mapping with the `name` of an action and its `arguments`"
                )
                continue
            self._keys(table, ("name", "arguments"), f"{where}.")
            if name is None or name == "":
                self._say("VC0111", where, "an entry without the name of an action has no effect; name it")
                continue
            name = _scalar(name)
            if name in out:
                what = f"action '{name}' has arguments above already; these have no effect"
                self.warnings.append(Problem("VC0112", where, what))
            out.setdefault(name, dict(arguments))
        return out

    def _metrics(self, value: object) -> dict[str, str]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._say("VC0102", "metrics", f"must be a mapping of strings, not {_kind(value)}")
            return {}
        for key, item in value.items():
            if isinstance(item, dict | list):
                self._say(
                    "VC0102", f"metrics.{key}", f"must be a string, not {_kind(item)}{_dotted(key, item)}"
                )
        plain = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        self._keys(plain, METRICS_KEYS, "metrics.")
        return {key: _scalar(item) for key, item in value.items() if item is not None}

    def _list(self, value: object, where: str) -> list[JsonValue]:
        if value is None:
            return []
        if not isinstance(value, list):
            self._say("VC0102", where, f"must be a list, not {_kind(value)}")
            return []
        return value


_NO_FLAGS = ("name", "arguments")
"""What else the entry of a plugin holds."""


def _near(name: str, known: Iterable[str]) -> str:
    """A suggestion for a flag, without the long list of all flags when nothing is near."""
    hint = did_you_mean(name, known)
    if "did you mean" in hint:
        return hint
    return "; does it belong under `arguments`?" if "." in name or "-" in name else ""


def _dotted(key: str, value: object) -> str:
    """How a map below `metrics` is written as keys with dots, where it can be."""
    inner = value if isinstance(value, dict) else ()
    known = [f"`{key}.{name}: ...`" for name in inner if f"{key}.{name}" in METRICS_KEYS]
    return f"; write {' and '.join(known)}" if known else ""


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
