"""Scoring by pools in processes of their own decides the same: the same requests, packed, answered by local scorers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.oracle.comparison import NOW, policy_of
from tests.oracle.random_clusters import random_cluster
from tests.properties.test_decisions import FIRST, round_of
from tests.properties.test_rounds import ROUNDS, Living
from vcray.cache.cluster import ClusterCache
from vcray.core.arrays import Int
from vcray.core.carry import Carry
from vcray.core.policy import Policy
from vcray.core.pools import LocalScorers, Pools
from vcray.core.session import decide
from vcray.core.tables import NodeTable

CLUSTERS = 100


def by_turns(pools: int) -> Callable[[NodeTable], Int]:
    """Every pools-th node, so that neighbours are in different pools."""
    return lambda nodes: np.arange(len(nodes)) % pools


def read(text: str) -> Policy:
    return policy_of(json.loads(text))


class Counted(LocalScorers):
    """Local scorers that count the questions."""

    asked = 0

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        self.asked += 1
        return super().ask(requests)


@pytest.mark.parametrize("pools", [1, 2, 7])
def test_any_number_of_pools_decides_what_one_process_decides(pools: int) -> None:
    asked = 0
    for number in range(FIRST, FIRST + CLUSTERS):
        cluster, given, decisions = round_of(number)
        scorers, conf = Counted(pools, read), json.dumps(cluster.conf)
        found = decide(given, policy_of(cluster.conf), pools=Pools(scorers, conf, by_turns(pools)))
        assert found == decisions, number
        asked += scorers.asked
    assert asked > CLUSTERS


def test_what_a_scorer_keeps_between_rounds_never_shows() -> None:
    for number in range(2 * FIRST, 2 * FIRST + CLUSTERS // 5):
        living = Living(random_cluster(number))
        conf, policy = json.dumps(living.cluster.conf), policy_of(living.cluster.conf)
        cache, carry, scorers = ClusterCache(), Carry(), LocalScorers(3, read)
        pools = Pools(scorers, conf, by_turns(3))
        for row in range(ROUNDS):
            cache.apply(living.events)
            living.events = []
            snapshot = cache.snapshot(NOW, living.cluster.seed)
            plain = decide(snapshot, policy)
            assert decide(snapshot, policy, carry, pools=pools.opened()) == plain, (number, row)
            living.carry_out(plain)
            living.happen(row)
