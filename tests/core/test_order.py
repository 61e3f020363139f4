"""Queues, jobs and tasks come in the order of their keys, whatever their rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core import stubs
from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.core.arrays import Int
from vcray.core.order import KeyedHeap, Turns, Worksheet, ascending_tasks
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import Session, open_session
from vcray.core.snapshot import Snapshot
from vcray.core.view import View


def opened(world: Snapshot, *plugins: type[Plugin[Args]]) -> Session:
    return open_session(world, policy_of([], [[(plugin, {}) for plugin in plugins]]))


def names(session: Session, tasks: list[int]) -> list[str]:
    return [session.view.snapshot.tasks.names[task].removeprefix("ns/") for task in tasks]


def test_a_stale_key_is_skipped() -> None:
    heap = KeyedHeap([((3,), 0), ((2,), 1)])
    heap.push((1,), 0)
    heap.push((4,), 1)

    assert [heap.pop(), heap.pop(), heap.pop()] == [0, 1, None]


def test_jobs_go_by_plugins_then_creation_then_name() -> None:
    jobs = [
        Job("c", equal_pods("c", 1, cpu=1), created=5),
        Job("b", equal_pods("b", 1, cpu=1), created=5),
        Job("late", equal_pods("late", 1, cpu=1), created=9, priority=1),
        Job("a", equal_pods("a", 1, cpu=1), created=7),
    ]
    session = opened(snapshot([Node("n")], jobs), stubs.Priority)
    turns = Turns(session.view, session.chains, [0, 1, 2, 3], [0])

    assert [turns.pop_job(0) for _ in range(5)] == [2, 1, 0, 3, None]


class ByName(Plugin[Args]):
    def queue_order(self, view: View, queue: int) -> tuple[float, ...]:
        return (float(view.queues.claimed[2, queue]),)


def test_a_queue_comes_back_with_its_present_key() -> None:
    queues = [Queue("b"), Queue("a")]
    session = opened(snapshot([Node("n")], [Job("j", equal_pods("j", 1, cpu=1), queue="a")], queues), ByName)
    turns = Turns(session.view, session.chains, [0], [0, 1])

    assert turns.pop_queue() == 1
    session.ledger.place(0, session.view.shapes[0], [0], [0])
    turns.push_queue(1)

    assert [turns.pop_queue(), turns.pop_queue(), turns.pop_queue()] == [0, 1, None]


def in_order(session: Session, count: int) -> Int:
    """The first tasks in task order, job by job."""
    rows = np.arange(count)
    return ascending_tasks(session.view, session.chains, rows, session.view.snapshot.tasks.job[rows])


@pytest.mark.parametrize("seed", range(4))
def test_tasks_go_by_index_creation_and_uid(seed: int) -> None:
    pods = [Pod(f"t-p-{i}", cpu=1, index=i) for i in (10, 2, 1)]
    plain = [Pod("z", cpu=1, created=3), Pod("y", cpu=1, created=3), Pod("x", cpu=1, created=9)]
    rng = np.random.default_rng(seed)
    jobs = [Job("i", [pods[i] for i in rng.permutation(3)]), Job("p", [plain[i] for i in rng.permutation(3)])]
    session = opened(snapshot([Node("n")], jobs))

    ordered = in_order(session, 6)

    assert names(session, ordered.tolist()) == ["t-p-1", "t-p-2", "t-p-10", "y", "z", "x"]


def test_a_worksheet_is_cut_into_runs_of_equal_tasks() -> None:
    pods = [Pod(f"j-p-{i}", cpu=1 if i < 3 else 2, index=i, role="b" if i == 2 else "a") for i in range(5)]
    session = opened(snapshot([Node("n")], [Job("j", pods)]))
    sheet = Worksheet(session.view, session.chains, np.arange(5))

    runs = []
    while sheet.left(0):
        runs.append(names(session, sheet.run(0, 9)))
        sheet.pop(0, len(runs[-1]))

    assert runs == [["j-p-0", "j-p-1"], ["j-p-2"], ["j-p-3", "j-p-4"]]


def test_indexes_count_only_where_all_tasks_of_the_job_have_one() -> None:
    pods = [
        Pod("t-p-5", cpu=1, index=5, created=1),
        Pod("plain", cpu=1, created=2),
        Pod("t-p-1", cpu=1, index=1, created=3),
    ]
    session = opened(snapshot([Node("n")], [Job("j", pods)]))

    ordered = in_order(session, 3)

    assert names(session, ordered.tolist()) == ["t-p-5", "plain", "t-p-1"]


def test_what_is_pushed_later_takes_its_place_among_the_first() -> None:
    heap = KeyedHeap([((5,), 0), ((1,), 1), ((3,), 2)])
    popped = [heap.pop()]
    for key, item in (((4,), 3), ((2,), 4), ((6,), 2)):
        heap.push(key, item)

    assert [*popped, *(heap.pop() for _ in range(5))] == [1, 4, 3, 0, 2, None]
