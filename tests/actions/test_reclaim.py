"""Volcano's reclaim: a queue that is short takes back what others hold beyond what they deserve, and not a pod more."""

from __future__ import annotations

from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Phase, PodFacts, Status
from vcray.registry import discover
from vcray.sim.configurations import CONFIGURATIONS

QUEUES = (Queue("qa"), Queue("qb"))


def policy(conf: str = CONFIGURATIONS["KR"]) -> Policy:
    return build_policy(load_scheduler_config(conf), discover())


def run(world: Snapshot, conf: str = CONFIGURATIONS["KR"]) -> Decisions:
    return decide(world, policy(conf))


def evicted(decisions: Decisions) -> list[str]:
    return [evict.task.removeprefix("ns/") for evict in decisions.evictions]


def jobs_of_one(name: str, count: int, queue: str, node: str, **kw: object) -> list[Job]:
    """One-pod jobs, running."""
    return [
        Job(
            f"{name}-{i}",
            [Pod(f"{name}-{i}", status=Status.RUNNING, node=node, **kw)],  # type: ignore[arg-type]
            queue=queue,
            phase=Phase.RUNNING,
        )
        for i in range(count)
    ]


def claims(count: int, queue: str = "qa", **kw: object) -> list[Job]:
    return [Job(f"c-{i}", [Pod(f"c-{i}", **kw)], queue=queue) for i in range(count)]  # type: ignore[arg-type]


def test_a_queue_takes_back_its_half() -> None:
    world = snapshot(
        [Node("n1", 8, pods=1000)], [*jobs_of_one("b", 8, "qb", "n1", cpu=1), *claims(8, cpu=1)], QUEUES
    )

    decisions = run(world)

    assert len(evicted(decisions)) == 4
    assert {evict.reason for evict in decisions.evictions} == {"reclaim"}
    assert len(decisions.pipelined) == 4


def test_a_queue_within_its_share_gives_nothing() -> None:
    mine = jobs_of_one("a", 4, "qa", "n1", cpu=1)
    world = snapshot(
        [Node("n1", 8)], [*mine, *jobs_of_one("b", 4, "qb", "n1", cpu=1), *claims(4, cpu=1)], QUEUES
    )

    assert evicted(run(world)) == []


def test_several_small_pods_go_for_a_large_one() -> None:
    world = snapshot([Node("n1", 8)], [*jobs_of_one("b", 8, "qb", "n1", cpu=1), *claims(1, cpu=4)], QUEUES)

    assert len(evicted(run(world))) == 4


def test_a_plugin_of_a_higher_tier_does_not_switch_off_what_queues_deserve() -> None:
    conf = """
actions: "allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: conformance}]
- plugins: [{name: gang}, {name: predicates}, {name: proportion}]
"""
    queues = (Queue("qa"), Queue("qb"), Queue("qc"))
    world = snapshot(
        [Node("n1", 16, pods=1000), Node("n2", 16, pods=1000)],
        [
            *jobs_of_one("b", 16, "qb", "n1", cpu=1),
            *jobs_of_one("d", 11, "qc", "n2", cpu=1),
            *jobs_of_one("a", 5, "qa", "n2", cpu=1),
            *claims(16, cpu=1),
        ],
        queues,
    )

    decisions = run(world, conf)

    assert len([name for name in evicted(decisions) if name.startswith("b")]) <= 6
    assert len([name for name in evicted(decisions) if name.startswith("d")]) <= 1
    assert len(evicted(decisions)) == len(decisions.pipelined)


def test_what_fits_without_eviction_evicts_nobody() -> None:
    gang = Job("g", equal_pods("g", 2, cpu=4), queue="qa")
    world = snapshot([Node("n1", 4), Node("n2", 4)], [*jobs_of_one("b", 4, "qb", "n2", cpu=1), gang], QUEUES)

    decisions = run(world)

    assert len(evicted(decisions)) in (0, 4)
    assert len(evicted(decisions)) == 0 or len(decisions.pipelined) == 2


def test_a_queue_that_is_not_reclaimable_keeps_its_pods() -> None:
    world = snapshot([Node("n1", 8)], [*jobs_of_one("b", 8, "qb", "n1", cpu=1), *claims(4, cpu=1)], QUEUES)
    world.queues.reclaimable[1] = False

    assert evicted(run(world)) == []


def test_bound_pods_that_do_not_run_yet_stay() -> None:
    bound = [Job("b", [Pod("b", cpu=8, status=Status.BOUND, node="n1")], queue="qb", phase=Phase.RUNNING)]

    assert evicted(run(snapshot([Node("n1", 8)], [*bound, *claims(1, cpu=4)], QUEUES))) == []


def test_a_pod_that_never_preempts_does_not_reclaim() -> None:
    running = jobs_of_one("b", 8, "qb", "n1", cpu=1)

    decisions = run(
        snapshot([Node("n1", 8)], [*running, *claims(2, cpu=1, facts=PodFacts(never_preempts=True))], QUEUES)
    )

    assert evicted(decisions) == []


def test_a_gang_that_cannot_get_all_of_its_minimum_takes_nothing() -> None:
    gang = Job("g", equal_pods("g", 5, cpu=1), least=5, queue="qa")

    decisions = run(snapshot([Node("n1", 8)], [*jobs_of_one("b", 8, "qb", "n1", cpu=1), gang], QUEUES))

    assert evicted(decisions) == []


def test_room_that_is_being_freed_already_is_used_first() -> None:
    leaving = [Job("old", [Pod("old", cpu=4, status=Status.RELEASING, node="n1")], least=0, queue="qb")]

    decisions = run(
        snapshot(
            [Node("n1", 8)], [*leaving, *jobs_of_one("b", 4, "qb", "n1", cpu=1), *claims(4, cpu=1)], QUEUES
        )
    )

    assert evicted(decisions) == []
    assert len(decisions.pipelined) == 4
