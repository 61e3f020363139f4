"""Which changes can help those who wait."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue, resource_claim
from vcray.api.meta import JsonObject
from vcray.cache.merge import Merge
from vcray.cache.news import News
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event


class Cluster:
    """Two nodes, of which the second is cordoned, a group that waits, and a pod of nobody's on the first node."""

    def __init__(self, *more: JsonObject) -> None:
        self.shard, self.merge, self.version = CacheShard(), Merge(), 0
        first = (queue("default"), node("n1", cpu=8), node("n2", cpu=8, unschedulable=True), podgroup("g"))
        self.see(*first, pod("wants", group="g", cpu=9), foreign("there", node="n1"), *more)

    def see(self, *objects: JsonObject, kind: str = "ADDED") -> News:
        events = []
        for each in objects:
            self.version += 1
            metadata = each["metadata"]
            assert isinstance(metadata, dict)
            stamped: JsonObject = {**each, "metadata": {**metadata, "resourceVersion": str(self.version)}}
            events.append(Event(kind, str(each["kind"]), stamped))
        return self.merge.apply(self.shard.apply(events))


def foreign(name: str, **facts: object) -> JsonObject:
    """A pod that another scheduler placed."""
    return pod(name, **{"scheduler": "default-scheduler", "cpu": 1, **facts})  # type: ignore[arg-type]


def test_others_pods_that_come_to_hold_room_help_nobody_now() -> None:
    cluster = Cluster()

    assert cluster.see(foreign("new", node="n1"), foreign("newer", node="n1")) is News.LATER
    assert cluster.see(foreign("waits")) is News.NOTHING
    assert cluster.see(foreign("waits", node="n1", phase="Pending"), kind="MODIFIED") is News.LATER
    assert cluster.see(foreign("waits", node="n1"), kind="MODIFIED") is News.LATER


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(foreign("there", node="n1", phase="Succeeded"), id="one that ends"),
        pytest.param(foreign("there", node="n1", deleting=True), id="one that is being deleted"),
        pytest.param(foreign("there", node="n1", cpu=0.5), id="one that shrinks"),
        pytest.param(foreign("there", node="n1", labels={"a": "b"}), id="one with other labels"),
        pytest.param(
            foreign("new", node="n2"), id="one on a node out of service: its room counts in the total"
        ),
        pytest.param(foreign("new", node="n9"), id="one on a node that is not known"),
        pytest.param(pod("mine", group="g", cpu=1, node="n1"), id="one of a group"),
        pytest.param(node("n3"), id="a node"),
        pytest.param(podgroup("h"), id="a group"),
    ],
)
def test_anything_else_may_help(change: JsonObject) -> None:
    assert Cluster().see(change, kind="MODIFIED") is News.NOW


def test_one_that_goes_may_help() -> None:
    assert Cluster().see(foreign("there", node="n1"), kind="DELETED") is News.NOW


def test_a_pod_that_somebody_asks_for_by_its_labels_may_help() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cluster = Cluster(pod("near", group="g", cpu=1, spec={"affinity": affinity}))

    assert cluster.see(foreign("db", node="n1", labels={"app": "db"})) is News.NOW
    assert cluster.see(foreign("web", node="n1", labels={"app": "web"})) is News.LATER


def test_a_pod_with_claims_may_help() -> None:
    cluster = Cluster(resource_claim("c"))
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}

    assert cluster.see(foreign("new", node="n1", spec=spec)) is News.NOW
