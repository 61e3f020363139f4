"""HyperNodes that labels of nodes tell of (`controller_runtime` of Volcano's suite `hypernode`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.harness.base import wait_until
from tests.e2e.release.cluster import NAMESPACE, RELEASE, Release

RACK = "example.com/rack"
SOURCE = "volcano.sh/network-topology-source"
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
CONFIGURATION = f"""
networkTopologyDiscovery:
- source: label
  enabled: true
  config:
    networkTopologyTypes:
      racks: [{{nodeLabel: {RACK}}}, {{nodeLabel: kubernetes.io/hostname}}]
"""


def racks(release: Release) -> dict[str, tuple[list[str], int, int]]:
    """Rack -> its nodes, its tier and how many nodes its HyperNode counts, of those that labels told of."""
    found = {}
    for each in release.client.get(HYPERNODES)["items"]:
        labels = each["metadata"].get("labels") or {}
        if labels.get(SOURCE) == "label":
            members = [member["selector"]["exactMatch"]["name"] for member in each["spec"]["members"]]
            count = (each.get("status") or {}).get("nodeCount", 0)
            found[labels[RACK]] = (sorted(members), each["spec"]["tier"], count)
    return found


def put(release: Release, node: str, rack: str | None) -> None:
    """Label a node with its rack, or take the label off."""
    release.client.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {RACK: rack}}})


@pytest.fixture
def discovered(release: Release) -> Iterator[list[str]]:
    """Two nodes in a cluster that looks at labels of racks; afterwards nothing is discovered any more."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    name = f"{RELEASE}-controller-configmap"
    body = {"metadata": {"name": name}, "data": {"volcano-controller.conf": CONFIGURATION}}
    release.client.create(path, body)
    nodes = release.nodes()[:2]
    yield nodes
    for node in nodes:
        put(release, node, None)
    try:
        wait_until(lambda: not racks(release), "the HyperNodes to go")
    finally:
        release.client.delete(f"{path}/{name}")


def test_labels_of_nodes_make_move_and_remove_hypernodes(release: Release, discovered: list[str]) -> None:
    a, b = discovered

    put(release, a, "r1")
    put(release, b, "r1")
    wait_until(lambda: racks(release) == {"r1": ([a, b], 1, 2)}, "one rack of two")
    put(release, b, "r2")
    wait_until(lambda: racks(release) == {"r1": ([a], 1, 1), "r2": ([b], 1, 1)}, "two racks of one")
    put(release, a, None)
    put(release, b, None)
    wait_until(lambda: not racks(release), "no rack to be left")
