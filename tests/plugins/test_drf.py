"""drf: the job with the smallest dominant share first."""

from __future__ import annotations

import numpy as np

from tests.builders import gang, node, pod, podgroup
from tests.plugins.worlds import World
from vcray.plugins.drf import Drf


def test_the_share_is_the_largest_part_of_any_resource() -> None:
    world = World(
        node("n1", cpu=10, memory=100, pods=1000),
        podgroup("a", 1, phase="Running"),
        pod("a0", group="a", cpu=2, memory=30, node="n1"),
        gang("b", 1, cpu=1),
    )
    plugin = world.plugin(Drf)
    jobs = np.array([world.job("a"), world.job("b")])
    assert plugin.job_order(world.view, jobs).tolist() == [0.3, 0.0]
    assert [plugin.job_order(world.view, int(job)) for job in jobs] == [0.3, 0.0]


def test_many_small_pods_are_dominated_by_pods() -> None:
    world = World(
        node("n1", cpu=64, pods=110),
        podgroup("a", 1, phase="Running"),
        [pod(f"a{i}", group="a", cpu="10m", node="n1") for i in range(55)],
    )
    assert world.plugin(Drf).job_order(world.view, world.job("a")) == 0.5


def test_promised_tasks_count_and_the_share_follows_at_once() -> None:
    world = World(node("n1", cpu=10, pods=1000), gang("a", 2, cpu=1))
    plugin, job = world.plugin(Drf), world.job("a")
    world.place("a-worker-0", "n1")
    assert plugin.job_order(world.view, job) == 0.1
    world.pipeline("a-worker-1", "n1")
    assert plugin.job_order(world.view, job) == 0.2


def test_resources_that_the_cluster_lacks_do_not_count() -> None:
    world = World(node("n1", cpu=10), gang("a", 1, gpu=1))
    assert world.plugin(Drf).job_order(world.view, world.job("a")) == 0.0
