"""Where a round is decided: here, or by the pools' scorers; losing a scorer costs time, never a decision."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracle.comparison import policy_of
from tests.properties.test_decisions import FIRST, round_of
from vcray.actors.policies import policy_from
from vcray.actors.scoring import Decider, Owners
from vcray.cache.cluster import snapshot_of
from vcray.cache.shard import pool_of
from vcray.core.carry import Carry
from vcray.core.pools import LocalScorers, ScorersLost
from vcray.registry import discover
from vcray.sim import shorthand


class Failing(LocalScorers):
    """Scorers of which one dies with the second question."""

    def __init__(self) -> None:
        super().__init__(2, lambda text: policy_from(text, discover()))
        self.asked = 0

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        self.asked += 1
        if self.asked == 2:
            raise ScorersLost("cache-1 died")
        return super().ask(requests)


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_round_that_loses_a_scorer_decides_the_same(blocking: bool) -> None:
    lost = 0
    for number in range(FIRST, FIRST + 10):
        cluster, snapshot, decisions = round_of(number)
        scorers, policy = Failing(), policy_of(cluster.conf)
        text = str(cluster.conf)
        found = await Decider(1, scorers, 0, blocking).decide(snapshot, policy, text, Carry())
        assert found == decisions, number
        lost += scorers.asked == 2
    assert lost


async def test_below_the_threshold_nobody_is_asked() -> None:
    cluster, snapshot, decisions = round_of(FIRST)
    asked: list[bool] = []
    decider = Decider(1, Failing(), len(snapshot.nodes) + 1, fanned_out=lambda: asked.append(True))

    assert await decider.decide(snapshot, policy_of(cluster.conf), str(cluster.conf), Carry()) == decisions
    assert not asked


def test_rows_belong_to_the_pool_that_the_cache_puts_their_nodes_in() -> None:
    nodes = [shorthand.node(f"n{index}", "4c", f"n{index}") for index in range(6)]
    for index in (1, 4):
        metadata = nodes[index]["metadata"]
        assert isinstance(metadata, dict)
        metadata["labels"] = {"vcray.io/node-pool": "gpu"}
    table = snapshot_of(nodes).nodes

    owners = Owners(3)(table)

    wanted = {f"n{index}": pool_of(f"n{index}", "gpu" if index in (1, 4) else "", 3) for index in range(6)}
    assert dict(zip(table.names, owners.tolist(), strict=True)) == wanted
