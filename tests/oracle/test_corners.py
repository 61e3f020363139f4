"""Rules that random clusters seldom reach: the outcome by hand, from the oracle, and from the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.oracle import configurations, scheduler
from tests.oracle.comparison import disagreements
from tests.oracle.facts import Object

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PLAIN = configurations.configuration("allocate, backfill", ["priority", "gang"], ["drf", "predicates"])


@dataclass
class World:
    """A cluster written down object by object."""

    objects: list[Object] = field(default_factory=list)

    def add(self, kind: str, name: str, meta: Object | None = None, **parts: object) -> World:
        numbered = {
            "uid": f"{kind}-{name}",
            "resourceVersion": "1",
            "creationTimestamp": f"2026-01-01T00:{len(self.objects):02d}:00Z",
        }
        if kind in ("Pod", "PodGroup"):
            numbered["namespace"] = "ns"
        self.objects.append({"kind": kind, "metadata": {"name": name, **numbered, **(meta or {})}, **parts})
        return self

    def node(self, name: str, cpu: str = "4", *, spec: Object | None = None, **labels: str) -> World:
        found = {key.replace("zone", ZONE).replace("host", HOST): value for key, value in labels.items()}
        room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
        status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        return self.add("Node", name, {"labels": found}, spec=spec or {}, status=status)

    def queue(self, name: str = "default", state: str = "Open", **spec: object) -> World:
        return self.add("Queue", name, spec={"weight": 1, **spec}, status={"state": state})

    def group(self, name: str, least: int = 1, phase: str = "Inqueue", **spec: object) -> World:
        queue = {"queue": "default", "minMember": least, **spec}
        return self.add("PodGroup", name, spec=queue, status={"phase": phase})

    def pod(
        self,
        name: str,
        group: str = "",
        at: str = "",
        *,
        cpu: str = "1",
        meta: Object | None = None,
        **spec: object,
    ) -> World:
        notes = {"scheduling.k8s.io/group-name": group} if group else {}
        requests = {"cpu": cpu, "memory": "1Gi"} if cpu else {"memory": "1Gi"}
        body = {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            **({"nodeName": at} if at else {}),
            **spec,
        }
        labels = {"app": "web"}
        meta = {"annotations": notes, "labels": labels, **(meta or {})}
        return self.add("Pod", name, meta, spec=body, status={"phase": "Running" if at else "Pending"})


def spread(key: str, skew: int = 1, when: str = "DoNotSchedule", **more: object) -> Object:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def check(world: World, conf: Object, bound: dict[str, str], phases: dict[str, str] | None = None) -> None:
    """Both schedulers must say so; `bound` and `phases` without the namespace."""
    outcome = scheduler.decide(world.objects, conf, 3)
    assert outcome.bound == {f"ns/{pod}": node for pod, node in bound.items()}
    for name, phase in (phases or {}).items():
        assert outcome.phases[f"ns/{name}"] == phase
    assert disagreements(world.objects, conf, 3) == []


def test_a_pod_without_cpu_does_not_fit_a_node_whose_cpu_is_overbooked() -> None:
    world = World().queue().node("n1", "1").pod("big", at="n1", cpu="2").group("g").pod("p", "g", cpu="")
    check(world, PLAIN, {})


@pytest.mark.parametrize(("policy", "bound"), [("Honor", {"p": "n1"}), ("Ignore", {})])
def test_spread_leaves_out_nodes_that_the_pod_may_not_use(policy: str, bound: dict[str, str]) -> None:
    world = World().queue().node("n1", zone="a", disk="ssd").node("n2", zone="b")
    world.pod("there", at="n1").group("g")
    constraint = spread(ZONE, nodeAffinityPolicy=policy)
    world.pod("p", "g", nodeSelector={"disk": "ssd"}, topologySpreadConstraints=[constraint])
    check(world, PLAIN, bound)


@pytest.mark.parametrize(("policy", "bound"), [("Honor", {"p": "n1"}), ("Ignore", {})])
def test_spread_leaves_out_tainted_nodes_if_told(policy: str, bound: dict[str, str]) -> None:
    taint = {"key": "t", "value": "", "effect": "NoSchedule"}
    world = World().queue().node("n1", zone="a").node("n2", zone="b", spec={"taints": [taint]})
    world.pod("there", at="n1").group("g")
    world.pod("p", "g", topologySpreadConstraints=[spread(ZONE, nodeTaintsPolicy=policy)])
    check(world, PLAIN, bound)


def test_spread_counts_only_nodes_that_have_every_key() -> None:
    world = World().queue().node("n1", zone="a", host="n1").node("n2", host="n2").pod("there", at="n1")
    world.group("g").pod("p", "g", topologySpreadConstraints=[spread(ZONE, 5), spread(HOST)])
    check(world, PLAIN, {"p": "n1"})


@pytest.mark.parametrize(("domains", "bound"), [(1, {"p": "n1"}), (2, {})])
def test_too_few_domains_count_as_an_empty_one(domains: int, bound: dict[str, str]) -> None:
    world = World().queue().node("n1", zone="a").pod("there", at="n1").group("g")
    world.pod("p", "g", topologySpreadConstraints=[spread(ZONE, minDomains=domains)])
    check(world, PLAIN, bound)


def test_spread_does_not_count_pods_that_are_leaving() -> None:
    world = World().queue().node("n1", zone="a").node("n2", "0", zone="b")
    world.pod("going", at="n1", meta={"deletionTimestamp": "2026-01-01T01:00:00Z"}).group("g")
    world.pod("p", "g", topologySpreadConstraints=[spread(ZONE)])
    check(world, PLAIN, {"p": "n1"})


def test_required_affinity_wants_one_pod_that_matches_every_term() -> None:
    world = World().queue().node("n1", zone="a", host="n1")
    world.pod("red", at="n1", meta={"labels": {"color": "red"}})
    world.pod("round", at="n1", meta={"labels": {"form": "round"}}).group("g")
    terms = [
        {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"color": "red"}}},
        {"topologyKey": HOST, "labelSelector": {"matchLabels": {"form": "round"}}},
    ]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    world.pod("p", "g", affinity=affinity)
    check(world, PLAIN, {})


def test_a_pod_placed_in_the_round_keeps_others_away_by_its_anti_affinity() -> None:
    world = World().queue().node("n1", host="n1").group("first").group("second")
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.pod("a", "first", affinity=alone).pod("b", "second")
    check(world, PLAIN, {"a": "n1"})


GATES = configurations.configuration(
    "enqueue, allocate", ["priority", "gang"], ["overcommit"], ["proportion", "predicates"]
)
"""Overcommit one tier before proportion."""


def admission() -> World:
    return World().queue().node("n1", "10")


@pytest.mark.parametrize(("asked", "phase"), [("7", "Inqueue"), ("7001m", "Pending")])
def test_a_started_group_holds_what_it_has_not_placed_of_its_minimum(asked: str, phase: str) -> None:
    # 12 of budget, 2 used, 3 still held by the running group
    world = admission().group("run", 1, "Running", minResources={"cpu": "5"})
    world.pod("r0", "run", "n1", cpu="2")
    world.group("new", 1, "Pending", minResources={"cpu": asked})
    check(world, GATES, {}, {"new": phase})


@pytest.mark.parametrize(("asked", "phase"), [("10", "Inqueue"), ("10001m", "Pending")])
def test_gated_pods_of_a_waiting_group_hold_nothing(asked: str, phase: str) -> None:
    world = admission().group("held", 2, minResources={"cpu": "3"})
    world.pod("h0", "held", schedulingGates=[{"name": "example.com/wait"}])
    world.group("new", 1, "Pending", minResources={"cpu": asked})
    check(world, GATES, {}, {"new": phase})


def test_a_permit_in_an_earlier_tier_is_final() -> None:
    world = World().node("n1").queue(state="Closed").group("new", 1, "Pending", minResources={"cpu": "1"})
    check(world, GATES, {}, {"new": "Inqueue"})
    one_tier = configurations.configuration("enqueue", ["gang"], ["overcommit", "proportion"])
    check(world, one_tier, {}, {"new": "Pending"})


def test_a_completed_group_stays_so_when_its_pods_are_gone_and_holds_no_budget() -> None:
    world = admission().group("done", 1, "Completed", minResources={"cpu": "10"})
    world.group("new", 1, "Pending", minResources={"cpu": "12"})
    check(world, GATES, {}, {"done": "Completed", "new": "Inqueue"})


def test_pods_in_minimum_resources_are_not_compared() -> None:
    world = admission().group("new", 1, "Pending", minResources={"cpu": "1", "pods": "500"})
    check(world, configurations.K0, {}, {"new": "Inqueue"})


@pytest.mark.parametrize(("low", "high"), [(10, "Inqueue"), (1000, "Pending")])
def test_a_waiting_group_holds_budget_only_against_its_own_priority_and_below(low: int, high: str) -> None:
    world = admission().add("PriorityClass", "crowd", value=low).add("PriorityClass", "new", value=100)
    world.group("crowd", 1, priorityClassName="crowd", minResources={"cpu": "11"})
    world.group("new", 1, "Pending", priorityClassName="new", minResources={"cpu": "5"})
    check(world, GATES, {}, {"new": high})


def test_a_crowd_that_waits_for_one_pool_holds_only_the_budget_of_that_pool() -> None:
    world = World().queue().node("n1", "10", pool="a").node("n2", "10", pool="b")
    world.group("crowd", 1, minResources={"cpu": "100"}).pod(
        "c", "crowd", cpu="11", nodeSelector={"pool": "a"}
    )
    world.group("stuck", 1, minResources={"cpu": "100"}).pod(
        "s", "stuck", cpu="10", nodeSelector={"pool": "a"}
    )
    world.group("new", 1, "Pending", minResources={"cpu": "5"}).pod("p", "new", nodeSelector={"pool": "b"})
    check(world, GATES, {"s": "n1", "p": "n2"}, {"new": "Inqueue"})


def test_an_overused_queue_gives_no_turn_even_where_shares_are_not_enforced() -> None:
    proportion = {"name": "proportion", "enabledAllocatable": False}
    conf = configurations.configuration("allocate", ["gang"], [proportion, "predicates"])
    # no memory is asked for by anyone else, so the deserved of q is 2 cpu, 2Gi and 2 pods
    world = World().node("n1", "8").queue(capability={"cpu": "2", "memory": "2Gi", "pods": "2"})
    for row in range(3):
        world.group(f"g{row}").pod(f"p{row}", f"g{row}")
    check(world, conf, {"p0": "n1", "p1": "n1"})


def test_a_promised_member_counts_in_the_share_of_its_job() -> None:
    # promised: its second member waits for what is leaving; then the other job is first
    conf = configurations.configuration("allocate", ["gang"], ["drf", "predicates"])
    world = (
        World()
        .queue()
        .node("n1", "3")
        .pod("going", at="n1", cpu="1", meta={"deletionTimestamp": "2026-01-01T01:00:00Z"})
    )
    world.group("a", 1).pod("a-x-0", "a").pod("a-x-1", "a").pod("a-x-2", "a")
    world.group("b", 1).pod("b-x-0", "b").pod("b-x-1", "b")
    check(world, conf, {"a-x-0": "n1", "b-x-0": "n1"})


def test_queues_without_weight_share_equally() -> None:
    world = World().node("n1", "8").queue("a", weight=0).queue("b", weight=0)
    for name in ("a", "b"):
        world.group(name, 1, queue=name)
        for row in range(6):
            world.pod(f"{name}-x-{row}", name)
    check(world, configurations.KA, {f"{q}-x-{row}": "n1" for q in "ab" for row in range(4)})


def test_after_one_member_of_a_role_failed_the_others_are_not_tried() -> None:
    world = World().queue().node("n1", "4").group("g", 1)
    for name, cpu in (("g-x-0", "5"), ("g-x-1", "1")):
        world.pod(
            name,
            "g",
            cpu=cpu,
            meta={"annotations": {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "x"}},
        )
    check(world, PLAIN, {})


def test_a_gang_goes_on_after_a_failed_member_that_it_can_spare() -> None:
    world = World().queue().node("n1", "4").group("g", 2)
    for row, cpu in enumerate(("5", "1", "1")):
        world.pod(f"g-x-{row}", "g", cpu=cpu)
    check(world, PLAIN, {"g-x-1": "n1", "g-x-2": "n1"})


def test_best_effort_members_are_bound_by_backfill_beside_a_ready_gang() -> None:
    world = World().queue().node("n1", "4").group("g", 2).pod("g-x-0", "g").pod("g-x-1", "g")
    world.objects[-1]["spec"]["containers"] = [{"name": "main", "image": "none"}]
    check(world, PLAIN, {"g-x-0": "n1", "g-x-1": "n1"})


@pytest.mark.parametrize(("seed"), range(5))
def test_equal_nodes_are_told_apart_by_seed_and_name_alone(seed: int) -> None:
    world = World().queue().node("n1").node("n2").node("n3").group("g").pod("p", "g")
    assert disagreements(world.objects, PLAIN, seed) == []
    rank = scheduler.ranks(seed, ["n1", "n2", "n3"])
    assert scheduler.decide(world.objects, PLAIN, seed).bound == {"ns/p": max(rank, key=lambda n: rank[n])}
