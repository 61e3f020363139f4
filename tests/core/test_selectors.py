"""Node masks of a pod's own words, and sums over topology domains."""

from __future__ import annotations

import numpy as np

from tests.builders import gang, node, queue, taint
from vcray.cache.cluster import snapshot_of
from vcray.core.domains import DomainIndex
from vcray.core.selectors import lending, reachable, requirement_mask, term_mask, tolerates
from vcray.core.tables import NodeTable, NodeTerm, Requirement, Taint, Toleration

ZONE = "topology.kubernetes.io/zone"


def table(*nodes: dict[str, object]) -> NodeTable:
    return snapshot_of([*nodes, queue("default")]).nodes  # type: ignore[list-item]


def by_name(nodes: NodeTable, column: np.ndarray) -> dict[str, object]:
    return dict(zip(nodes.names, column.tolist(), strict=True))


def test_a_key_that_no_node_has_matches_only_what_asks_for_its_absence() -> None:
    nodes = table(node("n1"))
    answers = {
        operator: bool(requirement_mask(nodes, Requirement("gone", operator, ("1",)))[0])
        for operator in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    }
    assert answers == {
        "In": False,
        "NotIn": True,
        "Exists": False,
        "DoesNotExist": True,
        "Gt": False,
        "Lt": False,
    }


def test_unknown_operators_and_fields_match_nothing() -> None:
    nodes = table(node("n1", labels={"a": "b"}))
    assert not requirement_mask(nodes, Requirement("a", "Like", ("b",))).any()
    assert not requirement_mask(nodes, Requirement("metadata.uid", "In", ("n1",), field=True)).any()
    assert not requirement_mask(nodes, Requirement("metadata.name", "In", ("n1", "n2"), field=True)).any()


def test_gt_compares_signed_numbers_and_needs_one_bound() -> None:
    nodes = table(node("n1", labels={"rank": "-3"}), node("n2", labels={"rank": "x"}))
    assert by_name(nodes, requirement_mask(nodes, Requirement("rank", "Lt", ("-2",)))) == {
        "n1": True,
        "n2": False,
    }
    assert not requirement_mask(nodes, Requirement("rank", "Gt", ("-9", "-8"))).any()


def test_an_empty_term_matches_no_node() -> None:
    assert not term_mask(table(node("n1")), NodeTerm(())).any()


def test_equal_with_no_key_tolerates_by_value_and_exists_tolerates_all() -> None:
    gpu = Taint("gpu", "yes", "NoExecute")
    assert tolerates(Toleration("", "Exists", "", ""), gpu)
    assert tolerates(Toleration("gpu", "", "yes", "NoExecute"), gpu)
    assert not tolerates(Toleration("gpu", "Equal", "yes", "NoSchedule"), gpu)
    assert not tolerates(Toleration("gpu", "Gt", "1", ""), gpu)


def test_reachable_joins_selector_taints_and_cordons() -> None:
    snapshot = snapshot_of(
        [
            node("ok", labels={"pool": "a"}),
            node("cordoned", labels={"pool": "a"}, unschedulable=True),
            node("tainted", labels={"pool": "a"}, taints=[taint("x")]),
            node("elsewhere", labels={"pool": "b"}),
            queue("default"),
            *gang("g", 1, cpu=1, spec={"nodeSelector": {"pool": "a"}}),
        ]
    )
    spec = snapshot.shapes[int(snapshot.tasks.shape[0])]
    reach = by_name(snapshot.nodes, reachable(snapshot.nodes, spec))
    assert [name for name, yes in sorted(reach.items()) if yes] == ["ok"]


def test_only_ready_open_nodes_lend() -> None:
    nodes = table(node("n1"), node("n2", ready=False), node("n3", unschedulable=True))
    assert by_name(nodes, lending(nodes)) == {"n1": True, "n2": False, "n3": False}


def test_counts_fold_by_domain_and_leave_out_nodes_without_the_label() -> None:
    nodes = table(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "a"}),
        node("n3", labels={ZONE: "b"}),
        node("n4"),
    )
    counts = np.array([{"n1": 1, "n2": 2, "n3": -4, "n4": 8}[name] for name in nodes.names])
    domains = DomainIndex(nodes)[ZONE]
    assert by_name(nodes, domains.around(counts)) == {"n1": 3, "n2": 3, "n3": -4, "n4": 0}
    assert not domains.alone
    assert DomainIndex(nodes)["kubernetes.io/hostname"].alone


def test_a_key_without_nodes_has_no_domains() -> None:
    nodes = table(node("n1"))
    gone = DomainIndex(nodes)["gone"]
    assert (gone.size, gone.alone, gone.present.any()) == (0, False, False)
    assert gone.around(np.array([5])).tolist() == [0]
