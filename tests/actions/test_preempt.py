"""Volcano's preempt: the less valuable of the same queue go, no more than needed, and only when the claimant then fits."""

from __future__ import annotations

from collections.abc import Sequence

from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import HostPort, Phase, PodFacts, Status
from vcray.registry import discover
from vcray.sim.configurations import CONFIGURATIONS


def policy(name: str = "KP", arguments: str = "") -> Policy:
    return build_policy(load_scheduler_config(CONFIGURATIONS[name] + arguments), discover())


def run(world: Snapshot, using: Policy | None = None) -> Decisions:
    return decide(world, using or policy())


def evicted(decisions: Decisions) -> list[str]:
    return [evict.task.removeprefix("ns/") for evict in decisions.evictions]


def promised(decisions: Decisions) -> dict[str, str]:
    return {task.removeprefix("ns/"): node for task, node in decisions.pipelined}


def running(name: str, count: int, node: str = "n1", **kw: object) -> list[Pod]:
    return equal_pods(name, count, status=Status.RUNNING, node=node, **kw)


def low(pods: Sequence[Pod], least: int = 1, priority: int = 10, **kw: object) -> Job:
    return Job("low", pods, least=least, priority=priority, phase=Phase.RUNNING, **kw)  # type: ignore[arg-type]


def test_one_pod_goes_where_one_is_enough() -> None:
    victims, claimant = low(running("v", 11, cpu=1)), Job("p", [Pod("p", cpu=1)], priority=100)

    decisions = run(snapshot([Node("n1", 11)], [victims, claimant]))

    assert evicted(decisions) == ["v-9"]
    assert promised(decisions) == {"p": "n1"}
    assert decisions.evictions[0].reason == "preempt"


def test_the_claimant_says_which_node_is_nominated() -> None:
    world = snapshot(
        [Node("n1", 4)], [low(running("v", 4, cpu=1)), Job("p", [Pod("p", cpu=1)], priority=100)]
    )

    decisions = run(world)

    waiting = {condition.task: condition for condition in decisions.conditions}
    assert waiting["ns/p"].nominated == "n1"
    assert waiting["ns/p"].reason == "Unschedulable"
    assert waiting["ns/p"].message == (
        "Pod ns/p can possibly be assigned to n1, once resource is released and minAvailable is satisfied"
    )


def test_a_gang_takes_an_idle_node_and_an_occupied_one() -> None:
    claimant = Job("hi", equal_pods("hi", 2, cpu=4), priority=100)

    decisions = run(snapshot([Node("n1", 4), Node("n2", 4)], [low(running("l", 1, "n2", cpu=4)), claimant]))

    assert evicted(decisions) == ["l-0"]
    assert sorted(promised(decisions).values()) == ["n1", "n2"]
    nominated = [condition.nominated for condition in decisions.conditions if condition.nominated]
    assert nominated == ["n2"]


def test_a_gang_that_still_would_not_fit_evicts_nobody() -> None:
    claimant = Job("hi", equal_pods("hi", 3, cpu=4), priority=100)

    decisions = run(snapshot([Node("n1", 4), Node("n2", 4)], [low(running("l", 1, "n2", cpu=4)), claimant]))

    assert evicted(decisions) == []
    assert promised(decisions) == {}


def test_a_higher_job_is_never_taken_from_even_when_a_later_tier_would() -> None:
    conf = """
actions: "allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}]
"""
    high = Job("ja", running("a", 12, cpu=1), least=2, priority=100, phase=Phase.RUNNING)
    claimant = Job("jb", equal_pods("b", 6, cpu=1), least=2, priority=10)

    decisions = run(
        snapshot([Node("n1", 12)], [high, claimant]), build_policy(load_scheduler_config(conf), discover())
    )

    assert evicted(decisions) == []


def test_fair_shares_move_pods_among_jobs_of_equal_priority() -> None:
    conf = CONFIGURATIONS["KP"].replace("enablePreemptable: false", "enablePreemptable: true")
    rich = Job("ja", running("a", 12, cpu=1), least=2, priority=10, phase=Phase.RUNNING)
    claimant = Job("jb", equal_pods("b", 6, cpu=1), least=2, priority=10)

    decisions = run(
        snapshot([Node("n1", 12)], [rich, claimant]), build_policy(load_scheduler_config(conf), discover())
    )

    assert len(evicted(decisions)) == 2


