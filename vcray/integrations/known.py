"""The integrations there are: ours, those of installed packages and of a user's folder, as the registry finds them."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.integrations.base import Integration
from vcray.registry import INTEGRATIONS, Registry, discover


def made(registry: Registry, names: Iterable[str]) -> tuple[Integration, ...]:
    """Integrations of these names. ConfigError when one is unknown, or its module is not well formed."""
    return tuple(registry.load(INTEGRATIONS, name)() for name in names)


def built_in() -> tuple[Integration, ...]:
    """All of ours, by name."""
    registry = discover().built_in()
    return made(registry, registry.names(INTEGRATIONS))
