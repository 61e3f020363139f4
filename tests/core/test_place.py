"""The batched placer against one pod at a time without caches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.core import stubs
from tests.core.random_worlds import ending_snapshot, preferring_snapshot, random_snapshot
from tests.core.world import Job, Node, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.hooks import Reject
from vcray.core.place import Placer
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, build_policy, policy_of
from vcray.core.session import Session, decide, open_session
from vcray.core.tables import Status
from vcray.core.view import Rows, Shape, View
from vcray.registry import discover


@pytest.fixture(scope="module")
def policy() -> Policy:
    return build_policy(load_scheduler_config(HELM_CONF), discover())


def runs(session: Session) -> list[tuple[int, int, list[int]]]:
    """Pending tasks cut into (job, shape, tasks)."""
    tasks = session.view.snapshot.tasks
    found: list[tuple[int, int, list[int]]] = []
    for task in np.flatnonzero(session.view.status == Status.PENDING).tolist():
        job, shape = int(tasks.job[task]), int(tasks.shape[task])
        if found and found[-1][:2] == (job, shape):
            found[-1][2].append(task)
        else:
            found.append((job, shape, [task]))
    return found


def batched(session: Session) -> list[tuple[int, int, int]]:
    for number, (job, shape, tasks) in enumerate(runs(session)):
        mark = session.ledger.checkpoint()
        session.placer.place(job, session.view.shapes[shape], tasks)
        if number % 3 == 2:
            session.ledger.rollback(mark)
    return seats(session)


def one_by_one(session: Session) -> list[tuple[int, int, int]]:
    """A placer without memory for every pod."""
    for number, (job, shape, tasks) in enumerate(runs(session)):
        mark = session.ledger.checkpoint()
        for task in tasks:
            fresh = Placer(session.view, session.chains, session.ledger)
            if not fresh.place(job, session.view.shapes[shape], [task]):
                break
        if number % 3 == 2:
            session.ledger.rollback(mark)
    return seats(session)


def seats(session: Session) -> list[tuple[int, int, int]]:
    status = session.view.status.tolist()
    return [(task, status[task], node) for task, node in enumerate(session.ledger.node)]


@pytest.mark.parametrize("block", range(4))
def test_a_batch_lands_where_single_pods_would(policy: Policy, block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        snapshot = random_snapshot(seed)
        assert batched(open_session(snapshot, policy)) == one_by_one(open_session(snapshot, policy)), seed


def test_a_batch_follows_preferences_while_nodes_fill_up(policy: Policy) -> None:
    for seed in (*range(30), 51, 171, 315, 377, 678, 853, 998):
        snapshot = preferring_snapshot(seed)
        assert batched(open_session(snapshot, policy)) == one_by_one(open_session(snapshot, policy)), seed


def test_promises_land_where_single_ones_would(policy: Policy) -> None:
    """Also with a score that reads `used`, which promises leave alone."""
    packing = policy_of([], [[(stubs.Gang, {}), (stubs.Pack, {}), (stubs.Spread, {})]])
    promised = 0
    for seed in range(40):
        snapshot = ending_snapshot(seed)
        for chosen in (policy, packing):
            seats_taken = batched(open_session(snapshot, chosen))
            assert seats_taken == one_by_one(open_session(snapshot, chosen)), seed
            promised += sum(status == Status.PIPELINED for _, status, _ in seats_taken)
    assert promised > 300


class Unasked(Plugin[Args]):
    """Fails as soon as it is asked about nodes."""

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> None:
        raise AssertionError

    def node_score(self, view: View, rows: Rows, shape: Shape) -> None:
        raise AssertionError

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        raise AssertionError


def test_plugins_are_not_asked_about_nodes_when_none_has_room() -> None:
    nodes = [Node(f"n{row}", cpu=1) for row in range(20)]
    world = snapshot(nodes, [Job("j", equal_pods("j", 2, cpu=2))])
    decisions = decide(world, policy_of([Allocate({})], [[(Unasked, {})]]))

    assert not decisions.left_out
    assert "20 Insufficient cpu." in {each.message for each in decisions.conditions}.pop()
