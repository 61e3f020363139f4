"""Finds extensions by walking packages and entry points: one new file adds a plugin or an action, no list to edit.

The module's name is the name in the configuration, with - for _. A module holds exactly one public extension class; modules
that start with an underscore are private helpers. Third parties use the entry-point groups `vcray.plugins` and
`vcray.actions`; a name that is taken is an error. Only what a configuration names is imported.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

from vcray.config.language import unknown_name
from vcray.errors import ConfigError, Problem

PLUGINS = "vcray.plugins"
ACTIONS = "vcray.actions"
BASES = {PLUGINS: ("vcray.core.plugin", "Plugin"), ACTIONS: ("vcray.core.action", "Action")}
"""Package, which is also the entry-point group -> module and name of the base class. Named, not imported: this module
is below the kernel."""


@dataclass(frozen=True, slots=True)
class Extension:
    """Where an extension was found: `module`, and `attribute` when an entry point names the class."""

    name: str
    module: str
    attribute: str = ""
    distribution: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """All extensions by group and name, found once."""

    groups: Mapping[str, Mapping[str, Extension]] = field(default_factory=dict)

    def names(self, group: str) -> tuple[str, ...]:
        """Known names of a group, sorted."""
        return tuple(sorted(self.groups.get(group, {})))

    def load(self, group: str, name: str) -> type:
        """Import an extension's class. ConfigError when it is unknown or its module is not well formed."""
        found = self.groups.get(group, {}).get(name)
        if found is None:
            code, kind = ("VC0107", "plugin") if group == PLUGINS else ("VC0105", "action")
            raise ConfigError(Problem(code, "", unknown_name(kind, name, self.names(group))))
        module = importlib.import_module(found.module)
        base = _base(group)
        if found.attribute:
            chosen = getattr(module, found.attribute, None)
            classes = [chosen] if isinstance(chosen, type) and issubclass(chosen, base) else []
        else:
            classes = [
                value
                for attribute, value in vars(module).items()
                if inspect.isclass(value)
                and not attribute.startswith("_")
                and value.__module__ == module.__name__
                and issubclass(value, base)
            ]
        if len(classes) != 1:
            what = f"must hold exactly one public {base.__name__} class, holds {len(classes)}"
            raise ConfigError(Problem("VC0110", found.module, what))
        return classes[0]


def _base(group: str) -> type:
    module, name = BASES[group]
    base: type = getattr(importlib.import_module(module), name)
    return base


def discover(found: Iterable[EntryPoint] | None = None) -> Registry:
    """Walk the built-in packages, then the entry points (`found` in place of the installed ones, for tests)."""
    groups: dict[str, dict[str, Extension]] = {group: _built_in(group) for group in BASES}
    points = list(found) if found is not None else [p for g in BASES for p in entry_points(group=g)]
    for point in sorted(points, key=lambda p: (p.group, p.name, p.value)):
        if point.group not in groups:
            continue
        taken = groups[point.group].get(point.name)
        if taken is not None:
            what = f"'{point.name}' is offered by {point.value} and by {taken.module}; rename one of them"
            raise ConfigError(Problem("VC0110", point.group, what))
        distribution = point.dist.name if point.dist is not None else ""
        groups[point.group][point.name] = Extension(point.name, point.module, point.attr, distribution)
    return Registry(groups)


def _built_in(group: str) -> dict[str, Extension]:
    package = importlib.import_module(group)
    return {
        module.name.replace("_", "-"): Extension(module.name.replace("_", "-"), f"{group}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_") and module.name != "base"
    }
