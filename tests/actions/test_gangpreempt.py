"""Volcano's gangpreempt and gangreclaim: whole gangs, least damage, nobody for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Phase, PodFacts, Status
from vcray.registry import discover

CONF = """
actions: "allocate, {action}, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: proportion}}]
- plugins: [{{name: drf}}, {{name: predicates}}, {{name: nodeorder}}, {{name: binpack}}]
configurations:
- name: {action}
  arguments: {{allowWholeBundle: {whole}}}
"""


def run(world: Snapshot, action: str = "gangpreempt", whole: str = "true") -> Decisions:
    config = load_scheduler_config(CONF.format(action=action, whole=whole))
    return decide(world, build_policy(config, discover()))


def evicted(decisions: Decisions) -> list[str]:
    return [evict.task.removeprefix("ns/") for evict in decisions.evictions]


def promised(decisions: Decisions) -> dict[str, str]:
    return {task.removeprefix("ns/"): node for task, node in decisions.pipelined}


def running(name: str, count: int, node: str = "n1", **kw: object) -> list[Pod]:
    return equal_pods(name, count, status=Status.RUNNING, node=node, **kw)


def job(name: str, pods: list[Pod], least: int, priority: int, **kw: object) -> Job:
    return Job(name, pods, least=least, priority=priority, phase=Phase.RUNNING, **kw)  # type: ignore[arg-type]


def claimant(count: int = 1, cpu: float = 1, priority: int = 100, **kw: object) -> Job:
    return Job("p", equal_pods("p", count, cpu=cpu), priority=priority, **kw)  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ["gangpreempt", "gangreclaim", "preempt", "reclaim"])
def test_a_gang_is_not_broken_in_the_round_that_completes_it(action: str) -> None:
    queue = "rich" if "reclaim" in action else "default"
    pods = [*running("v", 2, cpu=2), Pod("v-2", cpu=1)]
    others = [Queue("default"), Queue("rich")]
    gang = job("v", pods, 3, 10, queue=queue)

    conf = f"actions: 'allocate, {action}'\ntiers: [{{plugins: [{{name: priority}}, {{name: gang}}]}}]"
    policy = build_policy(load_scheduler_config(conf), discover())

    decisions = decide(snapshot([Node("n1", 5)], [gang, claimant(cpu=2)], others), policy)

    assert [bind.task for commit in decisions.commits for bind in commit.binds] == ["ns/v-2"]
    assert evicted(decisions) == []


def test_pods_above_the_minimum_go_one_by_one() -> None:
    world = snapshot([Node("n1", 11)], [job("v", running("v", 11, cpu=1), 1, 10), claimant()])

    decisions = run(world)

    assert len(evicted(decisions)) == 1
    assert promised(decisions) == {"p-0": "n1"}
    assert decisions.evictions[0].reason == "gangpreempt"


def test_spare_pods_go_before_a_gang_is_broken() -> None:
    gang = job("tight", running("t", 4, "n1", cpu=1), 4, 1)
    loose = job("loose", running("l", 4, "n2", cpu=1), 1, 50)

    decisions = run(snapshot([Node("n1", 4), Node("n2", 4)], [gang, loose, claimant(1, 2)]))

    assert [name[0] for name in evicted(decisions)] == ["l", "l"]


def test_a_gang_that_must_break_goes_whole() -> None:
    gang = job("tight", [*running("t", 2, "n1", cpu=1), *running("u", 2, "n2", cpu=1)], 4, 1)

    decisions = run(snapshot([Node("n1", 2), Node("n2", 2)], [gang, claimant(1, 2)]))

    assert sorted(evicted(decisions)) == ["t-0", "t-1", "u-0", "u-1"]


def test_gangs_are_not_broken_where_that_is_forbidden() -> None:
    gang = job("tight", running("t", 4, "n1", cpu=1), 4, 1)

    decisions = run(snapshot([Node("n1", 4)], [gang, claimant(1, 2)]), whole="false")

    assert evicted(decisions) == []


def test_a_gang_that_the_claimant_can_do_without_stays() -> None:
    useless = job("a", running("a", 2, "n1", cpu=1), 2, 1)
    useful = job("b", running("b", 2, "n2", cpu=2), 2, 5)

    decisions = run(snapshot([Node("n1", 2), Node("n2", 4)], [useless, useful, claimant(1, 4)]))

    assert sorted(evicted(decisions)) == ["b-0", "b-1"]


def test_a_gang_gets_all_its_nodes_or_nobody_goes() -> None:
    low = job("low", running("l", 2, "n1", cpu=2), 1, 1)

    decisions = run(snapshot([Node("n1", 4)], [low, claimant(3, 2)]))

    assert evicted(decisions) == []
    assert promised(decisions) == {}


def test_idle_and_occupied_nodes_are_used_together() -> None:
    low = job("low", running("l", 1, "n2", cpu=4), 1, 1)

    decisions = run(snapshot([Node("n1", 4), Node("n2", 4)], [low, claimant(2, 4)]))

    assert evicted(decisions) == ["l-0"]
    assert sorted(promised(decisions).values()) == ["n1", "n2"]
    assert sorted(c.nominated for c in decisions.conditions if c.nominated) == ["n1", "n2"]


def test_jobs_of_equal_priority_give_nothing() -> None:
    world = snapshot([Node("n1", 4)], [job("v", running("v", 4, cpu=1), 1, 100), claimant()])

    assert evicted(run(world)) == []


def test_a_group_that_says_it_is_not_preemptable_stays() -> None:
    notes = {"volcano.sh/preemptable": "false"}
    world = snapshot([Node("n1", 4)], [job("v", running("v", 4, cpu=1), 1, 10, notes=notes), claimant()])

    assert evicted(run(world)) == []


def test_a_gang_whose_pods_never_preempt_evicts_nobody() -> None:
    shy = Job("p", [Pod("p-0", cpu=1, facts=PodFacts(never_preempts=True))], priority=100)

    assert evicted(run(snapshot([Node("n1", 4)], [job("v", running("v", 4, cpu=1), 1, 10), shy]))) == []


def test_only_as_many_members_as_the_gang_needs_cost_evictions() -> None:
    elastic = Job("p", equal_pods("p", 4, cpu=1), least=2, priority=100)

    decisions = run(snapshot([Node("n1", 8)], [job("v", running("v", 8, cpu=1), 1, 10), elastic]))

    assert len(evicted(decisions)) == 2


def test_a_short_queue_takes_back_what_it_deserves_and_no_more() -> None:
    queues = (Queue("qa"), Queue("qb"))
    rich = job("v", running("v", 8, cpu=1), 1, 10, queue="qb")
    gang = claimant(4, 1, priority=0, queue="qa")

    decisions = run(snapshot([Node("n1", 8)], [rich, gang], queues), "gangreclaim")

    assert len(evicted(decisions)) == 4
    assert {evict.reason for evict in decisions.evictions} == {"gangreclaim"}


def test_a_gang_larger_than_its_share_takes_back_nothing() -> None:
    queues = (Queue("qa"), Queue("qb"))
    rich = job("v", running("v", 8, cpu=1), 1, 10, queue="qb")
    gang = claimant(5, 1, priority=0, queue="qa")

    assert evicted(run(snapshot([Node("n1", 8)], [rich, gang], queues), "gangreclaim")) == []


def test_the_order_of_rows_changes_nothing() -> None:
    jobs = [
        job("a", running("a", 3, "n1", cpu=1), 2, 10),
        job("b", running("b", 3, "n2", cpu=1), 1, 10),
        claimant(2, 1),
    ]
    nodes = [Node("n1", 3), Node("n2", 3)]

    one = run(snapshot(nodes, jobs))
    other = run(snapshot(nodes[::-1], [replace(each, pods=list(each.pods)[::-1]) for each in jobs[::-1]]))

    assert one == other
    assert len(evicted(one)) == 2
