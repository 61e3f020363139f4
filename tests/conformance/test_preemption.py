"""Preemption on a server: what a claimant is told, and that it gets the room that was made for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from vcray.app import SCHEDULER
from vcray.sim.configurations import CONFIGURATIONS


@pytest.fixture(scope="module")
def preempting(volcano_cluster: ControlPlane) -> Iterator[Hosted]:
    """The scheduler with the action preempt."""
    with Hosted(volcano_cluster.kubeconfig, SCHEDULER, conf=CONFIGURATIONS["KP"]) as made:
        yield made
        assert made.failures() == {}


@pytest.fixture
def arena(volcano_cluster: ControlPlane, preempting: Hosted) -> Iterator[Arena]:
    made = Arena(volcano_cluster)
    yield made
    made.clean()


def test_a_claimant_is_told_its_node_at_once_and_gets_it(arena: Arena) -> None:
    """It has waited for less than a second when its victim is evicted; later rounds do not name the node again."""
    node = arena.node("n1", cpu=4)
    arena.group("low", 1)
    for index in range(2):
        arena.pod(f"low-{index}", "low", 2)
    arena.wait_bound(2)
    arena.play("Running")
    priority = f"{arena.namespace}-high"
    arena.client.create(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": priority},
            "value": 1000,
        },
    )
    arena.group("high", 1, priorityClassName=priority)
    arena.pod("high-0", "high", 2, priorityClassName=priority)
    high = f"{arena.core}/pods/high-0"

    wait_until(lambda: arena.client.get(high)["status"].get("nominatedNodeName") == node, "a nominated node")
    arena.wait(lambda: arena.bound().get("high-0") == node, "high-0 on its node")
    assert len(arena.bound()) == 2  # one victim was enough
