"""Promises of HyperNodes and nodes within one session."""

from __future__ import annotations

import pytest

from tests.core.world import Job, Node, Pod, snapshot
from tests.plugins.test_network_topology_aware import table
from vcray.actions.allocate import Allocate
from vcray.core.details import Details
from vcray.core.policy import policy_of
from vcray.core.session import open_session
from vcray.core.tables import Closeness, Status
from vcray.plugins.gang import Gang
from vcray.plugins.network_topology_aware import NetworkTopologyAware

NODES = [Node("n1", 4), Node("n2", 4), Node("n3", 4), Node("n4", 4)]
RACKS = {"r1": (1, ["n1", "n2"]), "r2": (1, ["n3", "n4"])}


@pytest.mark.parametrize("free", [True, False])
def test_a_promised_hypernode_is_taken_node_by_node_as_promised_or_not_at_all(free: bool) -> None:
    """Rack 2 is promised, rack 1 is the fuller one."""
    held = [Pod("r", cpu=1, status=Status.RUNNING, node="n1")]
    held += [] if free else [Pod("s", cpu=2, status=Status.RUNNING, node="n3")]
    pods = [Pod("a", cpu=3, nominated="n4"), Pod("b", cpu=3, nominated="n3")]
    jobs = [Job("old", held, least=0), Job("j", pods, closeness=Closeness(soft=False, tier=1))]
    world = snapshot(NODES, jobs, details=Details(hypernodes=table(RACKS)))
    session = open_session(world, policy_of([], [[(Gang, {}), (NetworkTopologyAware, {})]]))
    (sub,) = session.view.subjobs.of_job[1].subjobs
    sub.nominated = session.view.hypernodes.row["r2"]

    Allocate({}).run(session)

    names = world.nodes.names
    placed = {name: names[session.ledger.node[world.tasks.names.index(f"ns/{name}")]] for name in "ab"}
    if free:
        assert placed == {"a": "n4", "b": "n3"}
    else:
        assert set(placed.values()) == {"n1", "n2"}
