"""A configuration with the plugin classes that it came to: what rules about configurations ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vcray.config.scheduler import PluginConfig, SchedulerConfig
from vcray.core.combine import COMBINE
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy

SHARES = ("proportion", "capacity")
CLAIMING = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
RECLAIMING = ("reclaim", "gangreclaim")


@dataclass(frozen=True, slots=True)
class Entry:
    """One plugin of the file: its tier, its class, its arguments as they are in force."""

    name: str
    tier: int
    plugin: type[Plugin[Args]]
    args: Args
    config: PluginConfig

    @property
    def place(self) -> str:
        """Where it stands in the file."""
        return self.config.place

    def number(self, key: str) -> float:
        """An argument by its key in the file, 0 when the plugin has none of that name."""
        for name, field in type(self.args).model_fields.items():
            if (field.alias or name) == key:
                value = getattr(self.args, name)
                return value if isinstance(value, int | float) else 0
        return 0

    def offers(self, hook: str) -> bool:
        """Has the plugin this hook, and is it switched on?"""
        flags = flags_of(hook)
        on = not flags or any(self.config.enabled(flag) for flag in flags)
        return on and callable(getattr(self.plugin, hook, None))


class Configured:
    """The whole file."""

    def __init__(self, config: SchedulerConfig, policy: Policy) -> None:
        self.config = config
        self.actions = config.actions
        self.entries = tuple(
            Entry(recipe.plugin.name, number, recipe.plugin, recipe.args, recipe.config)
            for number, tier in enumerate(policy.tiers)
            for recipe in tier
        )

    def place_of(self, action: str) -> str:
        """Where an action stands in the file."""
        return f"actions[{self.actions.index(action)}]"

    def configured(self, *actions: str) -> list[str]:
        """Those of the actions that the file names."""
        return [action for action in actions if action in self.actions]

    def first(self, *names: str) -> Entry | None:
        """The first plugin of one of these names."""
        return next((entry for entry in self.entries if entry.name in names), None)

    def offering(self, hook: str) -> list[Entry]:
        """Plugins whose hook is asked, in order."""
        return [entry for entry in self.entries if entry.offers(hook)]


def flags_of(hook: str) -> list[str]:
    """Flags that switch a hook; any of them is enough."""
    return [word for word in COMBINE[hook][0].split() if word.startswith("enable")]


def hooks_of(flag: str) -> Iterator[str]:
    """Hooks that a flag switches."""
    return (hook for hook in COMBINE if flag in flags_of(hook))
