"""HyperNode objects become a table by name, and the table a tree over node rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from tests.builders import node
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.hypernodes import TOP, HyperNodes, HyperNodeTable, hypernodes_of
from vcray.core.tables import MISSING


def hypernode(name: str, tier: int, *members: JsonObject, tier_name: str = "") -> JsonObject:
    spec: JsonObject = {"tier": tier, "members": list(members)}
    if tier_name:
        spec["tierName"] = tier_name
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
    }


def exact(name: str, kind: str = "Node") -> JsonObject:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def child(name: str) -> JsonObject:
    return exact(name, "HyperNode")


def table_of(*objects: JsonObject) -> HyperNodeTable:
    table = snapshot_of(objects).details.hypernodes
    assert table is not None
    return table


def members(table: HyperNodeTable) -> dict[str, tuple[str, ...]]:
    return dict(zip(table.names, table.members, strict=True))


def tree_of(objects: Sequence[JsonObject]) -> HyperNodes:
    snapshot = snapshot_of(objects)
    return hypernodes_of(snapshot.details.hypernodes, snapshot.nodes.names)


def test_a_cluster_without_hypernodes_has_no_table() -> None:
    assert snapshot_of([node("n1")]).details.hypernodes is None


def test_members_are_chosen_by_name_by_pattern_and_by_labels() -> None:
    table = table_of(
        node("a-1"),
        node("a-2", labels={"rack": "r1"}),
        node("b-1", labels={"rack": "r1"}),
        hypernode("exact", 1, exact("a-1"), exact("not-there")),
        hypernode("pattern", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "-1"}}}),
        hypernode("label", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "r1"}}}}),
    )
    assert members(table) == {
        "exact": ("a-1", "not-there"),
        "label": ("a-2", "b-1"),
        "pattern": ("a-1", "b-1"),
    }


def test_patterns_are_read_as_the_webhook_that_admits_them_reads_them() -> None:
    table = table_of(
        node("n1"),
        node("n1\u00e9"),
        hypernode("h", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": r"^n1\z"}}}),
    )

    assert members(table) == {"h": ("n1",)}


def test_hypernodes_are_members_by_name_alone() -> None:
    by_pattern: JsonObject = {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "n"}}}
    by_labels: JsonObject = {"type": "HyperNode", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}}
    table = table_of(
        node("n1", labels={"a": "b"}), hypernode("h", 1), hypernode("up", 2, by_pattern, by_labels)
    )

    assert members(table) == {"h": (), "up": ()}
    assert table.parents == (MISSING, MISSING)


@pytest.mark.parametrize(
    "selector",
    [
        {"labelMatch": {}},
        {"regexMatch": {"pattern": "("}},
        {"labelMatch": {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}},
        {},
    ],
    ids=["empty labels", "no pattern", "unknown operator", "nothing"],
)
def test_a_selector_that_says_nothing_selects_nothing(selector: JsonObject) -> None:
    table = table_of(node("n1"), hypernode("h", 1, {"type": "Node", "selector": selector}))
    assert table.members == ((),)


def test_two_parents_make_the_table_unfit() -> None:
    table = table_of(
        hypernode("leaf", 1, exact("n1")),
        hypernode("s1", 2, child("leaf")),
        hypernode("s2", 2, child("leaf")),
    )
    assert table.problem == "HyperNode leaf has two parents: s1 and s2"


def test_a_circle_makes_the_table_unfit() -> None:
    table = table_of(hypernode("a", 1, child("b")), hypernode("b", 2, child("a")))
    assert table.problem == "HyperNode a is inside itself"


def test_a_child_that_does_not_exist_is_passed_over() -> None:
    table = table_of(node("n1"), hypernode("s", 2, child("gone"), exact("n1")))
    assert (table.problem, table.members, table.parents) == ("", (("n1",),), (MISSING,))


def test_a_tier_name_of_two_tiers_means_the_lower() -> None:
    table = table_of(
        hypernode("a", 3, exact("n1"), tier_name="rack"), hypernode("b", 1, exact("n1"), tier_name="rack")
    )
    assert table.tier_names == (("rack", 1),)


def three_tiers() -> list[JsonObject]:
    """s0{n1,n2}, s1{n3,n4}, s2{n5,n6}; s3{s0,s1}; s4{s3,s2}; n7 belongs to none."""
    return [
        *(node(f"n{i}") for i in range(1, 8)),
        hypernode("s0", 1, exact("n1"), exact("n2")),
        hypernode("s1", 1, exact("n3"), exact("n4")),
        hypernode("s2", 1, exact("n5"), exact("n6")),
        hypernode("s3", 2, child("s0"), child("s1")),
        hypernode("s4", 3, child("s3"), child("s2")),
    ]


def test_the_top_holds_every_node_one_tier_above_the_highest() -> None:
    tree = tree_of(three_tiers())
    assert (tree.names[tree.top], tree.tier[tree.top], len(tree.rows(tree.top))) == (TOP, 4, 7)


def test_without_hypernodes_the_top_is_every_nodes_leaf_at_tier_one() -> None:
    tree = tree_of([node("n1"), node("n2")])
    assert (tree.tier, tree.leaf, tree.lowest, tree.ready) == ((1,), [tree.top], 1, True)


def test_an_unfit_table_leaves_the_top_alone() -> None:
    tree = tree_of([node("n1"), hypernode("a", 1, child("b")), hypernode("b", 2, child("a"))])
    assert (tree.ready, tree.names) == (False, (TOP,))


def test_a_hypernode_holds_the_nodes_of_its_descendants() -> None:
    tree = tree_of(three_tiers())
    held = {name: [tree.nodes[row] for row in tree.rows(number)] for number, name in enumerate(tree.names)}
    assert held["s3"] == ["n1", "n2", "n3", "n4"]
    assert held["s4"] == ["n1", "n2", "n3", "n4", "n5", "n6"]


def test_the_lowest_common_ancestor_starts_at_the_node_itself() -> None:
    tree = tree_of(three_tiers())
    row = tree.row
    assert tree.lca(row["s0"], row["s1"]) == row["s3"]
    assert tree.lca(row["s0"], row["s3"]) == row["s3"]
    assert tree.lca(row["s0"], row["s2"]) == row["s4"]
    assert tree.lca(MISSING, row["s2"]) == row["s2"] == tree.lca(row["s2"], MISSING)


def test_the_lowest_hypernode_over_nodes_is_found() -> None:
    tree = tree_of(three_tiers())
    place = {name: row for row, name in enumerate(tree.nodes)}
    cover = [
        tree.covering([place[name] for name in names]) for names in (["n1"], ["n1", "n4"], ["n1", "n7"], [])
    ]
    assert cover == [tree.row["s0"], tree.row["s3"], tree.top, MISSING]


def test_only_hypernodes_of_the_lowest_tier_are_leaves() -> None:
    tree = tree_of(
        [node("n1"), node("n2"), hypernode("low", 1, exact("n1")), hypernode("high", 2, exact("n2"))]
    )
    leaf = {name: tree.leaf[int(tree.cell[row])] for row, name in enumerate(tree.nodes)}
    assert leaf == {"n1": tree.row["low"], "n2": MISSING}


def test_sums_by_hypernode_equal_a_plain_walk() -> None:
    tree = tree_of(three_tiers())
    amounts = np.array([[1, 2, 3, 4, 5, 6, 7], [10, 20, 30, 40, 50, 60, 70]])
    sums = tree.sums(amounts)
    for number in range(len(tree.names)):
        assert sums[:, number].tolist() == amounts[:, tree.rows(number)].sum(axis=1).tolist()


def test_nodes_may_belong_to_several_hypernodes() -> None:
    tree = tree_of(
        [
            *(node(f"n{i}") for i in range(1, 4)),
            hypernode("a", 1, exact("n1"), exact("n2")),
            hypernode("b", 1, exact("n2"), exact("n3")),
        ]
    )
    assert [tree.nodes[row] for row in tree.rows(tree.row["a"])] == ["n1", "n2"]
    assert [tree.nodes[row] for row in tree.rows(tree.row["b"])] == ["n2", "n3"]
    assert tree.leaf[int(tree.cell[tree.nodes.index("n2")])] == tree.row["a"]


def test_changes_of_nodes_are_followed_as_if_all_were_matched_anew() -> None:
    from vcray.cache.details.hypernodes import Matches, MemberRow
    from vcray.core.tables import Requirement

    rng, matches = Random(5), Matches()
    selectors = [
        MemberRow(True, pattern="^a"),
        MemberRow(True, pattern="1"),
        MemberRow(True, labels=(Requirement("rack", "In", ("r1",)),)),
    ]
    nodes: dict[str, tuple[tuple[str, str], ...]] = {}
    for _ in range(200):
        name = f"{rng.choice('ab')}{rng.randrange(20)}"
        if rng.random() < 0.3:
            nodes.pop(name, None)
        else:
            nodes[name] = (("rack", rng.choice(["r1", "r2"])),)
        chosen = rng.sample(selectors, rng.randint(1, 3))
        matches.refresh(nodes, chosen)
        for selector in chosen:
            expected = {
                name
                for name, labels in nodes.items()
                if (re.search(selector.pattern, name) if selector.pattern else ("rack", "r1") in labels)
            }
            assert set(matches.of(selector)) == expected
