"""predicates: each check takes some nodes and refuses others, with kube-scheduler's sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.builders import bound, node, pod, podgroup, taint
from tests.plugins.worlds import World, nodes
from vcray.api.meta import JsonObject, JsonValue
from vcray.core.arrays import Bool
from vcray.plugins.predicates import Predicates

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
Spec = dict[str, JsonValue]


def asking(name: str = "p", **facts: object) -> list[JsonObject]:
    """A group with one pending pod."""
    return [podgroup(name, 1), pod(name, group=name, cpu=1, **facts)]  # type: ignore[arg-type]


def allowed(world: World, name: str = "p", arguments: Mapping[str, object] | None = None) -> list[str]:
    """Nodes that pass static masks, row filters and domain rules."""
    plugin, shape, view = world.plugin(Predicates, arguments), world.shape(name), world.view
    everyone: Bool = np.ones(len(world.snapshot.nodes), dtype=bool)
    ok = everyone & plugin.node_filter(view, world.all_rows(), shape)
    static = plugin.node_static(view, shape)
    if static is not None:
        ok = ok & static
    for term in plugin.domain_terms(view, shape, everyone):
        if term.ok is not None:
            ok = ok & term.ok
    return sorted(name for name, yes in world.by_node(ok).items() if yes)


def reasons(world: World, name: str = "p") -> dict[str, list[str]]:
    """node -> reasons, until the first that is not curable."""
    found: dict[str, list[str]] = {}
    closed: set[str] = set()
    for reject in world.plugin(Predicates).why(world.view, world.shape(name)):
        for where, yes in world.by_node(reject.where).items():
            if yes and where not in closed:
                found.setdefault(where, []).append(reject.reason)
                if not reject.curable:
                    closed.add(where)
    return found


def node_affinity(*terms: Spec) -> Spec:
    required: Spec = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def expression(key: str, operator: str, *values: str) -> Spec:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def pod_rule(kind: str, app: str, key: str = HOST) -> Spec:
    term: Spec = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(app: str, key: str = ZONE, skew: int = 1, **facts: JsonValue) -> Spec:
    constraint: Spec = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint | facts]}


# ---- node objects ----


def test_a_cordoned_node_takes_no_pod_but_one_that_tolerates_cordons() -> None:
    plain = World(node("n1", unschedulable=True), node("n2"), asking())
    assert allowed(plain) == ["n2"]
    assert reasons(plain) == {"n1": ["node(s) were unschedulable"]}
    bold: Spec = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
    assert allowed(World(node("n1", unschedulable=True), asking(spec=bold))) == ["n1"]


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        (expression("disk", "In", "ssd", "nvme"), ["n1"]),
        (expression("disk", "NotIn", "ssd"), ["n2", "n3"]),
        (expression("disk", "Exists"), ["n1", "n2"]),
        (expression("disk", "DoesNotExist"), ["n3"]),
        (expression("rank", "Gt", "2"), ["n3"]),
        (expression("rank", "Lt", "3"), ["n1", "n2"]),
        (expression("rank", "Gt", "x"), []),
        (expression("absent", "NotIn", "x"), ["n1", "n2", "n3"]),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}, ["n2"]),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}, ["n1", "n3"]),
        ({}, []),
    ],
    ids=[
        "in",
        "not-in",
        "exists",
        "absent",
        "gt",
        "lt",
        "no-number",
        "not-in-absent",
        "name",
        "not-name",
        "empty",
    ],
)
def test_node_affinity_terms_select_nodes(term: Spec, wanted: list[str]) -> None:
    world = World(
        node("n1", labels={"disk": "ssd", "rank": "1"}),
        node("n2", labels={"disk": "hdd", "rank": "2"}),
        node("n3", labels={"rank": "3"}),
        asking(spec=node_affinity(term)),
    )
    assert allowed(world) == wanted
    sentence = "node(s) didn't match Pod's node affinity/selector"
    assert reasons(world) == {name: [sentence] for name in ("n1", "n2", "n3") if name not in wanted}


def test_node_affinity_terms_are_alternatives_and_the_selector_a_condition() -> None:
    either = node_affinity(expression("disk", "In", "ssd"), expression("disk", "In", "hdd"))
    world = World(
        node("n1", labels={"disk": "ssd", "pool": "a"}),
        node("n2", labels={"disk": "hdd", "pool": "b"}),
        node("n3", labels={"disk": "tape", "pool": "a"}),
        asking(spec=either | {"nodeSelector": {"pool": "a"}}),
    )
    assert allowed(world) == ["n1"]


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_taint_needs_a_toleration(toleration: Spec, passes: bool) -> None:
    world = World(node("n1", taints=[taint("gpu", "yes")]), asking(spec={"tolerations": [toleration]}))
    assert allowed(world) == (["n1"] if passes else [])
    assert reasons(world) == ({} if passes else {"n1": ["node(s) had untolerated taint(s)"]})


def test_a_soft_taint_keeps_nobody_away() -> None:
    world = World(node("n1", taints=[taint("slow", effect="PreferNoSchedule")]), asking())
    assert allowed(world) == ["n1"]


def test_a_pod_with_a_missing_claim_waits_everywhere_and_says_so() -> None:
    world = World(node("n1"), asking(claims=["data"]))
    assert allowed(world) == []
    (said,) = reasons(world)["n1"]
    assert "data" in said
    assert allowed(World(node("n1"), bound("data"), asking(claims=["data"]))) == ["n1"]


# ---- one node's state ----


def test_a_node_holds_only_so_many_pods_and_promised_ones_count() -> None:
    world = World(node("n1", pods=2), asking("a"), asking("b"), asking("c"))
    world.place("a", "n1")
    assert allowed(world, "c") == ["n1"]
    world.pipeline("b", "n1")
    assert allowed(world, "c") == []
    assert reasons(world, "c") == {"n1": ["node(s) pod number exceeded"]}


def test_a_host_port_is_given_once_a_node() -> None:
    world = World(nodes(2), asking("a", ports=[8080]), asking("b", ports=[8080]), asking("c", ports=[8081]))
    world.place("a", "n1")
    assert allowed(world, "b") == ["n2"]
    assert allowed(world, "c") == ["n1", "n2"]
    assert reasons(world, "b") == {"n1": ["node(s) didn't have free ports for the requested pod ports"]}


# ---- affinity between pods ----


def resident(app: str, on: str, **facts: object) -> JsonObject:
    return pod(f"{app}-{on}", labels={"app": app}, node=on, cpu=1, **facts)  # type: ignore[arg-type]


def test_required_affinity_follows_pods_into_their_domain() -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "a"}),
        node("n3", labels={ZONE: "b"}),
        node("n4"),
        resident("web", "n1"),
        asking(spec=pod_rule("podAffinity", "web", ZONE)),
    )
    assert allowed(world) == ["n1", "n2"]
    sentence = "node(s) didn't match pod affinity rules"
    assert reasons(world) == {"n3": [sentence], "n4": [sentence]}


def test_the_first_of_a_series_goes_anywhere_and_the_next_follow_it() -> None:
    own = pod_rule("podAffinity", "p", ZONE)
    facts = {"labels": {"app": "p"}, "spec": own}
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        node("n3"),
        asking("p", **facts),
        asking("q", **facts),
    )
    plugin, shape = world.plugin(Predicates), world.shape("p")
    assert allowed(world) == ["n1", "n2"]
    assert plugin.valid_prefix(world.view, shape, np.array([0, 1])) == 1
    world.place("p", "n2")
    assert allowed(world, "q") == ["n2"]
    assert plugin.valid_prefix(world.view, shape, np.array([1, 1])) == 2
    assert not plugin.moves_itself(world.view, shape)


def test_affinity_to_somebody_who_is_not_there_fits_nowhere() -> None:
    world = World(nodes(2), asking(spec=pod_rule("podAffinity", "web")))
    assert allowed(world) == []


def test_anti_affinity_keeps_away_from_pods_in_their_domain() -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "a"}),
        node("n3", labels={ZONE: "b"}),
        node("n4"),
        resident("web", "n1"),
        asking(spec=pod_rule("podAntiAffinity", "web", ZONE)),
    )
    assert allowed(world) == ["n3", "n4"]
    sentence = "node(s) didn't match pod anti-affinity rules"
    assert reasons(world) == {"n1": [sentence], "n2": [sentence]}


@pytest.mark.parametrize("key", [ZONE, HOST])
def test_pods_that_keep_away_are_respected_by_those_that_do_not_care(key: str) -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        resident("shy", "n1", spec=pod_rule("podAntiAffinity", "web", key)),
        asking(labels={"app": "web"}),
        asking("other", labels={"app": "db"}),
    )
    assert allowed(world) == ["n2"]
    assert reasons(world) == {"n1": ["node(s) didn't satisfy existing pods anti-affinity rules"]}
    assert allowed(world, "other") == ["n1", "n2"]


@pytest.mark.parametrize("key", [ZONE, HOST])
def test_a_pod_placed_in_this_session_is_respected_too(key: str) -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        asking("shy", spec=pod_rule("podAntiAffinity", "web", key)),
        asking("web", labels={"app": "web"}),
    )
    assert allowed(world, "web") == ["n1", "n2"]
    world.place("shy", "n2")
    assert allowed(world, "web") == ["n1"]


def test_hostname_anti_affinity_to_its_own_kind_is_a_rule_of_one_node() -> None:
    own = {"labels": {"app": "p"}, "spec": pod_rule("podAntiAffinity", "p")}
    world = World(nodes(2), asking("p", **own), asking("q", **own))
    plugin, shape = world.plugin(Predicates), world.shape("p")
    assert not plugin.moves_itself(world.view, shape)
    assert list(plugin.domain_terms(world.view, shape, np.ones(2, dtype=bool))) == []
    rows = world.one_row("n1")
    assert plugin.node_filter(world.view, rows, shape)
    rows.copies = 1
    assert not plugin.node_filter(world.view, rows, shape)


def test_zone_anti_affinity_to_its_own_kind_moves_itself() -> None:
    own = {"labels": {"app": "p"}, "spec": pod_rule("podAntiAffinity", "p", ZONE)}
    world = World(node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a"}), asking("p", **own))
    assert world.plugin(Predicates).moves_itself(world.view, world.shape("p"))


# ---- topology spread ----


def test_spread_refuses_domains_beyond_the_skew_and_nodes_without_the_label() -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        node("n3"),
        resident("p", "n1"),
        asking(labels={"app": "p"}, spec=spread("p")),
    )
    assert allowed(world) == ["n2"]
    assert reasons(world) == {
        "n1": ["node(s) didn't match pod topology spread constraints"],
        "n3": ["node(s) didn't match pod topology spread constraints (missing required label)"],
    }
    assert world.plugin(Predicates).moves_itself(world.view, world.shape("p"))


def test_spread_counts_no_domain_that_the_pod_cannot_enter() -> None:
    pools = [node("n1", labels={ZONE: "a", "pool": "x"}), node("n2", labels={ZONE: "b"})]
    constraint = spread("p") | {"nodeSelector": {"pool": "x"}}
    honours = World(pools, resident("p", "n1"), asking(labels={"app": "p"}, spec=constraint))
    assert allowed(honours) == ["n1"], "zone b does not count: its nodes are out of reach"
    ignoring = spread("p", nodeAffinityPolicy="Ignore") | {"nodeSelector": {"pool": "x"}}
    ignores = World(pools, resident("p", "n1"), asking(labels={"app": "p"}, spec=ignoring))
    assert allowed(ignores) == []


def test_too_few_domains_make_the_emptiest_count_as_none() -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        resident("p", "n1"),
        asking(labels={"app": "p"}, spec=spread("p", minDomains=2)),
    )
    assert allowed(world) == []


# ---- switches ----


@pytest.mark.parametrize(
    ("switch", "spec"),
    [
        ("predicate.NodeAffinityEnable", {"nodeSelector": {"pool": "x"}}),
        ("predicate.PodAffinityEnable", pod_rule("podAffinity", "web")),
        ("predicate.PodTopologySpreadEnable", spread("p", key="absent")),
    ],
)
def test_a_check_can_be_switched_off(switch: str, spec: Spec) -> None:
    world = World(node("n1"), asking(labels={"app": "p"}, spec=spec))
    assert allowed(world) == []
    assert allowed(world, arguments={switch: False}) == ["n1"]


def test_taints_and_ports_can_be_switched_off() -> None:
    world = World(
        node("n1", taints=[taint("gpu")]), resident("web", "n1", ports=[80]), asking("p", ports=[80])
    )
    off = {"predicate.TaintTolerationEnable": False, "predicate.NodePortsEnable": False}
    assert allowed(world) == []
    assert allowed(world, arguments=off) == ["n1"]
