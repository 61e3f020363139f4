"""How a round is decided: at once, or in a thread of its own while the node pools' processes score for it.

Below `fan_out_nodes` nodes the round is decided where the coordinator runs: a call to another process costs more than scoring.
When a scorer is lost in the middle, the round is decided once more without: both ways decide the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np

from vcray.api.names import NODE_POOL
from vcray.cache.shard import pool_of
from vcray.core.arrays import Int
from vcray.core.carry import Carry
from vcray.core.decisions import Decisions
from vcray.core.meter import Meter
from vcray.core.policy import Policy
from vcray.core.pools import Pools, Scorers, ScorersLost
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, NodeTable
from vcray.log import get_logger

log = get_logger("coordinator")


class Decider:
    """Decides rounds. `blocking`: asking the scorers waits for other processes, which a loop must not do;
    `fanned_out` hears of each round in which they are asked."""

    def __init__(
        self,
        scorers: int = 1,
        pools: Scorers | None = None,
        fan_out_nodes: int = 0,
        blocking: bool = False,
        fanned_out: Callable[[], None] = lambda: None,
    ) -> None:
        self._scorers = scorers
        self._pools = pools
        self._fan_out_nodes = fan_out_nodes
        self._blocking = blocking
        self._fanned_out = fanned_out
        self._owners = Owners(len(pools) if pools is not None else 1)

    async def decide(
        self, snapshot: Snapshot, policy: Policy, conf: str, carry: Carry, meter: Meter | None = None
    ) -> Decisions:
        """One round; `conf` is the text of the policy."""
        if self._pools is None or len(snapshot.nodes) < self._fan_out_nodes:
            return await self._alone(snapshot, policy, carry, meter)
        self._fanned_out()
        pools = Pools(self._pools, conf, self._owners)
        try:
            if not (self._blocking or policy.calls_out):
                return decide(snapshot, policy, carry, pools=pools, meter=meter)
            return await asyncio.to_thread(decide, snapshot, policy, carry, pools=pools, meter=meter)
        except ScorersLost as lost:
            log.warning("scored without the pools", why=str(lost))
            return await self._alone(snapshot, policy, carry, meter)

    async def alone(self, snapshot: Snapshot, policy: Policy) -> Decisions:
        """What a round would decide, without anything that is kept from round to round."""
        return await self._alone(snapshot, policy, None, None)

    async def _alone(
        self, snapshot: Snapshot, policy: Policy, carry: Carry | None, meter: Meter | None
    ) -> Decisions:
        """Without pools; in a thread where answers from outside are waited for."""
        if policy.calls_out:
            return await asyncio.to_thread(decide, snapshot, policy, carry, self._scorers, meter=meter)
        return decide(snapshot, policy, carry, self._scorers, meter=meter)


class Owners:
    """The pool of each node row, as the cache has it; worked out again only when nodes or labels change."""

    def __init__(self, pools: int) -> None:
        self._pools = pools
        self._basis: tuple[object, object] | None = None
        self._owner: Int = np.zeros(0, np.int64)

    def __call__(self, nodes: NodeTable) -> Int:
        basis = (nodes.names, nodes.labels)
        if self._basis is None or any(a is not b for a, b in zip(basis, self._basis, strict=True)):
            self._owner = np.array(
                [
                    pool_of(name, label, self._pools)
                    for name, label in zip(nodes.names, _labels(nodes), strict=True)
                ],
                np.int64,
            )
            self._basis = basis
        return self._owner


def _labels(nodes: NodeTable) -> list[str]:
    """Each node's value of the node-pool label, empty for none."""
    row = nodes.labels.keys.get(NODE_POOL)
    if row is None:
        return [""] * len(nodes)
    values = nodes.labels.values[row]
    return ["" if value == MISSING else values[value] for value in nodes.labels.column[row].tolist()]
