"""Pods that request nothing: placed last, wherever plugins let them, and gangs complete with them."""

from __future__ import annotations

from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.actions.backfill import Backfill
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import build_policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Phase, Status
from vcray.core.view import View
from vcray.registry import discover

CONF = HELM_CONF.replace("enqueue, allocate, backfill", "allocate, backfill")


def run(world: Snapshot) -> Decisions:
    return decide(world, build_policy(load_scheduler_config(CONF), discover()))


def bound(decisions: Decisions) -> dict[str, str]:
    return {b.task.removeprefix("ns/"): b.node for commit in decisions.commits for b in commit.binds}


def test_one_that_fits_nowhere_does_not_stop_the_others() -> None:
    nowhere = Pod("pod1", spec={"node_selector": (("nowhere", "true"),)})

    decisions = run(snapshot([Node("n1")], [Job("a", [nowhere]), Job("b", [Pod("pod2")])]))

    assert bound(decisions) == {"pod2": "n1"}
    assert [c.message for c in decisions.conditions] == [
        "0/1 nodes are unavailable: 1 node(s) didn't match Pod's node affinity/selector."
    ]


def test_a_gang_with_best_effort_pods_leaves_once_it_is_complete() -> None:
    pods = [*equal_pods("j", 2, cpu=1), Pod("be-0")]

    decisions = run(snapshot([Node("n1")], [Job("j", pods, least=3)]))

    assert bound(decisions) == {"j-0": "n1", "j-1": "n1", "be-0": "n1"}


class AllPlaced(Plugin[Args]):
    """Ready when nobody waits; promises may always be kept."""

    def job_ready(self, view: View, job: int) -> bool:
        return int(view.jobs.count[Status.PENDING, job]) == 0


def test_the_last_best_effort_pod_takes_the_waiting_members_along() -> None:
    policy = policy_of([Allocate({}), Backfill({})], [[(AllPlaced, {})]])
    pods = [*equal_pods("j", 2, cpu=1), Pod("be-0"), Pod("be-1")]

    (commit,) = decide(snapshot([Node("n1")], [Job("j", pods)]), policy).commits

    assert [bind.task for bind in commit.binds] == ["ns/be-0", "ns/be-1", "ns/j-0", "ns/j-1"]


def test_a_full_node_still_takes_pods_that_ask_for_nothing() -> None:
    full = Job("old", [Pod("old-0", cpu=5, status=Status.RUNNING, node="n1")], phase=Phase.RUNNING)

    assert bound(run(snapshot([Node("n1", 4)], [full, Job("b", [Pod("be")])]))) == {"be": "n1"}


def test_the_number_of_pods_on_a_node_still_counts() -> None:
    decisions = run(snapshot([Node("n1", pods=2)], [Job("b", equal_pods("be", 3), least=1)]))

    assert len(bound(decisions)) == 2
    assert [c.message for c in decisions.conditions] == [
        "0/1 nodes are unavailable: 1 node(s) pod number exceeded."
    ]


def test_a_promise_beside_a_victim_is_kept() -> None:
    conf = CONF.replace("allocate, backfill", "allocate, preempt, backfill")
    low = Job("low", [Pod("low", status=Status.RUNNING, node="n1")], priority=1, phase=Phase.RUNNING)
    jobs = [low, Job("high", [Pod("high")], priority=10), Job("other", [Pod("other")], priority=1)]
    world = snapshot([Node("n1", pods=1)], jobs)

    decisions = decide(world, build_policy(load_scheduler_config(conf), discover()))

    assert [evict.task for evict in decisions.evictions] == ["ns/low"]
    assert decisions.pipelined == (("ns/high", "n1"),)
    assert {c.task: c.nominated for c in decisions.conditions if c.nominated} == {"ns/high": "n1"}
    assert bound(decisions) == {}


def test_allocated_members_wait_for_the_best_effort_ones_of_their_gang() -> None:
    pods = [*equal_pods("j", 2, cpu=1), Pod("be-0", spec={"node_selector": (("x", "y"),)})]

    decisions = run(snapshot([Node("n1")], [Job("j", pods, least=4), Job("k", equal_pods("k", 1, cpu=4))]))

    assert bound(decisions) == {"k-0": "n1"}


def test_gated_pods_and_pending_groups_are_left_alone() -> None:
    jobs = [Job("g", [Pod("g-0", gated=True)]), Job("o", [Pod("o-0")])]

    assert bound(run(snapshot([Node("n1")], jobs))) == {"o-0": "n1"}
