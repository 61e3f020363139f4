"""What the network costs, by Python calls: they depend on the tree and the gang, not on the cluster's size."""

from __future__ import annotations

import pytest

from tests.bench.calls import calls_during
from vcray.bench.allocate import prepared
from vcray.bench.topology import LOADS, run_topology, topology_policy
from vcray.core.session import open_session, run

CALLS_A_POD = {"normal": 60, "hard": 60, "soft": 90, "groups": 200}
"""Ceilings for gangs of 32 with 20 shapes on 1,000 nodes."""


def calls_a_pod(load: str, nodes: int, pods: int) -> float:
    """Python calls a pod of one round, opening left out."""
    opened = open_session(LOADS[load](prepared(nodes, pods, 32, 20), 32), topology_policy(load != "off"))
    calls, decisions = calls_during(lambda: run(opened))
    placed = sum(len(commit.binds) for commit in decisions.commits)
    return calls / placed


@pytest.mark.parametrize("load", sorted(CALLS_A_POD))
def test_a_pod_costs_few_calls_with_the_network(load: str) -> None:
    cost = calls_a_pod(load, 1000, 1280)
    assert cost < CALLS_A_POD[load], f"{cost:.1f} calls a pod"


@pytest.mark.parametrize("load", ["normal", "hard"])
def test_calls_do_not_grow_with_the_network(load: str) -> None:
    small, large = calls_a_pod(load, 500, 960), calls_a_pod(load, 4000, 960)
    assert large < 1.6 * small, f"{small:.0f} calls a pod with 500 nodes, {large:.0f} with 4000"


def test_every_load_places_what_fits_and_nothing_else() -> None:
    placed = {result.load: result.placed for result in run_topology(200, 320, 32, 5, tuple(LOADS))}
    assert placed == {"off": 320, "normal": 320, "hard": 320, "soft": 320, "groups": 320, "stuck": 0}


def test_a_load_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown load 'fast'"):
        run_topology(10, 10, 2, 1, ("fast",))
