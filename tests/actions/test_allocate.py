"""Volcano's allocate: gangs whole or not at all, one task a turn afterwards, roles and quotas."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.core import stubs
from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.actions.enqueue import Enqueue
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.action import Action
from vcray.core.decisions import Decisions
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, build_policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import HostPort, Phase, Status
from vcray.core.turn import Turn
from vcray.core.view import Shape, View
from vcray.registry import discover


def with_stubs(*more: type[Plugin[Args]], actions: Sequence[Action] = (Allocate({}),)) -> Policy:
    tiers = [[(stubs.Priority, {}), (stubs.Gang, {})], [(stubs.Pack, {}), (stubs.Ports, {})]]
    return policy_of(actions, [*tiers, [(plugin, {}) for plugin in more]])


def real(actions: str = "allocate, backfill") -> Policy:
    return build_policy(
        load_scheduler_config(HELM_CONF.replace("enqueue, allocate, backfill", actions)), discover()
    )


def bound(decisions: Decisions) -> dict[str, str]:
    return {bind.task.removeprefix("ns/"): bind.node for commit in decisions.commits for bind in commit.binds}


def run(world: Snapshot, policy: Policy | None = None) -> Decisions:
    return decide(world, policy or with_stubs())


def test_a_gang_that_cannot_fit_holds_nothing_against_one_that_can() -> None:
    first = Job("j1", equal_pods("j1", 4, cpu=30, mem=40), created=1)
    second = Job("j2", equal_pods("j2", 4, cpu=20, mem=20), created=2)

    decisions = run(snapshot([Node("n1", 100, 100)], [first, second]))

    assert sorted(bound(decisions)) == ["j2-0", "j2-1", "j2-2", "j2-3"]
    assert [commit.whole for commit in decisions.commits] == [True]


def test_a_gang_neither_ready_nor_promised_is_undone() -> None:
    ending = Job(
        "old", [Pod("old-0", cpu=2, status=Status.RELEASING, node="n1")], least=0, phase=Phase.RUNNING
    )
    big = Job("j1", equal_pods("j1", 5, cpu=1), priority=10)
    small = Job("j2", equal_pods("j2", 2, cpu=1), priority=1)

    decisions = run(snapshot([Node("n1", 4)], [ending, big, small]))

    assert sorted(bound(decisions)) == ["j2-0", "j2-1"]
    assert decisions.pipelined == ()


def test_a_promised_gang_keeps_its_room_for_the_round() -> None:
    ending = Job(
        "old", [Pod("old-0", cpu=2, status=Status.RELEASING, node="n1")], least=0, phase=Phase.RUNNING
    )
    big = Job("j1", equal_pods("j1", 4, cpu=1), priority=10)
    small = Job("j2", equal_pods("j2", 2, cpu=1), priority=1)

    decisions = run(snapshot([Node("n1", 4)], [ending, big, small]))

    assert bound(decisions) == {}
    assert decisions.pipelined == (("ns/j1-2", "n1"), ("ns/j1-3", "n1"))
    said = {c.task: (c.reason, c.message) for c in decisions.conditions}
    assert said["ns/j1-0"] == (
        "Schedulable",
        "Pod ns/j1-0 can possibly be assigned to n1, once minAvailable is satisfied",
    )
    assert said["ns/j1-2"] == (
        "Unschedulable",
        "Pod ns/j1-2 can possibly be assigned to n1, once resource is released and minAvailable is satisfied",
    )


def test_a_rolled_back_gang_gives_its_host_port_back() -> None:
    port = {"ports": (HostPort("0.0.0.0", "TCP", 8080),)}
    first = Job("j1", equal_pods("j1", 2, cpu=1, spec=port), priority=10)
    second = Job("j2", [Pod("j2-0", cpu=1, spec=port)], priority=1)

    assert bound(run(snapshot([Node("n1", 4)], [first, second]))) == {"j2-0": "n1"}


def test_unlike_pods_without_a_role_are_each_tried() -> None:
    pods = [Pod("w", cpu=1, gpu=1), Pod("x", cpu=4), Pod("h", cpu=2)]
    nodes = [Node("nc", 8), Node("ng", 3, gpu=4)]

    decisions = run(snapshot(nodes, [Job("g", pods, least=3)]), real())

    placed = bound(decisions)
    assert (placed["w"], placed["x"], len(placed)) == ("ng", "nc", 3)


def test_a_role_that_failed_is_not_tried_again() -> None:
    pods = [Pod(f"a-{i}", cpu=9, role="a") for i in range(2)] + [Pod("b-0", cpu=1, role="b")]

    decisions = run(snapshot([Node("n1", 4)], [Job("j", pods, least=1)]))

    assert bound(decisions) == {"b-0": "n1"}
    said = {c.task: c.message for c in decisions.conditions}
    assert said["ns/a-0"] == "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert said["ns/a-1"] == "Task a-1 with role spec a has already predicated failed, skip"


def test_role_minimums_share_the_room_out() -> None:
    pods = [Pod(f"j-t1-{i}", cpu=30, role="t1", index=i) for i in range(6)]
    pods += [Pod(f"j-t2-{i}", cpu=30, role="t2", index=i) for i in range(2)]
    job = Job("j", pods, least=5, roles={"t1": 2, "t2": 2})

    placed = bound(run(snapshot([Node(f"n{i}", 30, 64) for i in range(5)], [job]), real()))

    assert sorted(name[2:4] for name in placed) == ["t1", "t1", "t1", "t2", "t2"]


def test_best_effort_members_count_towards_the_minimum_of_their_role() -> None:
    pods = [Pod("j-a-0", cpu=9, role="a", index=0), Pod("j-x-1", cpu=1, index=1)]
    pods += [Pod(f"j-a-{i}", role="a", index=i) for i in (2, 3)]

    decisions = run(snapshot([Node("n1", 4)], [Job("j", pods, least=3, roles={"a": 2})]), real())

    assert sorted(bound(decisions)) == ["j-a-2", "j-a-3", "j-x-1"]


def test_once_ready_jobs_take_turns_pod_by_pod() -> None:
    jobs = [Job(f"j{j}", equal_pods(f"j{j}", 4, cpu=1), least=1, created=j) for j in range(2)]

    placed = bound(run(snapshot([Node("n1", 4)], jobs), real()))

    assert sorted(placed) == ["j0-0", "j0-1", "j1-0", "j1-1"]


def test_members_beyond_the_minimum_leave_in_a_commit_of_their_own() -> None:
    decisions = run(snapshot([Node("n1", 4)], [Job("j", equal_pods("j", 4, cpu=1), least=2)]))

    assert [(commit.whole, len(commit.binds)) for commit in decisions.commits] == [(True, 2), (False, 2)]


def test_gated_pods_and_pending_groups_wait() -> None:
    gated = Job("g", [Pod("g-0", cpu=1, gated=True), Pod("g-1", cpu=1)], least=1)
    waiting = Job("p", equal_pods("p", 1, cpu=1), phase=Phase.PENDING)

    decisions = run(
        snapshot([Node("n1", 4)], [gated, waiting]), with_stubs(actions=(Enqueue({}), Allocate({})))
    )

    assert sorted(bound(decisions)) == ["g-1", "p-0"]
    assert "ns/g-0" not in {c.task for c in decisions.conditions}


def test_without_enqueue_pending_groups_are_admitted() -> None:
    world = snapshot([Node("n1", 4)], [Job("p", equal_pods("p", 1, cpu=9), phase=Phase.EMPTY)])

    assert run(world).groups[0].status.phase is Phase.INQUEUE


class Refuse(Plugin[Args]):
    """Queue `a` is overused, queue `b` allows one pod."""

    def queue_overused(self, view: View, queue: int) -> bool:
        return view.snapshot.queues.names[queue] == "a"

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        return min(count, 1 - int(view.queues.claimed[2, queue]))


def test_queues_limit_what_their_jobs_get() -> None:
    jobs = [Job(name, equal_pods(name, 3, cpu=1), least=1, queue=name) for name in ("a", "b")]

    decisions = run(snapshot([Node("n1", 9)], jobs, [Queue("a"), Queue("b")]), with_stubs(Refuse))

    assert bound(decisions) == {"b-0": "n1"}
    assert all("nodes are unavailable" not in c.message for c in decisions.conditions)


def test_a_nominated_node_is_tried_first() -> None:
    nodes = [Node("n1", 4), Node("n2", 4)]
    for name in ("n1", "n2"):
        world = snapshot(nodes, [Job("j", [Pod("j-0", cpu=1, nominated=name)])])
        assert bound(run(world, real())) == {"j-0": name}


def test_an_idle_node_comes_before_a_nominated_one_that_is_being_cleared() -> None:
    leaving = Job("old", [Pod("old-0", cpu=4, status=Status.RELEASING, node="n1")], least=0)
    claimant = Job("j", [Pod("j-0", cpu=1, nominated="n1")])

    alone = run(snapshot([Node("n1", 4)], [leaving, claimant]), real())
    beside = run(snapshot([Node("n1", 4), Node("n2", 1)], [leaving, claimant]), real())

    assert alone.pipelined == (("ns/j-0", "n1"),)
    assert bound(beside) == {"j-0": "n2"}


def test_a_cluster_without_nodes_says_so() -> None:
    decisions = run(snapshot([], [Job("j", equal_pods("j", 1, cpu=1)), Job("k", equal_pods("k", 1))]), real())

    assert bound(decisions) == {}
    assert {c.message for c in decisions.conditions if c.task == "ns/k-0"} == {"0/0 nodes are unavailable"}


@pytest.mark.parametrize("roles", [("",), ("w",), ("", "w")])
def test_what_is_known_of_a_failed_gang_changes_nothing_for_the_next(
    roles: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = Job(
        "old", [Pod("old-0", cpu=1, status=Status.RELEASING, node="n1")], least=0, phase=Phase.RUNNING
    )
    jobs = [
        Job(
            f"j{j}",
            [Pod(f"j{j}-{i}", cpu=1, role=roles[i % len(roles)], index=i) for i in range(count)],
            least,
            created=j,
        )
        for j, (count, least) in enumerate(
            [(8, 8), (8, 8), (9, 7), (7, 7), (5, 4), (6, 6), (6, 6), (2, 2), (4, 3)]
        )
    ]
    world = snapshot([Node("n1", 4), Node("n2", 2)], [ending, *jobs])
    tried = []
    original = Turn.place
    monkeypatch.setattr(Turn, "place", lambda turn, mark: tried.append(turn.job) or original(turn, mark))
    quick = run(world, with_stubs())
    quick_tries = len(tried)
    monkeypatch.setattr(Turn, "known_to_fail", lambda turn: None)

    assert run(world, with_stubs()) == quick
    assert quick_tries < len(tried) - quick_tries or len(roles) > 1
