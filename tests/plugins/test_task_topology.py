"""Volcano's task-topology: buckets of tasks, their order, and nodes by how much of a bucket they hold."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.world import Job, Node, Pod, snapshot
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.policy import build_policy, policy_of
from vcray.core.session import Session, decide, open_session
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Status
from vcray.plugins.task_topology import TaskTopology
from vcray.plugins.task_topology.buckets import INTER, INTER_ANTI, SELF, SELF_ANTI, wishes_of
from vcray.registry import discover

AFFINITY = "volcano.sh/task-topology-affinity"
ANTI = "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"


def job(notes: dict[str, str], *pods: Pod) -> Job:
    return Job("j", pods, notes=notes)


def pods(role: str, count: int, **more: object) -> list[Pod]:
    return [Pod(f"j-{role}-{i}", cpu=1, role=role, index=i, **more) for i in range(count)]  # type: ignore[arg-type]


def opened(world: Snapshot, weight: int = 1) -> tuple[Session, TaskTopology]:
    session = open_session(
        world,
        policy_of([], [[(TaskTopology, {"task-topology.weight": weight})]]),  # type: ignore[list-item]
    )
    plugin = session.chains.plugins[0][0][0]
    assert isinstance(plugin, TaskTopology)
    return session, plugin


def buckets(session: Session, plugin: TaskTopology) -> list[list[str]]:
    names = session.view.snapshot.tasks.names
    return [[names[t].removeprefix("ns/j-") for t in bucket.tasks] for bucket in plugin.buckets_[0].buckets]


def test_wishes_are_read_from_lists_of_names() -> None:
    wishes = wishes_of({AFFINITY: "ps,worker;worker", ANTI: "ps", ORDER: "worker,ps"}, {"ps", "worker"})
    assert wishes is not None
    assert wishes.near == {"ps": {"worker"}, "worker": {"ps", "worker"}}
    assert wishes.apart == {"ps": {"ps"}}
    assert wishes.kind == {"ps": SELF_ANTI, "worker": INTER}
    assert wishes.order == {"worker": 2, "ps": 1}


def test_kinds_of_wishes_have_an_order() -> None:
    assert SELF_ANTI > INTER > SELF > INTER_ANTI


@pytest.mark.parametrize(
    "notes",
    [{}, {AFFINITY: "ps,gone"}, {AFFINITY: "ps,ps"}, {ANTI: "gone"}, {ORDER: "ps,gone"}, {ORDER: "ps,ps"}],
    ids=["none", "unknown", "twice", "unknown apart", "unknown in the order", "twice in the order"],
)
def test_a_job_without_wishes_or_with_impossible_ones_is_left_alone(notes: dict[str, str]) -> None:
    assert wishes_of(notes, {"ps", "worker"}) is None


def test_friends_share_a_bucket_and_foes_open_one_each() -> None:
    world = snapshot(
        [Node("n1")], [job({AFFINITY: "ps,worker", ANTI: "ps"}, *pods("ps", 2), *pods("worker", 4))]
    )
    assert buckets(*opened(world)) == [
        ["ps-0", "worker-0", "worker-2"],
        ["ps-1", "worker-1", "worker-3"],
    ]


def test_pods_on_a_node_are_that_nodes_bucket() -> None:
    there = [Pod("j-ps-0", cpu=1, role="ps", status=Status.RUNNING, node="n2")]
    world = snapshot(
        [Node("n1"), Node("n2")],
        [job({AFFINITY: "ps,worker"}, *there, *pods("worker", 2), *pods("other", 1))],
    )
    assert buckets(*opened(world)) == [["ps-0", "worker-0", "worker-1"]]


def test_a_role_that_is_only_in_the_order_has_no_bucket() -> None:
    world = snapshot([Node("n1")], [job({AFFINITY: "a", ORDER: "b,a"}, *pods("a", 1), *pods("b", 1))])
    assert buckets(*opened(world)) == [["a-0"]]


def test_tasks_go_bucket_by_bucket_the_bigger_first_then_by_the_stated_order() -> None:
    world = snapshot(
        [Node("n1")],
        [
            job(
                {AFFINITY: "ps,worker", ANTI: "ps", ORDER: "worker,ps"},
                *pods("ps", 2),
                *pods("worker", 3),
                *pods("other", 1),
            )
        ],
    )
    session, plugin = opened(world)
    names = world.tasks.names
    ranks = plugin.task_order(session.view, np.arange(len(names)))
    order = sorted(range(len(names)), key=lambda task: (int(ranks[task]), names[task]))
    ranked = [names[task].removeprefix("ns/j-") for task in order]
    big = max(buckets(session, plugin), key=len)
    assert set(ranked[: len(big)]) == set(big)
    assert ranked[-1] == "other-0"
    assert ranked[0].startswith("worker")


def scores(session: Session, plugin: TaskTopology, name: str) -> list[float]:
    task = session.view.snapshot.tasks.names.index(f"ns/j-{name}")
    found: list[float] = plugin.task_score(session.view, task).tolist()
    return found


def test_a_node_is_better_the_more_of_the_bucket_is_there_or_fits() -> None:
    there = [Pod("j-ps-0", cpu=1, role="ps", status=Status.RUNNING, node="n1")]
    world = snapshot(
        [Node("n1", 3), Node("n2", 8), Node("n3", 1), Node("n4", 0.5)],
        [job({AFFINITY: "ps,worker"}, *there, *pods("worker", 3))],
    )
    session, plugin = opened(world)
    assert scores(session, plugin, "worker-0") == [100 * 3 / 4, 100 * 3 / 4, 100 * 1 / 4, 0.0]


def test_foes_placed_in_this_round_count_against_a_node_until_they_are_undone() -> None:
    world = snapshot([Node("n1", 8), Node("n2", 8)], [job({ANTI: "a"}, *pods("a", 2))])
    session, plugin = opened(world, weight=2)
    before = scores(session, plugin, "a-1")
    mark = session.ledger.checkpoint()
    session.ledger.place(0, session.view.shapes[0], [0], [0])
    assert scores(session, plugin, "a-1") == [0.0, 200.0]
    session.ledger.rollback(mark)
    assert scores(session, plugin, "a-1") == before == [200.0, 200.0]


def test_a_task_without_a_bucket_is_scored_nowhere() -> None:
    world = snapshot([Node("n1")], [job({AFFINITY: "a"}, *pods("a", 1), *pods("b", 1))])
    assert scores(*opened(world), "b-0") == [0.0]


def test_each_parameter_server_gets_a_node_with_its_workers() -> None:
    conf = HELM_CONF.replace(
        "- name: binpack", "- name: task-topology\n    arguments:\n      task-topology.weight: 10"
    )
    policy = build_policy(load_scheduler_config(conf.replace("enqueue, ", "")), discover())
    world = snapshot(
        [Node("n1", 4), Node("n2", 4), Node("n3", 4)],
        [job({AFFINITY: "ps,worker", ANTI: "ps"}, *pods("ps", 2), *pods("worker", 4))],
    )
    seats: dict[str, list[str]] = {}
    for commit in decide(world, policy).commits:
        for bind in commit.binds:
            seats.setdefault(bind.node, []).append(bind.task.removeprefix("ns/j-"))
    assert sorted(sorted(each) for each in seats.values()) == [
        ["ps-0", "worker-0", "worker-2"],
        ["ps-1", "worker-1", "worker-3"],
    ]
