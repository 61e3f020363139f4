"""status.nodeCount of HyperNodes."""

from __future__ import annotations

import pytest

from tests.controllers.networks import Network, exact, member, pattern
from vcray.api.meta import JsonObject
from vcray.api.resources import HYPERNODES, NODES
from vcray.controllers.base import Change, Outcome, UpdateStatus


@pytest.mark.parametrize(
    ("members", "number"),
    [
        ([exact("n1"), exact("nowhere")], 2),
        ([exact("n1"), exact("n1"), pattern("n1")], 1),
        ([exact("a", "HyperNode"), exact("b", "HyperNode")], 2),
        ([pattern("1")], 2),
        ([pattern("^n[12]$")], 2),
        ([pattern("^n1\\z")], 1),
        ([pattern("[")], 0),
        ([pattern("n", "HyperNode")], 3),
        ([member(labelMatch={"matchLabels": {"rack": "r1"}})], 2),
        ([member("HyperNode", labelMatch={"matchLabels": {"rack": "r1"}})], 2),
        ([member(labelMatch={"matchExpressions": [{"key": "rack", "operator": "Exists"}]})], 3),
        ([member(labelMatch={})], 0),
        ([{"type": "Node"}], 0),
    ],
)
def test_members_are_counted_once_each(members: list[JsonObject], number: int) -> None:
    """api-controllers.md 10.47."""
    w = Network()
    w.node("n1", rack="r1")
    w.node("n2", rack="r1")
    w.node("n3", rack="r2")
    w.node("m1")

    w.hypernode("h", *members)

    assert (w.count("h") or 0) == number


def test_the_count_follows_the_spec_and_leaves_conditions_alone() -> None:
    w = Network()
    w.hypernode("h", exact("n1"))
    condition = {"type": "Fine", "status": "True"}
    w.change(HYPERNODES, "", "h", status__conditions=[condition])
    w.settle()
    assert len(w.did(UpdateStatus)) == 1

    w.change(HYPERNODES, "", "h", spec__members=[exact("n1"), exact("n2")])
    w.settle()

    assert w.objects[HYPERNODES, "", "h"]["status"] == {"nodeCount": 2, "conditions": [condition]}


def test_nodes_that_come_go_or_are_labelled_are_counted_a_second_later_and_together() -> None:
    w = Network()
    w.hypernode("named", exact("n1"))
    w.hypernode("matched", pattern("^n"))
    w.hypernode("labelled", member(labelMatch={"matchLabels": {"rack": "r1"}}))
    before = len(w.did(UpdateStatus))

    w.node("n1", rack="r1")
    w.node("n2")
    assert len(w.did(UpdateStatus)) == before
    w.advance(1)
    assert (w.count("matched"), w.count("labelled")) == (2, 1)
    assert len(w.did(UpdateStatus)) == before + 2

    w.change(NODES, "", "n2", metadata__labels={"rack": "r1"})
    w.remove(NODES, "", "n1")
    w.settle()
    w.advance(1)
    assert (w.count("named"), w.count("matched"), w.count("labelled")) == (1, 1, 1)


def test_a_node_whose_status_alone_changes_counts_nothing_anew() -> None:
    w = Network()
    w.hypernode("matched", pattern("^n"))
    w.node("n1")
    w.advance(1)
    w.waiting.clear()

    w.change(NODES, "", "n1", status__phase="Running")
    w.settle()

    assert w.waiting == []


def test_a_hypernode_whose_spec_stays_is_not_looked_at() -> None:
    w = Network()
    w.hypernode("h", exact("n1"))
    held = w.objects[HYPERNODES, "", "h"]

    assert list(w.controller.requests(Change(HYPERNODES, held, {**held, "status": {}}), w)) == []


def test_a_count_that_cannot_be_written_is_tried_again() -> None:
    w = Network()
    w.fail = lambda effect: Outcome(False, status=409, reason="Conflict", message="no")
    w.hypernode("h", exact("n1"))
    assert (w.count("h"), w.errors) == (None, ["count members of HyperNodes: h: no"])

    w.fail = lambda effect: None
    w.advance(1)

    assert w.count("h") == 1


def test_a_hypernode_that_is_gone_meanwhile_is_no_failure() -> None:
    w = Network()
    w.fail = lambda effect: Outcome(False, status=404, reason="NotFound")

    w.hypernode("h", exact("n1"))

    assert w.errors == []


def test_a_selector_that_cannot_be_read_keeps_nobody_else_from_being_counted() -> None:
    w = Network()
    w.hypernode("odd", member(labelMatch={"matchLabels": {"a": 1}}))
    w.hypernode("matched", pattern("^n"))

    w.node("n1")
    w.advance(1)

    assert (w.count("odd"), w.count("matched")) == (None, 1)