def test_the_own_job_gives_nothing_for_a_task_that_still_would_not_fit() -> None:
    job = Job(
        "j",
        [*running("lo", 2, cpu=1, priority=1), Pod("hi", cpu=4, priority=100)],
        least=3,
        phase=Phase.RUNNING,
    )

    decisions = run(snapshot([Node("n1", 2)], [job]))

    assert evicted(decisions) == []


def test_the_own_job_gives_less_valuable_tasks_for_a_task_that_then_fits() -> None:
    job = Job(
        "j",
        [*running("lo", 2, cpu=1, priority=1), Pod("hi", cpu=1, priority=100)],
        least=3,
        phase=Phase.RUNNING,
    )

    decisions = run(snapshot([Node("n1", 2)], [job]))

    assert evicted(decisions) == ["lo-1"]
    assert promised(decisions) == {"hi": "n1"}


def test_pod_slots_are_a_thing_that_victims_free() -> None:
    claimant = Job("hi", [Pod("hi", cpu=0.02)], priority=50)

    decisions = run(snapshot([Node("n1", 8, pods=5)], [low(running("l", 5, cpu=0.02)), claimant]))

    assert len(evicted(decisions)) == 1


def test_a_pod_that_never_preempts_does_not() -> None:
    claimant = Job("hi", [Pod("hi", cpu=1, facts=PodFacts(never_preempts=True))], priority=200)

    decisions = run(snapshot([Node("n1", 4)], [low(running("l", 4, cpu=1)), claimant]))

    assert evicted(decisions) == []


def test_pods_marked_not_preemptable_stay() -> None:
    kept = running("l", 4, cpu=1, facts=PodFacts(preemptable=False))

    decisions = run(snapshot([Node("n1", 4)], [low(kept), Job("p", [Pod("p", cpu=1)], priority=100)]))

    assert evicted(decisions) == []


def test_pods_of_another_queue_stay() -> None:
    queues = (Queue("default"), Queue("other"))
    claimant = Job("p", [Pod("p", cpu=1)], priority=100, queue="other")

    decisions = run(snapshot([Node("n1", 4)], [low(running("l", 4, cpu=1)), claimant], queues))

    assert evicted(decisions) == []


def test_pods_that_hold_nothing_the_claimant_lacks_are_spared() -> None:
    victims = low([*running("gpu", 1, cpu=1, gpu=1, priority=5), *running("cpu", 3, cpu=1, priority=1)])
    claimant = Job("p", [Pod("p", gpu=1, cpu=0.1)], priority=100)

    decisions = run(snapshot([Node("n1", 8, gpu=1)], [victims, claimant]))

    assert evicted(decisions) == ["gpu-0"]


def test_filters_are_asked_again_after_the_evictions() -> None:
    port: dict[str, object] = {"ports": (HostPort("0.0.0.0", "TCP", 8080),)}
    other = Job("other", [Pod("o", cpu=1, status=Status.RUNNING, node="n1", spec=port)], priority=500)
    claimant = Job("p", [Pod("p", cpu=4, spec=port)], priority=100)

    decisions = run(snapshot([Node("n1", 5)], [low(running("l", 4, cpu=1)), other, claimant]))

    assert evicted(decisions) == []


def test_a_victim_that_holds_the_port_goes_although_there_is_room() -> None:
    port: dict[str, object] = {"ports": (HostPort("0.0.0.0", "TCP", 8080),)}
    victims = low([*running("l", 3, cpu=1), Pod("w", cpu=1, status=Status.RUNNING, node="n1", spec=port)])

    decisions = run(
        snapshot([Node("n1", 8)], [victims, Job("p", [Pod("p", cpu=1, spec=port)], priority=100)])
    )

    assert evicted(decisions) == ["w"]


def test_a_claimant_waits_while_its_victim_is_still_leaving_the_nominated_node() -> None:
    leaving = Pod("v", cpu=1, status=Status.RELEASING, node="n1", facts=PodFacts(priority=10))
    others = running("l", 3, cpu=1, facts=PodFacts(priority=10))
    claimant = Job("p", [Pod("p", cpu=2, nominated="n1", facts=PodFacts(priority=100))], priority=100)

    decisions = run(snapshot([Node("n1", 4)], [low([leaving, *others]), claimant]))

    assert evicted(decisions) == []


