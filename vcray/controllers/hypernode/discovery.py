"""What a source of topology is: something that can be asked, again and again, which HyperNodes there are."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers.base import Change, Effect, Outcome, Seen


class DiscoveryError(Exception):
    """A source has no answer; what it found before stays. The text says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A HyperNode that a source found. `members` are names of nodes in tier 1, of HyperNodes above it."""

    name: str
    tier: int
    members: frozenset[str]
    tier_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def spec(self) -> JsonObject:
        """Its spec, the same for the same members."""
        kind = "Node" if self.tier == 1 else "HyperNode"
        spec: JsonObject = {
            "tier": self.tier,
            "members": [
                {"type": kind, "selector": {"exactMatch": {"name": name}}} for name in sorted(self.members)
            ],
        }
        return {**spec, "tierName": self.tier_name} if self.tier_name else spec

    def marks(self, source: str) -> dict[str, str]:
        """Its labels, with that of its source."""
        return {**self.labels, names.NETWORK_TOPOLOGY_SOURCE: source}


Discovery: TypeAlias = Generator[Effect, Outcome, tuple[Found, ...]]
"""One look at a source: what has to be read for it, and at the end all that there is."""


class Discoverer(Protocol):
    """One source, as configured. `interval_s`: seconds between two looks; 0: it is looked at when `wakes` says so."""

    @property
    def interval_s(self) -> float: ...

    def wakes(self, change: Change) -> bool:
        """May this change of a node or a HyperNode lead to other HyperNodes?"""
        ...

    def discover(self, seen: Seen) -> Discovery:
        """All HyperNodes of this source, each name once. Raises DiscoveryError."""
        ...
