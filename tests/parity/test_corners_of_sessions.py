"""Rules of a whole session that no other test shows by itself."""

from __future__ import annotations

import pytest

from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.config.scheduler import DEFAULT_CONF, load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Closeness, Phase, Status, Taint
from vcray.registry import discover

TIERS = """
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false, enableReclaimable: false}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}, {name: nodeorder}, {name: binpack, arguments: {binpack.weight: 50}}]
"""
QUEUES = (Queue("qa"), Queue("qb"))


def run(world: Snapshot, actions: str) -> Decisions:
    return decide(world, build_policy(load_scheduler_config(f'actions: "{actions}"{TIERS}'), discover()))


def bound(decisions: Decisions) -> dict[str, str]:
    return {b.task.removeprefix("ns/"): b.node for commit in decisions.commits for b in commit.binds}


def evicted(decisions: Decisions) -> list[str]:
    return sorted(evict.task.removeprefix("ns/") for evict in decisions.evictions)


def promised(decisions: Decisions) -> dict[str, str]:
    return {task.removeprefix("ns/"): node for task, node in decisions.pipelined}


def running(name: str, count: int, node: str = "n1", queue: str = "default", priority: int = 10) -> Job:
    pods = equal_pods(name, count, cpu=1, status=Status.RUNNING, node=node)
    return Job(name, pods, least=1, queue=queue, priority=priority, phase=Phase.RUNNING)


def test_the_compiled_in_configuration_is_volcanos() -> None:
    config = load_scheduler_config(DEFAULT_CONF)

    assert config.actions == ("enqueue", "allocate", "backfill")
    assert [[plugin.name for plugin in tier] for tier in config.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]


@pytest.mark.parametrize("best", [0, 137, 299])
def test_the_best_of_all_nodes_is_found_wherever_it_stands(best: int) -> None:
    """Volcano would look at 144 of 300 nodes, from a start that moves."""
    nodes = [Node(f"n{i}", 8) for i in range(300)]
    resident = Job("r", [Pod("r", cpu=6, status=Status.RUNNING, node=f"n{best}")], phase=Phase.RUNNING)

    decisions = run(snapshot(nodes, [resident, Job("j", [Pod("p", cpu=1)])]), "allocate")

    assert bound(decisions) == {"p": f"n{best}"}


def test_an_idle_node_goes_before_a_better_one_that_is_being_freed() -> None:
    leaving = Pod("old", cpu=1, status=Status.RELEASING, node="full")
    stays = equal_pods("r", 7, cpu=1, status=Status.RUNNING, node="full")
    world = snapshot(
        [Node("full", 8), Node("idle", 64)],
        [Job("old", [leaving, *stays], least=1, phase=Phase.RUNNING), Job("j", [Pod("p", cpu=1)])],
    )

    assert bound(run(world, "allocate")) == {"p": "idle"}


def test_a_task_that_its_queue_has_no_room_for_is_passed_over() -> None:
    pods = [Pod("big", cpu=9, priority=9), Pod("small", cpu=1)]
    world = snapshot(
        [Node("n1", 10)],
        [Job("j", pods, least=1, queue="qa"), Job("k", [Pod("k", cpu=9)], queue="qb")],
        QUEUES,
    )

    assert bound(run(world, "allocate")) == {"small": "n1"}


def test_nodes_that_eviction_cannot_cure_are_left_alone_for_every_member_of_a_role() -> None:
    tainted = Node("n1", 4, taints=(Taint("gpu", "yes", "NoSchedule"),))
    claimant = Job("p", equal_pods("p", 3, cpu=1, role="w"), least=1, priority=100)

    decisions = run(snapshot([tainted], [running("v", 4), claimant]), "allocate, preempt")

    assert (evicted(decisions), promised(decisions)) == ([], {})


def test_preempt_takes_on_the_node_of_the_highest_score() -> None:
    """binpack prefers the smaller node once the pod is on it."""
    nodes = [Node("wide", 64), Node("narrow", 4)]
    full = [running("a", 64, "wide"), running("b", 4, "narrow")]

    decisions = run(snapshot(nodes, [*full, Job("p", [Pod("p", cpu=1, mem=8)], priority=99)]), "preempt")

    assert promised(decisions) == {"p": "narrow"}


