"""Pods are charged what a plugin says, alike on nodes, in jobs and in queues; what it passes by is no resource any more."""

from __future__ import annotations

import numpy as np

from tests.builders import podgroup
from tests.plugins.cardworlds import CORES, IDS, MEMORY, NUMBER, PERCENT, policy, vgpu_node, vgpu_pod, world
from vcray.core.charges import charged
from vcray.core.session import open_session


def test_nobody_who_charges_leaves_the_very_snapshot() -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250))
    assert charged(given, []) is given
    assert charged(given, policy(GPUNumberEnable=True).charging()) is given
    assert charged(given, policy().charging()).shapes[0].requests == (
        ("cpu", 1000), ("memory", 2**30), ("pods", 1), (MEMORY, 250_000), (NUMBER, 1000),
    )  # fmt: skip


def test_every_card_of_a_pod_counts_its_memory_and_cores() -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250, 2, cores=30))
    requests = dict(charged(given, policy().charging()).shapes[0].requests)
    assert (requests[NUMBER], requests[MEMORY], requests[CORES]) == (2000, 500_000, 60_000)


def test_a_percentage_counts_as_memory_of_the_largest_card_and_is_no_resource() -> None:
    group = podgroup("p", 1, min_resources={"cpu": 1, PERCENT: 20})
    given = world(vgpu_node(), vgpu_node("n2", memory=2000), vgpu_pod("p", number=1, percent=20), group)
    changed = charged(given, policy().charging())
    requests = dict(changed.shapes[0].requests)
    assert requests[MEMORY] == 400_000
    assert PERCENT not in requests
    row = given.space.rows[PERCENT]
    assert given.jobs.min_resources[row].any()
    assert not changed.jobs.min_resources[row].any()
    assert not changed.jobs.min_resources_named[row].any()


def test_pods_on_nodes_are_charged_alike_in_all_sums() -> None:
    notes = {IDS: "n1-0,NVIDIA,250,0:n1-1,NVIDIA,250,0:"}
    given = world(
        vgpu_node(),
        vgpu_pod("r", 250, 2, node="n1", annotations=notes),
        vgpu_pod("l", 100, 2, node="n1", annotations=notes, deleting=True),
    )
    view = open_session(given, policy()).view
    row = view.space.rows[MEMORY]
    assert view.nodes.used[row].tolist() == [700_000]
    assert view.nodes.requested[row].tolist() == [700_000]
    assert view.nodes.releasing[row].tolist() == [200_000]
    assert view.queues.allocated[row].sum() == 500_000
    np.testing.assert_array_equal(view.nodes.idle, view.snapshot.nodes.allocatable - view.nodes.used)
