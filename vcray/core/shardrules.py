"""The modes of node sharding, as a plugin that stands before all others of a policy.

In mode `hard` no node outside the scheduler's shard takes a pod; in mode `soft` a node of the shard is better than any
other, idle before idle and future before future.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal, TypeAlias, cast

import numpy as np

from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Bool, BoolLike, FloatLike, where
from vcray.core.hooks import Reject
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, Recipe
from vcray.core.view import Rows, Shape, View

Mode: TypeAlias = Literal["none", "soft", "hard"]

REASON: Final = "node isn't in scheduler node shard"
"""What a node outside says in mode hard."""

PREFERENCE: Final = 2.0**19
"""More points than all scores of a node together."""


class ShardArgs(Args):
    """`shard`: whose nodes; `hard`: only those."""

    shard: str = ""
    hard: bool = False


class ShardRules(Plugin[ShardArgs]):
    """The mode as part of a policy."""

    args_model = ShardArgs

    def open(self, view: View) -> None:
        """Which nodes are in the shard."""
        table, names = view.snapshot.details.shards, view.snapshot.nodes.names
        usable = frozenset[str]() if table is None else table.usable(self.args.shard)
        self.inside_: Bool = np.fromiter((name in usable for name in names), np.bool_, len(names))

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Mode hard: only nodes of the shard."""
        return rows.take(self.inside_) != 0 if self.args.hard else None

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Nodes outside."""
        if self.args.hard:
            yield Reject(~self.inside_, REASON, False)

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """Mode soft: nodes of the shard before all others."""
        return None if self.args.hard else where(rows.take(self.inside_) != 0, PREFERENCE, 0.0)


def with_shard(policy: Policy, name: str, mode: Mode) -> Policy:
    """The policy, bound to the shard of that name."""
    if mode == "none":
        return policy
    plugin = cast(type[Plugin[Args]], ShardRules)
    rules = Recipe(plugin, ShardArgs(shard=name, hard=mode == "hard"), PluginConfig(ShardRules.name))
    return replace(policy, tiers=((rules,), *policy.tiers))