def test_claims_pod_by_pod_leave_jobs_with_a_topology_to_those_of_gangs() -> None:
    """A soft topology and one of an unknown tier do not hinder reclaim, which in Volcano serves hard ones too."""
    hard, soft = Closeness(soft=False, tier=1), Closeness(soft=True, tier=None)
    unknown = Closeness(soft=False, tier=None, tier_name="rack")
    nodes, victims = [Node("n1", 4)], running("v", 4, queue="qb")

    def went(action: str, queue: str, near: Closeness) -> int:
        claimant = Job("p", [Pod("p", cpu=1)], priority=99, queue=queue, closeness=near)
        return len(evicted(run(snapshot(nodes, [victims, claimant], QUEUES), action)))

    assert [went("preempt", "qb", near) for near in (hard, soft, unknown)] == [0, 0, 0]
    assert [went("reclaim", "qa", near) for near in (hard, soft, unknown)] == [0, 1, 1]


def test_reclaim_alone_evicts_nobody_for_a_pod_that_fits_an_idle_node() -> None:
    world = snapshot(
        [Node("n1", 4), Node("n2", 4)],
        [running("v", 4, "n2", queue="qb"), Job("p", [Pod("p", cpu=1)], queue="qa")],
        QUEUES,
    )

    assert evicted(run(world, "reclaim")) == []


def test_gangpreempt_alone_evicts_nobody_for_a_gang_that_fits() -> None:
    gang = Job("p", equal_pods("p", 2, cpu=1), priority=99)

    assert evicted(run(snapshot([Node("n1", 8)], [running("v", 4), gang]), "gangpreempt")) == []


def test_the_least_deserving_queue_gives_first() -> None:
    queues = (Queue("qa"), Queue("high", priority=9), Queue("low"))
    world = snapshot(
        [Node("n1", 9, pods=900)],
        [
            running("h", 4, queue="high"),
            running("l", 5, queue="low"),
            Job("p", [Pod("p", cpu=1)], queue="qa"),
        ],
        queues,
    )

    assert [name[0] for name in evicted(run(world, "reclaim"))] == ["l"]


@pytest.mark.parametrize("leaving", [True, False])
def test_a_nominated_claimant_claims_again_once_its_node_is_no_longer_being_cleared(leaving: bool) -> None:
    """In Volcano it may not while the node passes its filters, full or not."""
    victims = running("v", 4)
    if leaving:
        victims.pods[0].status = Status.RELEASING
    claimant = Job("p", [Pod("p", cpu=2, nominated="n1")], priority=100)

    assert len(evicted(run(snapshot([Node("n1", 4)], [victims, claimant]), "preempt"))) == (
        0 if leaving else 2
    )


@pytest.mark.parametrize("leaving", [True, False])
def test_reclaim_waits_too_while_the_nominated_node_is_being_cleared(leaving: bool) -> None:
    victims = running("v", 6, queue="qb")
    if leaving:
        victims.pods[0].status = Status.RELEASING
    claimant = Job("p", [Pod("p", cpu=2, nominated="n1")], queue="qa")
    world = snapshot([Node("n1", 6, pods=900)], [victims, claimant], QUEUES)

    assert len(evicted(run(world, "reclaim"))) == (0 if leaving else 2)


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_a_nominated_claimant_does_not_wait_for_a_cordoned_node(action: str) -> None:
    leaving = Pod("gone", cpu=0, status=Status.RELEASING, node="n1")
    old = Job("old", [leaving], least=0, queue="qb", phase=Phase.RUNNING)
    victims = running("v", 6, queue="qa" if action == "preempt" else "qb")
    for pod in victims.pods:
        pod.node = "n2"
    claimant = Job("p", [Pod("p", cpu=2, nominated="n1")], priority=100, queue="qa")
    nodes = [Node("n1", 2, pods=900, cordoned=True), Node("n2", 6, pods=900)]

    world = snapshot(nodes, [old, victims, claimant], QUEUES)

    assert len(evicted(run(world, action))) == 2
