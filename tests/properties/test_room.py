"""Whoever asks what has room changes nothing: with and without questions the same bytes are decided, round after round."""

from __future__ import annotations

import pytest

from tests.builders import pod
from tests.oracle.comparison import NOW, policy_of
from tests.oracle.random_clusters import random_cluster
from tests.properties.test_decisions import FIRST
from tests.properties.test_rounds import Living
from vcray.actors.room import RoomDesk
from vcray.actors.scoring import Decider
from vcray.api.wire import to_pod
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.supposed import Wanted
from vcray.core.carry import Carry
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot

CLUSTERS, ROUNDS = 12, 4

CHOOSY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def questions(snapshot: Snapshot) -> list[list[Wanted]]:
    """Pods of gangs that exist: plain ones; ones with a new label, task, selector, port and resource."""
    found = []
    for job in sorted(snapshot.jobs.names)[:3]:
        namespace, _, group = job.partition("/")
        plain = pod("a", namespace=namespace, group=group, cpu=1, priority=5)
        strange = pod(
            "b",
            namespace=namespace,
            group=group,
            role="strange",
            resources={"cpu": 1, "example.com/unheard": 1},
            labels={"app": "web"},
            ports=[8080],
            spec={"affinity": CHOOSY},
        )
        found.append([Wanted(to_pod(plain), 3), Wanted(to_pod(strange), 4, 2, "unit")])
    return found


def same(snapshot: Snapshot) -> Snapshot:
    return snapshot


@pytest.mark.parametrize("pools", [1, 3])
async def test_questions_for_room_change_no_decision(pools: int) -> None:
    answers = set()
    for number in range(4 * FIRST, 4 * FIRST + CLUSTERS):
        living = Living(random_cluster(number))
        quiet, asked = ClusterCache(pools=pools), ClusterCache(pools=pools)
        carries, policy, seed = (Carry(), Carry()), policy_of(living.cluster.conf), living.cluster.seed
        desk = RoomDesk(asked.merge, Decider(), same, seed)
        for row in range(ROUNDS):
            for cache in (quiet, asked):
                cache.apply(living.events)
            living.events = []
            before = canonical(asked.merge.supposing((), NOW, seed))
            for wanted in questions(asked.merge.supposing((), NOW, seed)):
                answers.update(await desk.answer(wanted, policy, NOW))
            given = [cache.snapshot(NOW, seed) for cache in (quiet, asked)]
            assert canonical(given[1]) == canonical(given[0]) == before, (number, row)
            kept, after = (decide(each, policy, carry) for each, carry in zip(given, carries, strict=True))
            assert repr(after) == repr(kept), (number, row)
            living.carry_out(kept)
            living.happen(row)
    assert {0, 1, 2, 3} <= answers
