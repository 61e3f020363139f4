"""Rollback is identity; sums follow from the pod list whatever was done in whatever order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.random_worlds import random_snapshot
from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.core.ledger import Ledger
from vcray.core.openview import open_view
from vcray.core.tables import ALLOCATED_STATUS, MISSING, Status
from vcray.core.view import View


def state(view: View, ledger: Ledger) -> dict[str, object]:
    """Every live sum as plain values; `charges` counts changes, undone ones too, so that caches notice them."""
    out: dict[str, object] = {"seats": list(ledger.node), "version": ledger.version}
    for part in (view.nodes, view.jobs, view.queues):
        for name in set(type(part).__dataclass_fields__) - {"charges"}:
            value = getattr(part, name)
            out[f"{type(part).__name__}.{name}"] = (
                value.tolist() if isinstance(value, np.ndarray) else repr(value)
            )
    out["status"] = view.status.tolist()
    return out


Step = tuple[int, int, int]
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 40)), max_size=14)


def apply(view: View, ledger: Ledger, step: Step) -> None:
    """Place, promise, withdraw or evict something that may be."""
    kind, pick, where = step
    tasks, nodes = view.snapshot.tasks, len(view.snapshot.nodes)
    wanted = {0: (Status.PENDING,), 1: (Status.PENDING,), 2: (Status.PIPELINED,), 3: ALLOCATED_STATUS}[kind]
    rows = [
        t for t in range(len(tasks)) if view.status[t] in wanted and (kind != 3 or ledger.node[t] != MISSING)
    ]
    if not rows:
        return
    task = rows[pick % len(rows)]
    job, shape = int(tasks.job[task]), view.shapes[int(tasks.shape[task])]
    if kind == 2:
        ledger.withdraw(task)
    elif kind == 3:
        ledger.evict(task)
    else:
        equal = [t for t in rows if tasks.job[t] == job and tasks.shape[t] == shape.row][: 1 + where % 4]
        seats = [(where + i // 2) % nodes for i in range(len(equal))]
        (ledger.place if kind == 0 else ledger.pipeline)(job, shape, equal, seats)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 400), before=STEPS, after=STEPS)
def test_rollback_is_identity(seed: int, before: list[Step], after: list[Step]) -> None:
    view, matrix = open_view(random_snapshot(seed))
    ledger = Ledger(view, matrix)
    for step in before:
        apply(view, ledger, step)
    mark, expected = ledger.checkpoint(), state(view, ledger)

    for step in after:
        apply(view, ledger, step)
    ledger.rollback(mark)

    assert state(view, ledger) == expected


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 400), steps=STEPS)
def test_sums_are_those_of_the_pods(seed: int, steps: list[Step]) -> None:
    world = random_snapshot(seed)
    view, matrix = open_view(world)
    ledger = Ledger(view, matrix)
    for step in steps:
        apply(view, ledger, step)

    used, claimed = np.zeros_like(world.nodes.used), np.zeros_like(view.jobs.claimed)
    requested, count = np.zeros_like(used), np.zeros_like(view.jobs.count)
    for task, status in enumerate(view.status.tolist()):
        request, job = view.shapes[int(world.tasks.shape[task])].request, int(world.tasks.job[task])
        count[status, job] += 1
        node = ledger.node[task]
        if status in ALLOCATED_STATUS or status == Status.RELEASING:
            used[:, node] += request
        if status in ALLOCATED_STATUS or status == Status.PIPELINED:
            claimed[:, job] += request
            requested[:, node] += request
        if status == Status.RELEASING and world.tasks.status[task] == Status.RELEASING:
            requested[:, node] += request

    assert (view.nodes.used == used).all()
    assert (view.nodes.idle == world.nodes.allocatable - used).all()
    assert (view.nodes.future == view.nodes.idle + view.nodes.releasing - view.nodes.pipelined).all()
    assert (view.nodes.requested == requested).all()
    assert (view.jobs.claimed == claimed).all()
    assert (view.jobs.count == count).all()
    assert view.queues.claimed.T.tolist() == view.queues.claimed_list


def test_every_touched_row_is_in_the_journal_rollbacks_too() -> None:
    view, matrix = open_view(snapshot([Node("a"), Node("b")], [Job("j", equal_pods("j", 2, cpu=1))]))
    ledger = Ledger(view, matrix)
    shape = view.shapes[0]
    mark = ledger.checkpoint()
    ledger.place(0, shape, [0, 1], [1, 0])
    pointer = ledger.touched

    ledger.rollback(mark)

    assert ledger.touched_since(0) == [0, 1]
    assert ledger.touched_since(pointer) == [0, 1]
    assert ledger.undone[0] == (Status.ALLOCATED, 1)


def test_the_journal_grows_past_its_first_size() -> None:
    view, matrix = open_view(snapshot([Node("a")], [Job("j", equal_pods("j", 1, cpu=1))]))
    ledger = Ledger(view, matrix)
    for _ in range(1500):
        mark = ledger.checkpoint()
        ledger.place(0, view.shapes[0], [0], [0])
        ledger.rollback(mark)

    assert ledger.touched == 3000
    assert ledger.touched_since(0) == [0]


def test_a_commit_says_whether_the_gang_was_below_its_minimum() -> None:
    pods = [Pod("j-0", cpu=1, status=Status.RUNNING, node="a"), *equal_pods("k", 2, cpu=1)]
    view, matrix = open_view(snapshot([Node("a")], [Job("j", pods, least=2)]))
    ledger = Ledger(view, matrix)
    for task in (1, 2):
        ledger.place(0, view.shapes[0], [task], [0])
        ledger.commit(0, [task])

    assert [commit.whole for commit in ledger.commits] == [True, False]
    assert view.status.tolist() == [Status.RUNNING, Status.BINDING, Status.BINDING]
