"""With every plugin and action of Volcano's on, the order of rows, pools and scorers changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import cast

import pytest

from tests.oracle.comparison import NOW, policy_of
from tests.oracle.random_clusters import random_cluster
from tests.properties.permutation import shuffled
from tests.properties.test_pools import by_turns, read
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.config.language import VOLCANO_ACTIONS, VOLCANO_PLUGINS
from vcray.core.decisions import Decisions
from vcray.core.pools import LocalScorers, Pools
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.timing import Timing
from vcray.core.usage import NodeLoad, UsageTable

COUNT = int(os.environ.get("VCRAY_EVERY_PLUGIN_COUNT", "40"))
CROWDED = ("preempting", "reclaiming", "family", "branches")
"""Themes of random clusters that are full of pods of unlike worth."""
HOUR = 3600.0

ARGUMENTS: dict[str, JsonObject] = {
    "resource-strategy-fit": {
        "resources": {"nvidia.com/*": {"type": "MostAllocated", "weight": 2}, "cpu": {"weight": 1}},
        "sra": {"enable": True, "weight": 3, "resources": "nvidia.com/gpu"},
        "proportional": {
            "enable": True,
            "resources": "nvidia.com/gpu",
            "resourceProportion": {"nvidia.com/gpu.cpu": 1, "nvidia.com/gpu.memory": 1},
        },
    },
    "sla": {"sla-waiting-time": "10m"},
    "tdm": {"tdm.revocable-zone.day": "00:00-23:59", "tdm.revocable-zone.never": "nonsense"},
    "usage": {"thresholds": {"cpu": 90, "mem": 95}, "estimator": {"risk_threshold": 0.5, "burst_ratio": 0.3}},
    "rescheduling": {
        "strategies": [
            {
                "name": "lowNodeUtilization",
                "params": {
                    "thresholds": {"cpu": 30, "memory": 60},
                    "targetThresholds": {"cpu": 60, "memory": 80},
                },
            }
        ]
    },
    "nodegroup": {"strict": False},
    "deviceshare": {"deviceshare.VGPUEnable": True, "deviceshare.ScheduleWeight": 2},
}


def everything(rng: Random) -> JsonObject:
    """All actions, and all plugins in three tiers by chance; one share plugin decides, the other stands beside it."""
    tiers: list[list[JsonObject]] = [[], [], []]
    for name in VOLCANO_PLUGINS:
        entry: JsonObject = {"name": name}
        if name in ARGUMENTS:
            entry["arguments"] = ARGUMENTS[name]
        rng.choice(tiers).append(entry)
    for tier in tiers:
        rng.shuffle(tier)
    return {
        "actions": ", ".join(VOLCANO_ACTIONS),
        "tiers": [{"plugins": cast("list[object]", tier)} for tier in tiers],
    }


def noted(item: JsonObject, rng: Random) -> JsonObject:
    """An object of a random cluster with what some plugins read."""
    metadata = cast(JsonObject, item["metadata"])
    notes = cast(JsonObject, metadata.setdefault("annotations", {}))
    labels = cast(JsonObject, metadata.setdefault("labels", {}))
    if item["kind"] == "Node" and rng.random() < 0.15:
        labels[names.REVOCABLE_ZONE] = rng.choice(["day", "never", "other"])
    if item["kind"] == "Node" and rng.random() < 0.2:
        labels[names.NODEGROUP_NAME] = rng.choice(["g1", "g2"])
    if item["kind"] == "Pod":
        labels["crowd"] = rng.choice("ab")
        if rng.random() < 0.4:
            notes[names.PREEMPTABLE] = rng.choice(["true", "true", "false"])
        if rng.random() < 0.2:
            notes[names.COOLDOWN_TIME] = rng.choice(["1s", "1h"])
        if rng.random() < 0.2:
            notes[names.RESOURCE_STRATEGY_SCORING_TYPE] = "MostAllocated"
            notes[names.RESOURCE_STRATEGY_WEIGHT] = '{"cpu": 2, "memory": 1}'
    if item["kind"] == "PodGroup":
        if rng.random() < 0.3:
            notes[names.SLA_WAITING_TIME] = rng.choice(["1s", "1000h"])
        if rng.random() < 0.3:
            notes[names.JDB_MAX_UNAVAILABLE] = rng.choice(["1", "50%"])
    return item


def budgets(rng: Random) -> Iterator[JsonObject]:
    """PodDisruptionBudgets over half of the pods each."""
    for crowd in "ab":
        if rng.random() < 0.6:
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": crowd, "namespace": "default", "uid": f"pdb-{crowd}"},
                "spec": {"selector": {"matchLabels": {"crowd": crowd}}},
                "status": {"disruptionsAllowed": rng.randint(0, 3)},
            }


def surrounded(snapshot: Snapshot, number: int) -> Snapshot:
    """With measured loads, and a start so long ago that periodic work is due."""
    rng = Random(number)
    loads = [
        NodeLoad(name, rng.uniform(0, 100), rng.uniform(0, 100), NOW - rng.choice([1.0, 1.0, 400.0]))
        for name in sorted(snapshot.nodes.names)
        if rng.random() < 0.8
    ]
    details = replace(snapshot.details, usage=UsageTable(tuple(loads)))
    return replace(snapshot, details=details, timing=Timing(started=NOW - HOUR))


@cache
def numbers() -> tuple[int, ...]:
    """Half of them crowded clusters."""
    plain, crowded = [], []
    number = 3_000_000
    while min(len(plain), len(crowded)) < COUNT // 2:
        kind = crowded if random_cluster(number).theme in CROWDED else plain
        kind.append(number)
        number += 1
    return tuple(one for pair in zip(plain, crowded, strict=False) for one in pair)[:COUNT]


@cache
def cluster_of(number: int) -> tuple[tuple[JsonObject, ...], JsonObject, int]:
    """Objects, configuration and seed."""
    made, rng = random_cluster(number), Random(number)
    objects = [noted(cast(JsonObject, item), rng) for item in made.objects]
    return (*objects, *budgets(rng)), everything(rng), made.seed


@cache
def round_of(number: int) -> tuple[Snapshot, Decisions]:
    objects, conf, seed = cluster_of(number)
    snapshot = surrounded(snapshot_of(objects, NOW, seed), number)
    return snapshot, decide(snapshot, policy_of(conf))


def test_every_plugin_and_action_is_configured_and_something_happens() -> None:
    bound = evicted = 0
    for number in numbers():
        policy = policy_of(cluster_of(number)[1])
        assert {recipe.plugin.name for tier in policy.tiers for recipe in tier} == set(VOLCANO_PLUGINS)
        assert {action.name for action in policy.actions} == set(VOLCANO_ACTIONS)
        _, decisions = round_of(number)
        bound += len(decisions.commits)
        evicted += len(decisions.evictions)
    assert bound > COUNT // 2
    assert evicted > COUNT // 10


def test_the_order_of_rows_changes_nothing() -> None:
    for number in numbers():
        given, decisions = round_of(number)
        mixed = decide(shuffled(given, Random(number)), policy_of(cluster_of(number)[1]))
        assert (mixed, mixed.wakes_at, mixed.ran) == (decisions, decisions.wakes_at, decisions.ran), number


@pytest.mark.parametrize("pools", [2, 7])
def test_cache_shards_and_the_order_of_objects_change_nothing(pools: int) -> None:
    for number in numbers()[: COUNT // 2]:
        objects, conf, seed = cluster_of(number)
        mixed = list(objects)
        Random(number).shuffle(mixed)
        pooled = ClusterCache(pools=pools)
        pooled.apply(Event("ADDED", str(item["kind"]), item) for item in mixed)
        found = decide(surrounded(pooled.snapshot(NOW, seed), number), policy_of(conf))
        assert replace(found, generation=0) == replace(round_of(number)[1], generation=0), number


@pytest.mark.parametrize("scorers", [2, 7])
def test_the_number_of_scorers_changes_nothing(scorers: int) -> None:
    for number in numbers():
        given, decisions = round_of(number)
        assert decide(given, policy_of(cluster_of(number)[1]), scorers=scorers) == decisions, number


def test_pools_of_nodes_in_other_processes_change_nothing() -> None:
    for number in numbers()[: COUNT // 2]:
        given, decisions = round_of(number)
        conf = cluster_of(number)[1]
        pools = Pools(LocalScorers(3, read), json.dumps(conf), by_turns(3))
        assert decide(given, policy_of(conf), pools=pools) == decisions, number


def test_a_round_can_be_repeated() -> None:
    for number in numbers():
        given, decisions = round_of(number)
        assert repr(decide(given, policy_of(cluster_of(number)[1]))) == repr(decisions), number


def test_disruption_budgets_hold_whoever_evicts() -> None:
    for number in numbers():
        objects = cluster_of(number)[0]
        labels = {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["metadata"].get("labels", {})
            for item in objects
            if item["kind"] == "Pod"
        }
        gone = [
            labels[evict.task] for evict in round_of(number)[1].evictions if evict.task.startswith("default/")
        ]
        for item in objects:
            if item["kind"] == "PodDisruptionBudget":
                taken = sum(each.get("crowd") == item["metadata"]["name"] for each in gone)
                assert taken <= item["status"]["disruptionsAllowed"], number
