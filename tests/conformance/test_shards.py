"""The sharding controller on real servers: nodes follow what pods ask for, shards follow the ConfigMap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from vcray.app import CONTROLLERS
from vcray.config.settings import Settings

SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
IDLE_AND_BUSY = """
shardSyncPeriod: 1s
schedulerConfigs:
  - {name: idle, policies: [{name: allocation-rate, arguments: {maxCPUUtil: 0.6}}]}
  - {name: busy, policies: [{name: allocation-rate, arguments: {minCPUUtil: 0.9, maxCPUUtil: 1.0}}]}
"""


@pytest.fixture
def arena(volcano_cluster: ControlPlane) -> Iterator[Arena]:
    """This test's namespace; its ConfigMap is the controller's. No shard is left behind."""
    made = Arena(volcano_cluster)
    settings = Settings(controllers=("sharding-controller",), sharding_configmap_namespace=made.namespace)
    with Hosted(volcano_cluster.kubeconfig, CONTROLLERS, settings=settings) as hosted:
        yield made
        assert hosted.failures() == {}
    for name in shards(made):
        made.client.delete(f"{SHARDS}/{name}")
    made.clean()


def shards(arena: Arena) -> dict[str, list[str]]:
    """Shard -> those of its nodes that are this test's."""
    return {
        each["metadata"]["name"]: sorted(
            node for node in each["spec"]["nodesDesired"] if node.startswith(arena.namespace)
        )
        for each in arena.client.get(SHARDS)["items"]
    }


def configure(arena: Arena, text: str) -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata = {"name": "volcano-sharding-configmap", "namespace": arena.namespace}
    arena.apply({**head, "metadata": metadata, "data": {"sharding.yaml": text}})


def test_shards_follow_use_and_configuration_and_leave_the_status_alone(arena: Arena) -> None:
    one, other = arena.node("a"), arena.node("b")
    configure(arena, IDLE_AND_BUSY)
    arena.wait(lambda: shards(arena) == {"idle": [one, other], "busy": []}, "the shards of the ConfigMap")

    arena.client.patch(f"{SHARDS}/idle/status", {"status": {"nodesInUse": [one, other]}})
    arena.pod("p", cpu=4, nodeName=other)
    arena.wait(lambda: shards(arena) == {"idle": [one], "busy": [other]}, "the busy node to move")

    assert arena.client.get(f"{SHARDS}/idle")["status"]["nodesInUse"] == [one, other]
    configure(arena, "schedulerConfigs: [{name: idle, cpuUtilizationMax: 1}]")
    arena.wait(lambda: shards(arena) == {"idle": [one, other]}, "the shard that nobody wants to go")
