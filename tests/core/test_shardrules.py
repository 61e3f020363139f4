"""NodeShards as rules: which nodes are usable, what the status says, and the order of groups of nodes."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.actors.policies import policy_from
from vcray.cache.cluster import snapshot_of
from vcray.core.nodeshards import NodeShard, NodeShardTable
from vcray.core.session import decide
from vcray.core.shardrules import with_shard
from vcray.registry import discover

REGISTRY = discover()
CONF = """\
actions: "allocate"
tiers:
- plugins:
  - name: predicates
  - name: nodeorder
"""


def shard(name, *desired, in_use=()):
    return {
        "kind": "NodeShard",
        "metadata": {"name": name},
        "spec": {"nodesDesired": list(desired)},
        "status": {"nodesInUse": list(in_use)},
    }


def decided(mode, *objects):
    policy = with_shard(policy_from(CONF, REGISTRY), "mine", mode)
    return decide(snapshot_of([queue("default"), *objects]), policy)


def places(decisions):
    return {bind.task.partition("/")[2]: bind.node for commit in decisions.commits for bind in commit.binds}


def test_a_shard_may_use_what_it_desires_and_no_other_uses():
    table = NodeShardTable(
        (NodeShard("mine", ("a", "b", "c")), NodeShard("x", ("b",), in_use=("b",)), NodeShard("y", ("a",)))
    )

    assert table.usable("mine") == {"a", "c"}
    assert table.usable("absent") == frozenset()


def test_the_status_names_what_is_used_missing_and_to_be_given_up_and_is_told_only_when_it_differs():
    other = NodeShard("x", (), in_use=("b",))
    before = NodeShard("mine", ("a", "b"))

    told = NodeShardTable((before, other)).status("mine")

    assert told == NodeShard("mine", ("a", "b"), in_use=("a",), to_add=("b",))
    assert NodeShardTable((told, other)).status("mine") is None
    assert NodeShardTable((other,)).status("mine") is None


@pytest.mark.parametrize("order", list(permutations(["n1", "n2", "n3"]))[:3])
def test_hard_refuses_nodes_outside_with_volcanos_reason(order):
    nodes = [node(name) for name in order]
    decisions = decided("hard", *nodes, shard("mine"), podgroup("g"), pod("p", group="g", cpu=1))

    (condition,) = decisions.conditions
    assert condition.message == "0/3 nodes are unavailable: 3 node isn't in scheduler node shard."


def test_none_ignores_shards():
    decisions = decided("none", node("n1"), shard("mine"), podgroup("g"), pod("p", group="g", cpu=1))

    assert places(decisions) == {"p": "n1"}


def test_soft_prefers_the_shard_even_to_a_better_node():
    full = pod("r", cpu=60, node="inside")
    decisions = decided(
        "soft", node("inside"), node("outside"), full, shard("mine", "inside"), podgroup("g"),
        pod("p", group="g", cpu=1),
    )  # fmt: skip

    assert places(decisions) == {"p": "inside"}


def test_soft_takes_idle_nodes_outside_before_what_is_being_freed_inside():
    leaving = pod("old", cpu=4, node="inside", deleting=True)
    decisions = decided(
        "soft", node("inside", cpu=4), node("outside", cpu=4), leaving, shard("mine", "inside"),
        podgroup("g"), pod("p", group="g", cpu=2),
    )  # fmt: skip

    assert places(decisions) == {"p": "outside"}


def test_soft_takes_what_is_being_freed_inside_before_the_same_outside():
    leaving = [pod(f"old-{name}", cpu=4, node=name, deleting=True) for name in ("inside", "outside")]
    decisions = decided(
        "soft", node("inside", cpu=4), node("outside", cpu=4), *leaving, shard("mine", "inside"),
        podgroup("g"), pod("p", group="g", cpu=2),
    )  # fmt: skip

    assert decisions.pipelined == (("default/p", "inside"),)


def test_within_the_shard_scores_decide_as_ever():
    full = pod("r", cpu=60, node="a")
    decisions = decided(
        "soft", node("a"), node("b"), node("c"), full, shard("mine", "a", "b"), podgroup("g"),
        pod("p", group="g", cpu=1),
    )  # fmt: skip

    assert places(decisions) == {"p": "b"}
