"""Round after round: what caches keep between rounds, and how many scorers share the work, never shows.

A living cluster: bindings become running pods, pods end or are deleted, nodes change, jobs arrive. After every step the
incremental cache with kept class masks decides as a fresh snapshot does, and as the oracle does from the objects.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import cast

import pytest

from tests.oracle import scheduler
from tests.oracle.comparison import NOW, outcome_of, policy_of
from tests.oracle.facts import Object
from tests.oracle.random_clusters import add_job, random_cluster
from tests.oracle.randomness import RandomCluster
from tests.properties.test_decisions import COUNT, FIRST, round_of
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.core.carry import Carry
from vcray.core.decisions import Decisions
from vcray.core.session import decide
from vcray.core.tables import PHASE_NAMES

CLUSTERS, ROUNDS = 20, 5


class Living:
    """The objects of a cluster, and the events that tell a cache of their changes."""

    def __init__(self, cluster: RandomCluster) -> None:
        self.cluster = cluster
        self.objects = {self.key(item): item for item in cluster.objects}
        self.events = [Event("ADDED", item["kind"], item) for item in cluster.objects]
        self.version = len(cluster.objects) + 1000

    @staticmethod
    def key(item: Object) -> tuple[str, str, str]:
        meta = item["metadata"]
        return item["kind"], meta.get("namespace", ""), meta["name"]

    def change(self, item: Object) -> Object:
        """A copy to edit, already announced under a new resourceVersion."""
        changed = deepcopy(item)
        self.version += 1
        changed["metadata"]["resourceVersion"] = str(self.version)
        self.objects[self.key(item)] = changed
        self.events.append(Event("MODIFIED", item["kind"], changed))
        return changed

    def delete(self, item: Object) -> None:
        self.version += 1
        last = deepcopy(item)
        last["metadata"]["resourceVersion"] = str(self.version)
        del self.objects[self.key(item)]
        self.events.append(Event("DELETED", item["kind"], last))

    def carry_out(self, decisions: Decisions) -> None:
        for commit in decisions.commits:
            for bind in commit.binds:
                namespace, _, name = bind.task.partition("/")
                pod = self.change(self.objects["Pod", namespace, name])
                pod["spec"]["nodeName"] = bind.node
                pod["status"] = {"phase": "Running" if self.cluster.rng.random() < 0.8 else "Pending"}
        for update in decisions.groups:
            namespace, _, name = update.job.partition("/")
            group = self.change(self.objects["PodGroup", namespace, name])
            group["status"] = {"phase": PHASE_NAMES[update.status.phase]}

    def happen(self, row: int) -> None:
        """A few things of the world outside."""
        rng = self.cluster.rng
        for item in list(self.objects.values()):
            roll = rng.random()
            if item["kind"] == "Pod":
                self._pod(item, roll)
            elif item["kind"] == "Node" and roll < 0.12:
                node = self.change(item)
                rng.choice([_cordon, _taint, _relabel])(node, rng)
        if rng.random() < 0.5:
            known = len(self.cluster.objects)
            add_job(self.cluster, 100 + row)
            for item in self.cluster.objects[known:]:
                self.version += 1
                item["metadata"]["resourceVersion"] = str(self.version)
                self.objects[self.key(item)] = item
                self.events.append(Event("ADDED", item["kind"], item))

    def _pod(self, pod: Object, roll: float) -> None:
        on_node = bool(pod["spec"].get("nodeName"))
        if "deletionTimestamp" in pod["metadata"]:
            if roll < 0.5:
                self.delete(pod)
        elif roll < 0.06 and on_node:
            self.change(pod)["status"]["phase"] = self.cluster.rng.choice(["Succeeded", "Failed"])
        elif roll < 0.12:
            self.change(pod)["metadata"]["deletionTimestamp"] = "2026-01-01T02:00:00Z"
        elif roll < 0.15:
            self.delete(pod)
        elif roll < 0.2:
            self.change(pod)["metadata"]["labels"]["app"] = "web"


def _cordon(node: Object, rng: Random) -> None:
    node["spec"]["unschedulable"] = not node["spec"].get("unschedulable", False)


def _taint(node: Object, rng: Random) -> None:
    node["spec"]["taints"] = [
        {"key": "team", "value": "x", "effect": rng.choice(["NoSchedule", "NoExecute"])}
    ]


def _relabel(node: Object, rng: Random) -> None:
    node["metadata"]["labels"]["disk"] = rng.choice(["ssd", "hdd"])


@pytest.mark.parametrize("pools", [1, 3])
def test_kept_caches_decide_as_fresh_ones_and_as_the_oracle(pools: int) -> None:
    for number in range(2 * FIRST, 2 * FIRST + CLUSTERS):
        living = Living(random_cluster(number))
        cache, carry, policy = ClusterCache(pools=pools), Carry(), policy_of(living.cluster.conf)
        for row in range(ROUNDS):
            cache.apply(living.events)
            living.events = []
            objects, seed = list(living.objects.values()), living.cluster.seed
            kept = decide(cache.snapshot(NOW, seed), policy, carry)
            fresh = snapshot_of(cast("list[JsonObject]", objects), NOW, seed)
            plain = decide(fresh, policy)
            assert replace(kept, generation=0, groups=()) == replace(plain, generation=0, groups=()), (
                number,
                row,
            )
            outcome = outcome_of(kept, fresh, objects)
            assert outcome == scheduler.decide(objects, living.cluster.conf, seed), (number, row)
            living.carry_out(kept)
            living.happen(row)


@pytest.mark.parametrize("scorers", [2, 7])
def test_the_number_of_scorers_changes_nothing(scorers: int) -> None:
    for number in range(FIRST, FIRST + COUNT):
        cluster, given, decisions = round_of(number)
        assert decide(given, policy_of(cluster.conf), scorers=scorers) == decisions, number
