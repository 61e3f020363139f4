"""A simulated node on the server under test, played by `vcray nodes`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.process import Child
from tests.conformance.workloads.playground import NODE, Playground


@pytest.fixture(scope="session")
def played_cluster(cluster: Server) -> Iterator[Server]:
    """`cluster` with one node whose pods run."""
    command = [sys.executable, "-m", "vcray.cli.main", "nodes", "--kubeconfig", str(cluster.kubeconfig)]
    command += ["--count", "1", "--prefix", "play", "--start-seconds", "0.05", "--lease-seconds", "0"]
    child = Child([*command, "--pods", "1000"], cluster.folder / "nodes.log")
    try:
        wait_until(lambda: cluster.client.exists(f"/api/v1/nodes/{NODE}"), "the simulated node")
        yield cluster
        child.require_running()
    finally:
        child.stop()


@pytest.fixture
def play(played_cluster: Server) -> Iterator[Playground]:
    """A namespace of its own, deleted afterwards without waiting."""
    made = Playground(played_cluster, played_cluster.create_namespace("play"))
    yield made
    path = f"/api/v1/namespaces/{made.namespace}"
    if played_cluster.client.exists(path):
        played_cluster.client.delete(path)
