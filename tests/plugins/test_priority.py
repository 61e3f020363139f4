"""priority and conformance: orders, and who is never a victim."""

from __future__ import annotations

import numpy as np

from tests.builders import gang, node, pod, podgroup, priority_class
from tests.plugins.claims import chosen, claim_of
from tests.plugins.worlds import World
from vcray.core.victims import ClaimKind
from vcray.plugins.conformance import Conformance
from vcray.plugins.priority import Priority


def test_higher_priority_goes_first_among_tasks() -> None:
    world = World(
        node("n1"),
        podgroup("g", 1),
        pod("low", group="g", cpu=1, priority=1),
        pod("high", group="g", cpu=1, priority=9),
    )
    keys = world.plugin(Priority).task_order(world.view, np.array([world.task("low"), world.task("high")]))
    assert keys.tolist() == [-1, -9]


def test_higher_priority_goes_first_among_jobs_as_columns_and_rows() -> None:
    world = World(
        node("n1"),
        priority_class("high", 9),
        gang("a", 1, priority_class="high", cpu=1, priority=9),
        gang("b", 1, cpu=1),
    )
    plugin = world.plugin(Priority)
    jobs = np.array([world.job("a"), world.job("b")])
    assert plugin.job_order(world.view, jobs).tolist() == [-9, 0]
    assert [plugin.job_order(world.view, int(job)) for job in jobs] == [-9, 0]


def test_a_job_starves_while_any_task_has_neither_node_nor_promise() -> None:
    world = World(node("n1"), gang("g", 2, min_member=1, cpu=1))
    plugin, job = world.plugin(Priority), world.job("g")
    world.place("g-worker-0", "n1")
    assert plugin.job_starving(world.view, job)
    world.pipeline("g-worker-1", "n1")
    assert not plugin.job_starving(world.view, job)


def test_conformance_spares_critical_pods_and_those_of_the_system() -> None:
    classes = {"a": "system-node-critical", "b": "system-cluster-critical", "c": "critical"}
    system, like_it = ("kube-system", "kube-systems")
    world = World(
        node("n1"),
        gang("g", 1, cpu=1),
        [podgroup("run", 0, namespace=namespace) for namespace in ("default", system, like_it)],
        [
            pod(name, group="run", node="n1", cpu=1, spec={"priorityClassName": priority})
            for name, priority in classes.items()
        ],
        [pod("d", namespace=namespace, group="run", node="n1", cpu=1) for namespace in (system, like_it)],
    )
    plugin = world.plugin(Conformance)
    for kind, judge in (
        (ClaimKind.PREEMPT, plugin.preemptable),
        (ClaimKind.RECLAIM, plugin.reclaimable),
        (ClaimKind.GANG_RECLAIM, plugin.evictable),
    ):
        victims = chosen(
            world, judge, claim_of(world, "g-worker-0", kind), [*classes, "kube-system/d", "kube-systems/d"]
        )
        assert victims == ["c", "kube-systems/d"]