def test_a_gang_of_two_roles_starts_only_as_a_whole() -> None:
    pods = [Pod("a", cpu=1, role="a"), Pod("b", cpu=9, role="b")]
    claimant = Job("p", pods, least=2, priority=100, roles={"a": 1, "b": 1})

    decisions = run(snapshot([Node("n1", 4)], [low(running("l", 4, cpu=1)), claimant]))

    assert evicted(decisions) == []


def test_a_ready_job_takes_nothing_for_its_elastic_members() -> None:
    elastic = Job(
        "p",
        [*running("r", 1, cpu=1), Pod("more", cpu=1)],
        least=1,
        priority=100,
        phase=Phase.RUNNING,
    )

    decisions = run(snapshot([Node("n1", 5)], [low(running("l", 4, cpu=1)), elastic]))

    assert evicted(decisions) == []


def test_gang_protects_what_keeps_a_job_alive() -> None:
    conf = CONFIGURATIONS["KP"].replace("enablePreemptable: false", "enablePreemptable: true")
    victims = low(running("l", 4, cpu=1), least=3)
    claimant = Job("p", equal_pods("p", 2, cpu=1), least=1, priority=100)

    decisions = run(
        snapshot([Node("n1", 4)], [victims, claimant]), build_policy(load_scheduler_config(conf), discover())
    )

    assert len(evicted(decisions)) == 1


def test_members_that_succeed_while_they_are_deleted_are_no_surplus() -> None:
    conf = CONFIGURATIONS["KP"].replace("enablePreemptable: false", "enablePreemptable: true")
    dying = equal_pods("d", 2, cpu=1, status=Status.SUCCEEDED, node="n1", facts=PodFacts(leaving=True))
    victims = low([*dying, *running("l", 2, cpu=1)], least=2, priority=1)
    claimant = Job("p", equal_pods("p", 2, cpu=2), least=2, priority=100)

    decisions = run(
        snapshot([Node("n1", 2)], [victims, claimant]), build_policy(load_scheduler_config(conf), discover())
    )

    assert evicted(decisions) == []


def test_critical_pods_stay_even_where_a_later_tier_names_only_them() -> None:
    conf = """
actions: "allocate, preempt"
tiers:
- plugins: [{name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}]
"""
    critical = PodFacts(priority_class="system-node-critical")
    victims = low(running("l", 4, cpu=1, facts=critical))

    decisions = run(
        snapshot([Node("n1", 4)], [victims, Job("p", [Pod("p", cpu=1)], priority=100)]),
        build_policy(load_scheduler_config(conf), discover()),
    )

    assert evicted(decisions) == []


TOPOLOGY_AWARE = """
configurations:
- name: preempt
  arguments: {enableTopologyAwarePreemption: true, minCandidateNodesPercentage: 100}
"""


def test_topology_aware_preemption_takes_the_least_priority() -> None:
    def on(node: str, priority: int) -> Job:
        pods = running(node, 1, node, cpu=4, facts=PodFacts(priority=priority))
        return Job(f"j-{node}", pods, priority=priority, phase=Phase.RUNNING)

    world = snapshot(
        [Node("n1", 4), Node("n2", 4), Node("n3", 4)],
        [on("n1", 30), on("n2", 10), on("n3", 20), Job("p", [Pod("p", cpu=4)], priority=100)],
    )

    decisions = run(world, policy("KP", TOPOLOGY_AWARE))

    assert evicted(decisions) == ["n2-0"]


def test_topology_aware_preemption_takes_the_fewest() -> None:
    def on(node: str, count: int, cpu: float) -> Job:
        pods = running(node, count, node, cpu=cpu, facts=PodFacts(priority=-(2**31)))
        return Job(f"j-{node}", pods, least=1, priority=10, phase=Phase.RUNNING)

    world = snapshot(
        [Node("n1", 4), Node("n2", 4)],
        [on("n1", 4, 1), on("n2", 2, 2), Job("p", [Pod("p", cpu=4)], priority=100)],
    )

    decisions = run(world, policy("KP", TOPOLOGY_AWARE))

    assert evicted(decisions) == ["n2-0", "n2-1"]
