"""Finds extensions by walking packages, entry points and a user's folder: one new file adds a plugin or an action, no list to
edit.

The module's name is the name in the configuration, with - for _. A module holds exactly one public extension class; modules
that start with an underscore are private helpers. Third parties use the entry-point groups `vcray.plugins` and
`vcray.actions`, or a folder of files; a name that is taken is an error. Only what a configuration names is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from vcray.config import userfiles
from vcray.config.language import unknown_name
from vcray.errors import ConfigError, Problem

PLUGINS = "vcray.plugins"
ACTIONS = "vcray.actions"
INTEGRATIONS = "vcray.integrations"
BASES = {
    PLUGINS: ("vcray.core.plugin", "Plugin"),
    ACTIONS: ("vcray.core.action", "Action"),
    INTEGRATIONS: ("vcray.integrations.base", "Integration"),
}
"""Package, which is also the entry-point group -> module and name of the base class. Named, not imported: this module
is below the kernel."""
_UNKNOWN = {
    PLUGINS: ("VC0107", "plugin"),
    ACTIONS: ("VC0105", "action"),
    INTEGRATIONS: ("VC0502", "integration"),
}
"""Group -> the code of an unknown name, and what such a name is of."""


@dataclass(frozen=True, slots=True)
class Extension:
    """Where an extension was found: `module`, and `attribute` when an entry point names the class; or a file of a user's."""

    name: str
    module: str
    attribute: str = ""
    distribution: str = ""
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """All extensions by group and name. `folder`: where a user's own are; `stamp` changes with what is in it."""

    groups: Mapping[str, Mapping[str, Extension]] = field(default_factory=dict)
    folder: Path | None = None
    stamp: str = ""

    def names(self, group: str) -> tuple[str, ...]:
        """Known names of a group, sorted."""
        return tuple(sorted(self.groups.get(group, {})))

    def load(self, group: str, name: str) -> type:
        """Import an extension's class. ConfigError when it is unknown or its module is not well formed."""
        found = self.groups.get(group, {}).get(name)
        if found is None:
            code, kind = _UNKNOWN[group]
            what = unknown_name(kind, name, self.names(group))
            if self.folder is not None and (self.folder / f"{name}.so").exists():
                what = f"{name}.so is a plugin for Volcano, compiled from Go; write it in Python as {name}.py"
            raise ConfigError(Problem(code, "", what))
        if found.path is not None:
            return _named(class_of(userfiles.load(found.path), group, str(found.path)), name)
        module = importlib.import_module(found.module)
        if not found.attribute:
            return class_of(module, group)
        chosen = getattr(module, found.attribute, None)
        if isinstance(chosen, type) and issubclass(chosen, base_of(group)):
            return chosen
        what = f"'{found.attribute}' is no {base_of(group).__name__} class"
        raise ConfigError(Problem("VC0110", found.module, what))

    def offered(self, group: str) -> tuple[str, ...]:
        """Names of a group without those of a user's files that hold something else, or cannot be imported."""
        found = self.groups.get(group, {})
        return tuple(name for name in sorted(found) if found[name].path is None or self._holds(group, name))

    def _holds(self, group: str, name: str) -> bool:
        try:
            self.load(group, name)
        except ConfigError:
            return False
        return True

    def taken(self, path: Path) -> Problem | None:
        """What is wrong with the name of a user's file: another extension bears it already (VC0110)."""
        name = userfiles.name_of(path)
        for group in self.groups.values():
            found = group.get(name)
            if found is not None and not _stands_in(found.module, path):
                what = f"'{name}' is the name of {found.module} already; rename the file"
                return Problem("VC0110", str(path), what)
        return None

    def refreshed(self) -> Registry:
        """As it is found now: the user's folder may have changed. ConfigError as `discover`."""
        return self if self.folder is None else _with_folder(self.built_in().groups, self.folder)

    def built_in(self) -> Registry:
        """Without what is in a user's folder."""
        groups = {
            group: {name: each for name, each in found.items() if each.path is None}
            for group, found in self.groups.items()
        }
        return Registry(groups)


def base_of(group: str) -> type:
    """The base class of a group's extensions."""
    module, name = BASES[group]
    base: type = getattr(importlib.import_module(module), name)
    return base


def class_of(module: ModuleType, group: str, where: str = "") -> type:
    """The one public extension class of a module. ConfigError VC0110 when there is not exactly one."""
    base = base_of(group)
    classes = [
        value
        for attribute, value in vars(module).items()
        if inspect.isclass(value)
        and not attribute.startswith("_")
        and (value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."))
        and issubclass(value, base)
    ]
    if len(classes) != 1:
        what = f"must hold exactly one public {base.__name__} class, holds {len(classes)}"
        raise ConfigError(Problem("VC0110", where or module.__name__, what))
    return classes[0]


def _named(extension: type, name: str) -> type:
    """A class of a package may stand in any of its modules: it goes by the name of the package."""
    extension.name = name  # type: ignore[attr-defined]
    return extension


def discover(found: Iterable[EntryPoint] | None = None, folder: Path | None = None) -> Registry:
    """Walk the built-in packages, then the entry points (`found` in place of the installed ones, for tests), then a user's
    folder. ConfigError when a name is taken, or the folder cannot be read."""
    groups: dict[str, dict[str, Extension]] = {group: _built_in(group) for group in BASES}
    points = list(found) if found is not None else _installed()
    for point in sorted(points, key=lambda p: (p.group, p.name, p.value)):
        if point.group not in groups:
            continue
        taken = groups[point.group].get(point.name)
        if taken is not None:
            what = f"'{point.name}' is offered by {point.value} and by {taken.module}; rename one of them"
            raise ConfigError(Problem("VC0110", point.group, what))
        distribution = point.dist.name if point.dist is not None else ""
        groups[point.group][point.name] = Extension(point.name, point.module, point.attr, distribution)
    return Registry(groups) if folder is None else _with_folder(groups, folder)


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """The entry points of what is installed; looking them up reads all of it."""
    return tuple(point for group in BASES for point in entry_points(group=group))


def _with_folder(groups: Mapping[str, Mapping[str, Extension]], folder: Path) -> Registry:
    """With a user's files: whether one holds a plugin or an action shows when it is imported, so it is in both groups."""
    files = userfiles.found_in(folder)
    others = Registry(groups)
    if problems := [taken for path in files.values() if (taken := others.taken(path)) is not None]:
        raise ConfigError(problems)
    own = {name: Extension(name, userfiles.PREFIX + path.stem, path=path) for name, path in files.items()}
    return Registry(
        {group: {**found, **own} for group, found in groups.items()}, folder, userfiles.digest(folder)
    )


def _stands_in(module: str, path: Path) -> bool:
    """Is this file, or package's folder, where the module is?"""
    spec = importlib.util.find_spec(module)
    places = (path.resolve(), path.resolve() / "__init__.py")
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() in places


def _built_in(group: str) -> dict[str, Extension]:
    """A module, or a package, is an extension; of integrations, each module of a family's package is."""
    folders = [group]
    if group == INTEGRATIONS:
        package = importlib.import_module(group)
        folders = [f"{group}.{each.name}" for each in pkgutil.iter_modules(package.__path__) if each.ispkg]
    found = {}
    for folder in folders:
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
            if not module.name.startswith("_") and module.name != "base":
                name = module.name.replace("_", "-")
                found[name] = Extension(name, f"{folder}.{module.name}")
    return found
