"""Which runtimes, layouts, pools, scorers and numbers of Ray nodes are tried: every pair of values that can meet, meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vcray.actors.deployment import Layout
from vcray.config.settings import Settings

NUMBER = 3_000_001
"""The random cluster whose history is replayed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way to run the actors. In layout huge there are as many scorers as pools."""

    runtime: Literal["local", "ray"]
    layout: Layout
    pools: int
    scorers: int
    nodes: int = 1

    @property
    def name(self) -> str:
        return f"{self.runtime}-{self.layout}-{self.pools}p-{self.scorers}s-{self.nodes}n"

    def settings(self) -> Settings:
        """Every round of layout huge fans out, however few nodes there are."""
        return Settings(layout=self.layout, pools=self.pools, scorers=self.scorers, fan_out_nodes=0)


CASES = (
    Case("local", "small", 1, 1),
    Case("local", "small", 2, 2),
    Case("local", "small", 7, 4),
    Case("local", "standard", 1, 4),
    Case("local", "standard", 2, 1),
    Case("local", "standard", 7, 2),
    Case("local", "huge", 1, 1),
    Case("local", "huge", 2, 2),
    Case("local", "huge", 7, 7),
    Case("ray", "small", 1, 2, 1),
    Case("ray", "small", 2, 4, 2),
    Case("ray", "small", 7, 1, 2),
    Case("ray", "standard", 1, 1, 2),
    Case("ray", "standard", 2, 2, 1),
    Case("ray", "standard", 7, 4, 1),
    Case("ray", "standard", 2, 2, 2),
    Case("ray", "huge", 1, 1, 1),
    Case("ray", "huge", 2, 2, 2),
    Case("ray", "huge", 7, 7, 2),
)
