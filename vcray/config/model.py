"""What a `volcano-scheduler.conf` says, typed and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from vcray.config.language import OFF_BY_DEFAULT
from vcray.errors import Problem


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """One plugin of a tier. `flags`: only those that the file sets; `place`: where the entry stands, `tiers[0].plugins[2]`."""

    name: str
    flags: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    place: str = field(default="", compare=False)

    def enabled(self, flag: str) -> bool:
        """The flag, or its default when the file is silent."""
        return self.flags.get(flag, flag not in OFF_BY_DEFAULT)


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """A configuration that holds. `problems`: what was skipped, for `vcray check` and events; `warnings`: what is read, but
    hardly as it was meant."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginConfig, ...], ...] = ()
    configurations: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def action_arguments(self, action: str) -> Mapping[str, JsonValue]:
        """Arguments of an action; the first entry of that name counts."""
        return self.configurations.get(action, {})

    def plugins(self, name: str) -> tuple[PluginConfig, ...]:
        """All entries of that name, in order."""
        return tuple(entry for tier in self.tiers for entry in tier if entry.name == name)
