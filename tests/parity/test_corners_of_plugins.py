"""Rules of single plugins, of how plugins combine and of statuses that no other test shows by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import node, pod, podgroup
from tests.core.world import Job, Node, equal_pods, snapshot
from tests.plugins.cardworlds import placed, policy, vgpu_node, vgpu_pod, world
from tests.plugins.claims import chosen, claim_of
from tests.plugins.test_devices import device_class, resource_claim, slice_of, users
from tests.plugins.test_nodeorder import asking, preferring
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.api import devices, names
from vcray.api.wire import to_pod
from vcray.cache import groups
from vcray.config.scheduler import FLAGS, load_scheduler_config
from vcray.core.arrays import FloatLike, where
from vcray.core.hooks import Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import build_policy, policy_of
from vcray.core.session import decide, open_session
from vcray.core.space import CPU
from vcray.core.tables import Status
from vcray.core.victims import ClaimKind
from vcray.core.view import Rows, Shape, View
from vcray.plugins.conformance import Conformance
from vcray.plugins.gang import Gang
from vcray.plugins.nodeorder import Nodeorder
from vcray.plugins.predicates import Predicates
from vcray.registry import discover

SMALL = snapshot([Node("n1", 8), Node("n2", 4)], [Job("j", equal_pods("j", 2, cpu=1))])


class LikesFirst(Plugin[Args]):
    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        return where(rows.allocatable[CPU] > 5000, 3.0, 0.0)


class LikesSecond(Plugin[Args]):
    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        return where(rows.allocatable[CPU] < 5000, 2.0, 0.0)


class LikesSecondToo(LikesSecond):
    pass


@pytest.mark.parametrize(
    ("plugins", "first"),
    [((LikesFirst, LikesSecond), True), ((LikesFirst, LikesSecond, LikesSecondToo), False)],
)
def test_scores_of_plugins_add_up(plugins: tuple[type[Plugin[Args]], ...], first: bool) -> None:
    decisions = decide(SMALL, policy_of([Allocate({})], [[(Gang, {}), *((each, {}) for each in plugins)]]))

    nodes = {bind.node for commit in decisions.commits for bind in commit.binds}
    assert nodes == {"n1" if first else "n2"}


class Full(Plugin[Args]):
    def queue_overused(self, view: View, queue: int) -> bool:
        return True

    def queue_preemptive(self, view: View, queue: int, request: object) -> bool:
        return False

    def job_ready(self, view: View, job: int) -> bool:
        return False

    def job_valid(self, view: View, job: int) -> str | None:
        return "full"


class Free(Plugin[Args]):
    def queue_overused(self, view: View, queue: int) -> bool:
        return False

    def queue_preemptive(self, view: View, queue: int, request: object) -> bool:
        return True

    def job_ready(self, view: View, job: int) -> bool:
        return True

    def job_valid(self, view: View, job: int) -> str | None:
        return "free"


@pytest.mark.parametrize("tiers", [[[Full, Free]], [[Free], [Full]], [[Free, Full]]])
def test_overused_is_an_or_and_the_others_are_an_and_over_all_tiers(
    tiers: list[list[type[Plugin[Args]]]],
) -> None:
    session = open_session(SMALL, policy_of([], [[(plugin, {}) for plugin in tier] for tier in tiers]))
    chains, view = session.chains, session.view

    assert chains.queue_overused(view, 0)
    assert not chains.verdicts.queue_preemptive(view, 0, np.zeros(len(view.space), np.int64))
    assert not chains.job_ready(view, 0)
    assert chains.job_valid(view, 0) == ("full" if tiers[0][0] is Full else "free")


def test_validity_cannot_be_switched_off() -> None:
    off = "{name: gang, " + ", ".join(f"{flag}: false" for flag in sorted(FLAGS)) + "}"
    conf = f"actions: allocate\ntiers: [{{plugins: [{off}]}}]"
    session = open_session(
        snapshot([Node("n1")], [Job("j", equal_pods("j", 1, cpu=1), least=3)]),
        build_policy(load_scheduler_config(conf), discover([])),
    )

    assert session.chains.job_valid(session.view, 0) is not None
    assert session.chains.job_ready(session.view, 0)


def test_pods_are_preemptable_unless_said_otherwise() -> None:
    assert groups.preemptable_of({}, {}, absent=True)
    assert not groups.preemptable_of({"volcano.sh/preemptable": "no"}, {}, absent=True)


def test_a_pod_without_a_phase_is_a_new_one() -> None:
    item = pod("a")
    item["status"] = {}
    assert groups.status_of(to_pod(item)) is Status.PENDING


@pytest.mark.parametrize(
    ("phase", "ready", "valid"),
    [("Succeeded", True, True), ("Failed", False, False), ("Running", True, True)],
)
def test_ended_pods_count_as_ready_only_if_they_succeeded(phase: str, ready: bool, valid: bool) -> None:
    members = [pod(f"p{i}", group="g", cpu=1, node="n1", phase=phase) for i in range(2)]
    seen = World(node("n1"), podgroup("g", 2), members)
    plugin, job = seen.plugin(Gang), seen.job("g")

    assert plugin.job_ready(seen.view, job) is ready
    assert (plugin.job_valid(seen.view, job) is None) is valid


def test_pods_on_their_way_out_are_not_valid() -> None:
    members = [pod("p0", group="g", cpu=1, node="n1", deleting=True), pod("p1", group="g", cpu=1)]
    seen = World(node("n1"), podgroup("g", 2), members)

    assert seen.plugin(Gang).job_valid(seen.view, seen.job("g")) is not None


@pytest.mark.parametrize("kind", list(ClaimKind))
def test_critical_pods_and_all_of_kube_system_are_no_victims(kind: ClaimKind) -> None:
    critical = {"priorityClassName": "system-cluster-critical"}
    seen = World(
        node("n1"),
        podgroup("old", 0),
        podgroup("dns", 0, namespace="kube-system"),
        podgroup("new", 1),
        pod("new", group="new", cpu=1),
        pod("plain", group="old", node="n1", cpu=1),
        pod("critical", group="old", node="n1", cpu=1, spec=critical),
        pod("dns", group="dns", node="n1", cpu=1, namespace="kube-system"),
    )
    plugin = seen.plugin(Conformance)
    hook = {ClaimKind.PREEMPT: plugin.preemptable, ClaimKind.RECLAIM: plugin.reclaimable}.get(
        kind, plugin.evictable
    )

    assert chosen(seen, hook, claim_of(seen, "new", kind), ["plain", "critical", "kube-system/dns"]) == [
        "plain"
    ]


def test_gangs_count_of_victims_keeps_minimums_of_roles_and_starts_anew_at_each_call() -> None:
    members = [pod(f"p{i}", group="old", node="n1", cpu=1, role="ps" if i == 0 else "w") for i in range(5)]
    names = ["p0", "p1", "p2", "p3"]
    for least, roles, given in (
        (3, None, ["p0", "p1"]),
        (3, {"ps": 1, "w": 2}, ["p1", "p2"]),
        (3, {"w": 3}, ["p0", "p1"]),
        (4, {"ps": 1, "w": 3}, ["p1"]),
        (2, {"ps": 1, "w": 2}, ["p0", "p1", "p2"]),  # minimums above minMember do not count
    ):
        old = podgroup("old", least, min_task_member=roles)
        seen = World(node("n1"), old, podgroup("new", 1), pod("new", group="new", cpu=1), members)
        plugin = seen.plugin(Gang)
        for _ in range(2):
            assert chosen(seen, plugin.preemptable, claim_of(seen, "new"), names) == given
        assert plugin.job_pipelined(seen.view, seen.job("old")) is Vote.PERMIT


def test_a_pod_with_a_device_claim_may_be_promised_a_node_that_is_being_freed() -> None:
    leaving = [podgroup("old", 0), pod("old", group="old", cpu=64, node="n2", deleting=True)]
    seen = World(
        node("n2", cpu=64), leaving, device_class(), slice_of("n2", "a"), resource_claim("c"), users("g", "c")
    )

    decisions = decide(seen.snapshot, policy_of([Allocate({})], [[(Gang, {}), (Predicates, {})]]))

    assert decisions.pipelined == (("default/g-0", "n2"),)


def test_the_switch_for_device_claims_is_not_read() -> None:
    seen = World(node("n1"), device_class(), resource_claim("c"), users("g", "c"))
    off = {"predicate.DynamicResourceAllocationEnable": False}

    assert decide(seen.snapshot, policy_of([Allocate({})], [[(Gang, {}), (Predicates, off)]])).commits == ()


def test_cards_are_shared_only_while_the_switch_is_on() -> None:
    given = world(vgpu_node(), vgpu_pod("p", 250))

    assert placed(given, policy())["p"][1] != {}
    assert placed(given, policy(VGPUEnable=False))["p"][1] == {}


def test_preferences_of_pods_placed_in_this_session_count_on_every_node() -> None:
    fan = preferring("podAffinity", "p", 5)
    seen = World(node("n1"), node("n2"), asking("fan", cpu=1, spec=fan), asking(cpu=1, labels={"app": "p"}))
    seen.place("fan", "n2")

    (term,) = seen.plugin(Nodeorder).domain_terms(seen.view, seen.shape("p"), np.ones(2, dtype=bool))

    assert term.raw is not None
    assert seen.by_node(term.raw) == {"n1": 0, "n2": 5}


KEYS = {
    "pods": "preemptable revocable-zone cooldown-time numa-topology-policy topology-decision task-spec "
    "resource-strategy-scoring-type resource-strategy-weight gpu-index",
    "groups": "preemptable revocable-zone sla-waiting-time jdb-min-available jdb-max-unavailable job-allocated-hypernode "
    "task-topology-affinity task-topology-anti-affinity task-topology-task-order",
    "queues": "hierarchy hierarchy-weights nodegroup-resource-limits",
    "nodes": "oversubscription-cpu oversubscription-memory node-vgpu-register gpu-unhealthy-ids",
}


@pytest.mark.parametrize("kind", KEYS)
def test_annotations_that_volcano_reads_reach_the_plugins(kind: str) -> None:
    kept = {
        "pods": devices.is_pod_note,
        "groups": names.GROUP_NOTES.__contains__,
        "queues": names.QUEUE_NOTES.__contains__,
        "nodes": devices.NODE_KEYS.__contains__,
    }[kind]

    assert [key for key in KEYS[kind].split() if not kept(f"volcano.sh/{key}")] == []
