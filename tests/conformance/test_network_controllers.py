"""HyperNodes that labels tell of, and memory rules of pods, on both servers: their schemas, status and patches are the servers' own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from vcray.app import CONTROLLERS
from vcray.config.settings import Settings

Object = dict[str, Any]
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
CONF = """
networkTopologyDiscovery:
- source: label
  enabled: true
  config:
    networkTopologyTypes: {%s: [{nodeLabel: test/zone}, {nodeLabel: test/rack}, {nodeLabel: kubernetes.io/hostname}]}
"""


@pytest.fixture
def arena(volcano_cluster: ControlPlane) -> Iterator[Arena]:
    """This test's namespace and nodes, with controllers that read the ConfigMap `topology` there."""
    made = Arena(volcano_cluster)
    settings = Settings(controller_configmap=f"{made.namespace}/topology")
    with Hosted(volcano_cluster.kubeconfig, CONTROLLERS, settings=settings) as hosted:
        yield made
        assert hosted.failures() == {}
    for each in made.client.get(HYPERNODES)["items"]:
        made.client.delete(f"{HYPERNODES}/{each['metadata']['name']}")
    made.clean()


def test_labelled_nodes_become_hypernodes_that_are_counted(arena: Arena) -> None:
    def found() -> dict[tuple[int, str], tuple[int, list[str]]]:
        out = {}
        for each in arena.client.get(HYPERNODES)["items"]:
            spec, labels = each["spec"], each["metadata"]["labels"]
            members = [member["selector"]["exactMatch"]["name"] for member in spec["members"]]
            key = spec["tier"], labels[spec["tierName"]]
            out[key] = (each.get("status", {}).get("nodeCount", 0), members)
        return out

    nodes = [arena.node(name) for name in ("n1", "n2")]
    for node in nodes:
        arena.client.patch(
            f"/api/v1/nodes/{node}", {"metadata": {"labels": {"test/zone": "z", "test/rack": "r"}}}
        )
    conf = {"volcano-controller.conf": CONF % arena.namespace[:20]}
    arena.client.create(f"{arena.core}/configmaps", {"metadata": {"name": "topology"}, "data": conf})
    arena.wait(lambda: found().get((1, "r")) == (2, nodes), "the rack with both nodes")
    arena.wait(lambda: found().get((2, "z"), (0, []))[0] == 1, "the zone with the rack")

    arena.client.patch(f"/api/v1/nodes/{nodes[1]}", {"metadata": {"labels": {"test/rack": None}}})

    arena.wait(lambda: found().get((1, "r")) == (1, nodes[:1]), "the rack with one node")


def test_pods_bear_the_rules_of_the_configuration_that_selects_them(arena: Arena) -> None:
    path = f"/apis/config.volcano.sh/v1alpha1/namespaces/{arena.namespace}/colocationconfigurations"

    def notes() -> dict[str, str]:
        (pod,) = arena.pods()
        every: dict[str, str] = pod["metadata"].get("annotations", {})
        return {key: text for key, text in every.items() if key.startswith("volcano.sh/colocation")}

    arena.pod("p")
    rules = {"selector": {}, "memoryQos": {"lowRatio": 20}}
    configuration = {
        "apiVersion": "config.volcano.sh/v1alpha1",
        "kind": "ColocationConfiguration",
        "metadata": {"name": "c"},
        "spec": rules,
    }
    arena.client.create(path, configuration)
    wanted = {
        "volcano.sh/colocation-config-name": "c",
        "volcano.sh/colocation-config": '{"memoryQos":{"highRatio":100,"lowRatio":20}}',
    }
    arena.wait(lambda: notes() == wanted, "the rules")

    arena.client.delete(f"{path}/c")

    arena.wait(lambda: notes() == {"volcano.sh/colocation-config": "{}"}, "the rules to be taken back")
