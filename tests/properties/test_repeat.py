"""A round after one that moved nothing says what a round decided in full says, to the last byte and figure."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict

from tests.oracle.comparison import NOW, policy_of
from tests.oracle.configurations import ALL
from tests.oracle.facts import Object
from tests.oracle.random_clusters import random_cluster
from tests.oracle.randomness import RandomCluster
from tests.properties.test_decisions import FIRST
from tests.properties.test_every_plugin import everything
from tests.properties.test_rounds import Living
from vcray.api.podresources import resource_list
from vcray.cache.cluster import ClusterCache
from vcray.config.language import VOLCANO_PLUGINS
from vcray.core.carry import Carry
from vcray.core.decisions import Decisions
from vcray.core.meter import Meter
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import PHASE_NAMES, GroupStatus
from vcray.registry import discover

CLUSTERS, ROUNDS = 60, 14
STEADY = {name for name in VOLCANO_PLUGINS if discover().load("vcray.plugins", name).steady}  # type: ignore[attr-defined]


class Watched(Living):
    """A living cluster whose pods start in their own time, and into which others write too."""

    def carry_out(self, decisions: Decisions) -> None:
        """Bind, and write most of what is to be written."""
        rng = self.cluster.rng
        for commit in decisions.commits:
            for bind in commit.binds:
                pod = self._change("Pod", bind.task)
                pod["spec"]["nodeName"] = bind.node
                bound = {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-01-01T01:29:00Z",
                }
                pod["status"] = {"phase": "Pending", "conditions": [bound]}
        for update in decisions.groups:
            if rng.random() < 0.9:
                self._change("PodGroup", update.job)["status"] = as_written(update.status)
        for queue in decisions.queues:
            if rng.random() < 0.9:
                self._change("Queue", f"/{queue.queue}").setdefault("status", {})["allocated"] = (
                    resource_list(dict(queue.allocated))
                )

    def happen(self, row: int) -> None:
        """Pods start; now and then somebody writes a status, or something of weight happens."""
        rng = self.cluster.rng
        if rng.random() < 0.15:
            super().happen(row)
        for item in list(self.objects.values()):
            status = item.get("status") or {}
            if item["kind"] == "Pod" and item["spec"].get("nodeName"):
                if status.get("phase") == "Pending" and rng.random() < 0.5:
                    self.change(item)["status"].update(phase="Running", startTime="2026-01-01T01:30:00Z")
            elif item["kind"] == "Queue" and rng.random() < 0.05:
                self.change(item).setdefault("status", {})["allocated"] = {"cpu": "5"}
            elif item["kind"] == "PodGroup" and rng.random() < 0.05:
                self.change(item)["metadata"].setdefault("annotations", {})["seen"] = str(row)
            elif item["kind"] == "PodGroup" and rng.random() < 0.05 and status.get("conditions"):
                self.change(item)["status"]["conditions"][0]["message"] = "somebody else"

    def _change(self, kind: str, key: str) -> Object:
        namespace, _, name = key.partition("/")
        return self.change(self.objects[kind, namespace, name])


def as_written(status: GroupStatus) -> Object:
    """A PodGroup's status as the API server gives it back."""
    names = {"transition": "transitionID", "since": "lastTransitionTime"}
    conditions = [{names.get(k, k): v for k, v in asdict(each).items()} for each in status.conditions]
    counts = {"running": status.running, "succeeded": status.succeeded, "failed": status.failed}
    return {"phase": PHASE_NAMES[status.phase], **counts, "conditions": conditions}


def configuration(cluster: RandomCluster, number: int) -> Object:
    """One that evicts nobody: the cluster's own, or every plugin that allows a round to be repeated."""
    if number % 2:
        return {**cluster.conf, "actions": ALL}
    conf = everything(cluster.rng)
    for tier in conf["tiers"]:  # type: ignore[union-attr]
        tier["plugins"] = [each for each in tier["plugins"] if each["name"] in STEADY]  # type: ignore
    return {**conf, "actions": ALL}


def figures(meter: Meter, snapshot: Snapshot) -> tuple[object, ...]:
    """What metrics show of queues, jobs and cards."""
    shares = None if meter.shares is None else meter.shares.tolist()
    return (
        meter.queues,
        dict(zip(snapshot.jobs.names, meter.short.tolist(), strict=True)),
        shares,
        meter.cards,
    )


def test_a_round_that_repeats_the_one_before_says_what_a_whole_one_says() -> None:
    counts: Counter[str] = Counter()
    for number in range(3 * FIRST, 3 * FIRST + CLUSTERS):
        living = Watched(random_cluster(number))
        policy = policy_of(configuration(living.cluster, number))
        cache, carry, now, shown = ClusterCache(), Carry(), float(NOW), None
        for row in range(ROUNDS):
            cache.apply(living.events)
            changed, living.events = len(living.events), []
            now += living.cluster.rng.choice([0.0, 1.0, 1.0, 400.0, -2.0])
            snapshot = cache.snapshot(now, living.cluster.seed)
            meters = Meter(time.perf_counter), Meter(time.perf_counter)
            kept = decide(snapshot, policy, carry, meter=meters[0])
            plain = decide(snapshot, policy, meter=meters[1])
            assert kept == plain, (number, row)
            assert kept.wakes_at == plain.wakes_at, (number, row)
            if not meters[0].repeats:
                shown = figures(meters[0], snapshot)
            assert shown == figures(meters[1], snapshot), (number, row)
            counts["repeated"] += meters[0].repeats
            counts["with changes"] += meters[0].repeats and changed > 0
            counts["closed anew"] += meters[0].repeats and bool(kept.groups)
            living.carry_out(plain)
            living.happen(row)
    assert min(counts.values()) > 30, counts
