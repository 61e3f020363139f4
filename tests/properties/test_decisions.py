"""What must hold of every round, whatever the cluster: told from the objects and the decisions alone."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from random import Random
from typing import cast

import pytest

from tests.oracle import facts
from tests.oracle.comparison import NOW, policy_of
from tests.oracle.random_clusters import RandomCluster, random_cluster
from tests.properties.permutation import shuffled
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.core.decisions import Decisions
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot

FIRST, COUNT = 1_000_000, 200
"""Other clusters than those that the oracle is asked about."""


def snapshot(cluster: RandomCluster) -> Snapshot:
    return snapshot_of(cast("list[JsonObject]", cluster.objects), NOW, cluster.seed)


@cache
def round_of(number: int) -> tuple[RandomCluster, Snapshot, Decisions]:
    """A cluster, its snapshot and what is decided; made once, since several properties look at it."""
    cluster = random_cluster(number)
    given = snapshot(cluster)
    return cluster, given, decide(given, policy_of(cluster.conf))


def rounds(count: int = COUNT) -> Iterator[tuple[RandomCluster, Decisions]]:
    for number in range(FIRST, FIRST + count):
        cluster, _, decisions = round_of(number)
        yield cluster, decisions


def names_plugin(cluster: RandomCluster, name: str, flag: str = "") -> bool:
    listed = [plugin for tier in cluster.conf["tiers"] for plugin in tier["plugins"]]
    return any(plugin["name"] == name and plugin.get(flag, True) for plugin in listed)


def test_no_node_is_given_more_than_it_has() -> None:
    for cluster, decisions in rounds():
        world = facts.read_cluster(deepcopy(cluster.objects))
        pods = {f"{p.namespace}/{p.name}": p for job in world.jobs.values() for p in job.pods}
        before = {name: node.idle() for name, node in world.nodes.items()}
        given: dict[str, set[str]] = {}
        for commit in decisions.commits:
            for bind in commit.binds:
                pod = pods[bind.task]
                pod.status = "Binding"
                world.nodes[bind.node].pods.append(pod)
                if not pod.best_effort:
                    given.setdefault(bind.node, set()).update({"cpu", "memory", *pod.request})
        for name, resources in given.items():
            idle = world.nodes[name].idle()
            # a best-effort pod may take a slot that only the predicates plugin guards
            short = {r for r in resources if idle.get(r, 0) < 0} - {"pods"}
            assert not short, (cluster.number, name, idle, before[name])


def test_no_pod_is_bound_twice_or_bound_though_it_has_a_node() -> None:
    for cluster, decisions in rounds():
        waiting = {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}"
            for item in cluster.objects
            if item["kind"] == "Pod" and not item["spec"].get("nodeName")
        }
        binds = Counter(bind.task for commit in decisions.commits for bind in commit.binds)
        assert set(binds) <= waiting, cluster.number
        assert all(count == 1 for count in binds.values()), cluster.number


def test_a_gang_is_bound_whole_and_no_commit_leaves_it_below_its_minimum() -> None:
    for cluster, decisions in rounds():
        if not names_plugin(cluster, "gang", "enableJobReady"):
            continue
        world = facts.read_cluster(deepcopy(cluster.objects))
        for commit in decisions.commits:
            job = world.jobs[commit.job]
            started = job.count(*facts.BEING_PLACED, "Succeeded") >= job.min_available
            assert commit.whole != started, (cluster.number, commit)
            bound = {bind.task for bind in commit.binds}
            for pod in job.pods:
                if f"{pod.namespace}/{pod.name}" in bound:
                    pod.status = "Binding"
            assert missing(job) == [], (cluster.number, commit)


def missing(job: facts.Job) -> list[str]:
    """What the job lacks to run: members in all, members of a role. Best-effort members may follow later."""
    ready = [
        pod
        for pod in job.pods
        if pod.status in {*facts.BEING_PLACED, "Succeeded"} or (pod.status == "Pending" and pod.best_effort)
    ]
    lacking = [] if len(ready) >= job.min_available else [f"{len(ready)} of {job.min_available}"]
    if job.min_available >= sum(job.role_minimum.values()):
        have = Counter(pod.role for pod in ready)
        lacking += [f"role {role}" for role, least in job.role_minimum.items() if have[role] < least]
    return lacking


def test_no_queue_goes_over_its_capability() -> None:
    for cluster, decisions in rounds():
        if not names_plugin(cluster, "proportion", "enabledAllocatable"):
            continue
        world = facts.read_cluster(deepcopy(cluster.objects))
        pods = {f"{p.namespace}/{p.name}": (p, job) for job in world.jobs.values() for p in job.pods}
        grown: dict[str, set[str]] = {}
        for commit in decisions.commits:
            for bind in commit.binds:
                pod, job = pods[bind.task]
                pod.status = "Binding"
                grown.setdefault(job.queue, set()).update(r for r, v in pod.request.items() if v)
        for name, resources in grown.items():
            queue = world.queues[name]
            # past the webhook a guarantee may be above the capability; then it wins
            limits = {r: max(v, queue.guarantee.get(r, 0)) for r, v in queue.capability.items()}
            jobs = [job for job in world.jobs.values() if job.queue == name]
            held = facts.total_of(job.allocated() for job in jobs)
            over = {r for r in resources - {"pods"} if r in limits and held[r] > limits[r]}
            assert not over, (cluster.number, name, held, limits)


def test_the_order_of_rows_changes_nothing() -> None:
    for number in range(FIRST, FIRST + COUNT):
        cluster, given, decisions = round_of(number)
        mixed = decide(shuffled(given, Random(number)), policy_of(cluster.conf))
        assert mixed == decisions, number


@pytest.mark.parametrize("pools", [2, 7])
def test_the_number_of_pools_and_the_order_of_objects_change_nothing(pools: int) -> None:
    for number in range(FIRST, FIRST + COUNT // 2):
        cluster, _, decisions = round_of(number)
        objects = list(cluster.objects)
        Random(number).shuffle(objects)
        pooled = ClusterCache(pools=pools)
        pooled.apply(Event("ADDED", item["kind"], item) for item in objects)
        expected = replace(decisions, generation=0)
        found = decide(pooled.snapshot(NOW, cluster.seed), policy_of(cluster.conf))
        assert replace(found, generation=0) == expected, number


def test_a_round_leaves_its_snapshot_as_it_was_and_can_be_repeated() -> None:
    for number in range(FIRST, FIRST + COUNT):
        cluster, given, decisions = round_of(number)
        before = pickle.dumps(given)
        again = decide(given, policy_of(cluster.conf))
        assert pickle.dumps(given) == before, number
        assert repr(again) == repr(decisions), number


def digest() -> str:
    """All decisions of some rounds as one number, printed by a process of its own."""
    made = [decisions for _, decisions in rounds(40)]
    return hashlib.sha256(repr(made).encode()).hexdigest()


def test_another_process_with_another_hash_seed_decides_the_same() -> None:
    code = "from tests.properties.test_decisions import digest; print(digest())"
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]


def test_one_two_three_and_seven_scorers_decide_the_same() -> None:
    for number in range(FIRST, FIRST + COUNT):
        cluster, given, decisions = round_of(number)
        for scorers in (2, 3, 7):
            assert decide(given, policy_of(cluster.conf), scorers=scorers) == decisions, (
                cluster.number,
                scorers,
            )
