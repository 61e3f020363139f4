"""What a pod needs and no sum tells: asked for at each placing, undone with it, told with the binding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tests.core.stubs import Gang
from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import decide, open_session
from vcray.core.tables import Status
from vcray.core.view import Shape, View


class Slots(Plugin[Args]):
    """Two slots a node, none on nodes that are called broken; pods with a GPU take one."""

    def open(self, view: View) -> None:
        size = len(view.snapshot.nodes)
        self.now_ = np.zeros(size, dtype=int)
        self.future_ = np.zeros(size, dtype=int)
        for task, node in enumerate(view.snapshot.tasks.node.tolist()):
            if node >= 0:
                self.now_[node] += 1
                self.future_[node] += view.status[task] != Status.RELEASING

    def reserves(self, view: View, shape: Shape) -> bool:
        return dict(shape.spec.requests).get("nvidia.com/gpu", 0) > 0

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        if view.snapshot.nodes.names[node].startswith("broken"):
            return "node(s) had a broken slot"
        held = self.future_[node] if promised else max(self.future_[node], self.now_[node])
        if held >= 2:
            return "node(s) had no slot"
        return self._move(node, 1, 0 if promised else 1)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        return self._move(node, -1, 0)

    def _move(self, node: int, future: int, now: int) -> Callable[[], None]:
        self.future_[node] += future
        self.now_[node] += now

        def undo() -> None:
            self.future_[node] -= future
            self.now_[node] -= now

        return undo

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        return {"example.com/slot": view.snapshot.nodes.names[node]}


POLICY = policy_of([Allocate({})], [[(Gang, {}), (Slots, {})]])


def bound(given: object) -> dict[str, str]:
    decisions = decide(given, POLICY)  # type: ignore[arg-type]
    return {bind.task: bind.node for commit in decisions.commits for bind in commit.binds}


def test_a_node_that_refuses_is_passed_over_and_the_next_best_is_tried() -> None:
    given = snapshot(
        [Node("broken-1", gpu=8), Node("n1", gpu=8), Node("broken-2", gpu=8), Node("n2", gpu=8)],
        [Job("j", equal_pods("p", 5, gpu=1), least=1)],
    )
    places = sorted(bound(given).values())
    assert places == ["n1", "n1", "n2", "n2"]


def test_a_gang_that_is_undone_gives_its_slots_back() -> None:
    given = snapshot(
        [Node("n1", gpu=8)],
        [
            Job("big", equal_pods("a", 3, gpu=1), created=1),
            Job("small", equal_pods("b", 2, gpu=1), created=2),
        ],
    )
    assert set(bound(given)) == {"ns/b-0", "ns/b-1"}


def test_bindings_bear_the_notes_of_what_was_reserved_and_others_none() -> None:
    given = snapshot([Node("n1", gpu=8)], [Job("j", [Pod("p", gpu=1), Pod("q", cpu=1)], least=1)])
    commits = decide(given, POLICY).commits
    assert {bind.task: bind.notes for commit in commits for bind in commit.binds} == {
        "ns/p": (("example.com/slot", "n1"),),
        "ns/q": (),
    }


def test_an_evicted_task_gives_its_slot_to_a_promise_alone_until_it_is_gone() -> None:
    running = [Pod(f"r{i}", gpu=1, status=Status.RUNNING, node="n1") for i in range(2)]
    session = open_session(
        snapshot([Node("n1", gpu=8)], [Job("old", running), Job("new", [Pod("p", gpu=1)])]), POLICY
    )
    ledger, shape = session.ledger, session.view.shapes[0]
    mark = ledger.checkpoint()
    assert ledger.pipeline(1, shape, [2], [0]) == "node(s) had no slot"
    ledger.evict(0)
    assert ledger.place(1, shape, [2], [0]) == "node(s) had no slot"
    assert session.placer.place(1, shape, [2]) == 1
    assert session.view.status[2] == Status.PIPELINED
    ledger.withdraw(2)
    assert ledger.pipeline(1, shape, [2], [0]) == ""
    ledger.rollback(mark)
    assert ledger.pipeline(1, shape, [2], [0]) == "node(s) had no slot"


def test_a_refused_node_is_tried_again_once_something_was_freed() -> None:
    running = [Pod(f"r{i}", gpu=1, status=Status.RUNNING, node="n1") for i in range(2)]
    session = open_session(
        snapshot([Node("n1", gpu=8)], [Job("old", running), Job("new", [Pod("p", gpu=1)])]), POLICY
    )
    shape = session.view.shapes[0]
    assert session.placer.place(1, shape, [2]) == 0
    session.ledger.evict(0)
    assert session.placer.place(1, shape, [2]) == 1
    assert session.view.status[2] == Status.PIPELINED


class Gate(Slots):
    """A second plugin that refuses nodes called shut."""

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        if view.snapshot.nodes.names[node].startswith("shut"):
            return "node(s) were shut"
        return super().reserve(view, task, node, promised)


def test_a_refusal_of_one_plugin_undoes_what_others_reserved_and_is_told() -> None:
    given = snapshot([Node("shut", gpu=8), Node("n1", gpu=0)], [Job("j", [Pod("p", gpu=1)])])
    session = open_session(given, policy_of([Allocate({})], [[(Gang, {}), (Slots, {}), (Gate, {})]]))
    shape = session.view.shapes[0]
    assert session.placer.place(0, shape, [0]) == 0
    slots = next(each for tier in session.chains.plugins for each, _ in tier if type(each) is Slots)
    assert slots.future_.tolist() == slots.now_.tolist() == [0, 0]
    assert session.placer.explain(0, shape) == (
        "0/2 nodes are unavailable: 1 Insufficient nvidia.com/gpu, 1 node(s) were shut."
    )


def test_tasks_of_a_shape_that_reserves_come_one_at_a_time() -> None:
    session = open_session(snapshot([Node("n1", gpu=8)], [Job("j", equal_pods("p", 2, gpu=1))]), POLICY)
    with pytest.raises(ValueError, match="one at a time"):
        session.ledger.place(0, session.view.shapes[0], [0, 1], [0, 0])


def test_a_node_promised_to_a_task_is_tried_though_it_refused_another() -> None:
    class Particular(Slots):
        """Nobody but p-1 gets a slot."""

        particular = True

        def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
            if view.snapshot.tasks.names[task] != "ns/p-1":
                return "node(s) were another's"
            return super().reserve(view, task, node, promised)

    given = snapshot([Node("n1", gpu=8)], [Job("j", equal_pods("p", 2, gpu=1))])
    session = open_session(given, policy_of([Allocate({})], [[(Gang, {}), (Particular, {})]]))
    shape = session.view.shapes[0]
    assert session.placer.place(0, shape, [0]) == 0
    assert not session.placer.place_at(0, shape, 0, 0)
    assert session.placer.place_at(0, shape, 1, 0)
