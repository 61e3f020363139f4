"""nodeorder: kube-scheduler's scores, by numbers that were checked against the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.builders import GPU, node, pod, podgroup, service, taint
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject, JsonValue
from vcray.core.hooks import Scale
from vcray.plugins.nodeorder import Nodeorder

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
OFF = {
    f"{score}.weight": 0 for score in ("leastrequested", "mostrequested", "balancedresource", "imagelocality")
}
Spec = dict[str, JsonValue]


def asking(name: str = "p", **facts: object) -> list[JsonObject]:
    return [podgroup(name, 1), pod(name, group=name, **facts)]  # type: ignore[arg-type]


def loaded(**facts: object) -> World:
    """A node of 8 cpu and 16Gi that holds 2 cpu and 4Gi, the same empty, and a pod with these facts."""
    return World(
        node("full", cpu=8, memory=16),
        node("empty", cpu=8, memory=16),
        pod("there", node="full", cpu=2, memory=4),
        asking(**facts),
    )


def scores(world: World, **weights: int) -> dict[str, object]:
    """Row scores by node with only these weights on."""
    arguments = OFF | {f"{name}.weight": weight for name, weight in weights.items()}
    plugin = world.plugin(Nodeorder, arguments)
    column = plugin.node_score(world.view, world.all_rows(), world.shape("p"))
    return world.by_node(np.broadcast_to(np.asarray(column), (len(world.snapshot.nodes),)))


@pytest.mark.parametrize(
    ("score", "full", "empty"),
    [("leastrequested", 59, 84), ("mostrequested", 40, 15), ("balancedresource", 73, 73)],
)
def test_fullness_scores_of_a_pod_of_one_cpu_and_three_gi(score: str, full: int, empty: int) -> None:
    assert scores(loaded(cpu=1, memory=3), **{score: 1}) == {"full": full, "empty": empty}


def test_a_pod_without_requests_counts_little_and_balances_nothing() -> None:
    world = loaded()
    assert scores(world, leastrequested=1)["full"] == 73
    assert scores(world, mostrequested=1)["full"] == 26
    assert scores(world, balancedresource=1) == {"full": 0, "empty": 0}


def test_weights_multiply_and_add() -> None:
    world = loaded(cpu=1, memory=3)
    assert scores(world, leastrequested=2, balancedresource=3)["full"] == 2 * 59 + 3 * 73


def test_a_pod_that_overfills_a_resource_scores_nothing_for_it() -> None:
    world = World(node("n1", cpu=4, memory=8), asking(cpu=8, memory=4))
    assert scores(world, leastrequested=1) == {"n1": 25}
    assert scores(world, mostrequested=1) == {"n1": 75}


def test_gpus_balance_too_for_a_pod_that_wants_one() -> None:
    world = World(node("n1", cpu=8, memory=16, gpu=4), asking(cpu=4, memory=8, gpu=1))
    shares = [0.5, 0.5, 0.25]
    mean = sum(shares) / 3
    deviation = math.sqrt(sum((share - mean) ** 2 for share in shares) / 3)
    assert scores(world, balancedresource=1) == {"n1": 50 + (50 + int((1 - deviation) * 100) - 100) // 2}


def test_promised_pods_count_as_requested_and_oversubscription_does_not_help() -> None:
    world = loaded(cpu=1, memory=3)
    world.pipeline("p", "empty")
    assert scores(world, leastrequested=1)["empty"] == (75 + 62) // 2


def test_preferred_node_affinity_adds_the_weights_of_terms_that_hold() -> None:
    def term(weight: int, key: str, *values: str) -> Spec:
        expressions: list[JsonValue] = [{"key": key, "operator": "In", "values": list(values)}]
        return {"weight": weight, "preference": {"matchExpressions": expressions}}

    wanted: list[JsonValue] = [term(7, "disk", "ssd"), term(3, "zone", "a", "b")]
    spec: Spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wanted}}}
    world = World(
        node("n1", labels={"disk": "ssd", "zone": "a"}),
        node("n2", labels={"zone": "b"}),
        node("n3"),
        asking(spec=spec, cpu=1),
    )
    (preference,) = world.plugin(Nodeorder).node_preference(world.view, world.shape("p"))
    assert world.by_node(preference.raw) == {"n1": 10, "n2": 3, "n3": 0}
    assert (preference.scale, preference.weight) == (Scale.MAX, 2)


def test_soft_taints_that_are_not_tolerated_count_against_a_node() -> None:
    world = World(
        node("n1"),
        node("n2", taints=[taint("a", effect="PreferNoSchedule")]),
        node("n3", taints=[taint(key, effect="PreferNoSchedule") for key in "abc"]),
        node("n4", taints=[taint("d", effect="PreferNoSchedule")]),
        asking(cpu=1, spec={"tolerations": [{"key": "d", "operator": "Exists"}]}),
    )
    (preference,) = world.plugin(Nodeorder).node_preference(world.view, world.shape("p"))
    assert world.by_node(preference.raw) == {"n1": 0, "n2": 1, "n3": 3, "n4": 0}
    assert (preference.scale, preference.weight) == (Scale.REVERSED_MAX, 3)


def test_plain_pods_on_plain_nodes_have_no_preferences_and_no_rules_across_nodes() -> None:
    world = World(node("n1"), asking(cpu=1))
    plugin, shape = world.plugin(Nodeorder), world.shape("p")
    assert list(plugin.node_preference(world.view, shape)) == []
    assert list(plugin.domain_terms(world.view, shape, np.ones(1, dtype=bool))) == []
    assert not plugin.moves_itself(world.view, shape)


def test_images_on_the_node_score_by_size_and_spread() -> None:
    half = 512 * 1024 * 1024
    world = World(node("n1", images={"train:1": half}), node("n2"), asking(cpu=1, image="train:1"))
    least, most = 23 * 1024 * 1024, 1000 * 1024 * 1024
    expected = 100 * (half // 2 - least) // (most - least)
    assert scores(world, imagelocality=1) == {"n1": expected, "n2": 0}


# ---- preferred affinity between pods ----


def preferring(kind: str, app: str, weight: int, key: str = HOST) -> Spec:
    term: Spec = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    wanted: list[JsonValue] = [{"weight": weight, "podAffinityTerm": term}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wanted}}}


def raw(world: World, candidates: list[str] | None = None) -> dict[str, object]:
    names = world.snapshot.nodes.names
    mask = np.array([candidates is None or name in candidates for name in names])
    (term,) = world.plugin(Nodeorder).domain_terms(world.view, world.shape("p"), mask)
    assert term.raw is not None
    return world.by_node(term.raw)


def test_own_preferences_count_matching_pods_in_the_domain() -> None:
    world = World(
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "a"}),
        node("n3", labels={ZONE: "b"}),
        node("n4"),
        [pod(f"w{i}", labels={"app": "web"}, node="n1") for i in range(2)],
        asking(cpu=1, spec=preferring("podAffinity", "web", 10, ZONE)),
    )
    assert raw(world) == {"n1": 20, "n2": 20, "n3": 0, "n4": 0}


def test_preferences_of_running_pods_pull_and_push() -> None:
    world = World(
        node("n1"),
        node("n2"),
        pod("fan", node="n1", spec=preferring("podAffinity", "p", 5)),
        pod("foe", node="n2", spec=preferring("podAntiAffinity", "p", 7)),
        asking(cpu=1, labels={"app": "p"}),
    )
    assert raw(world) == {"n1": 5, "n2": -7}
    assert not world.plugin(Nodeorder).moves_itself(world.view, world.shape("p"))


def test_required_affinity_of_running_pods_adds_nothing() -> None:
    required: Spec = {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"app": "p"}}, "topologyKey": HOST}
                ]
            }
        }
    }
    world = World(node("n1"), pod("fan", node="n1", spec=required), asking(cpu=1, labels={"app": "p"}))
    plugin, shape = world.plugin(Nodeorder), world.shape("p")
    assert list(plugin.domain_terms(world.view, shape, np.ones(1, dtype=bool))) == []


def test_a_pod_that_likes_its_own_kind_moves_itself() -> None:
    world = World(node("n1"), asking(cpu=1, labels={"app": "p"}, spec=preferring("podAffinity", "p", 5)))
    assert world.plugin(Nodeorder).moves_itself(world.view, world.shape("p"))


# ---- soft spread ----


def soft(app: str, key: str, skew: int = 1) -> Spec:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    }


def zoned() -> list[JsonObject]:
    return [
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "b"}),
        node("n3", labels={ZONE: "b"}),
        node("n4"),
        [pod(f"p{i}", labels={"app": "p"}, node="n1") for i in range(3)],  # type: ignore[list-item]
        pod("q", labels={"app": "p"}, node="n2"),
    ]


def test_soft_spread_counts_pods_of_a_domain_times_the_log_of_the_domains() -> None:
    world = World(*zoned(), asking(cpu=1, labels={"app": "p"}, spec=soft("p", ZONE, skew=2)))
    weight = math.log(2 + 2)
    assert raw(world) == {
        "n1": math.floor(3 * weight + 1 + 0.5),
        "n2": math.floor(weight + 1 + 0.5),
        "n3": math.floor(weight + 1 + 0.5),
        "n4": 0,
    }
    (term,) = world.plugin(Nodeorder).domain_terms(world.view, world.shape("p"), np.ones(4, dtype=bool))
    assert term.counted is not None
    assert world.by_node(term.counted) == {"n1": True, "n2": True, "n3": True, "n4": False}
    assert term.scale is Scale.SPREAD


def test_soft_spread_knows_only_domains_among_the_scored_nodes() -> None:
    world = World(*zoned(), asking(cpu=1, labels={"app": "p"}, spec=soft("p", ZONE)))
    assert raw(world, ["n1"])["n1"] == math.floor(3 * math.log(1 + 2) + 0.5)


def test_soft_spread_by_hostname_counts_the_node_alone() -> None:
    world = World(*zoned(), asking(cpu=1, labels={"app": "p"}, spec=soft("p", HOST)))
    assert raw(world) == {
        "n1": math.floor(3 * math.log(6) + 0.5),
        "n2": math.floor(math.log(6) + 0.5),
        "n3": 0,
        "n4": 0,
    }


def test_default_spread_applies_to_pods_of_a_service_and_leaves_out_missing_labels() -> None:
    world = World(*zoned(), service("web", {"app": "p"}), asking(cpu=1, labels={"app": "p"}))
    host, zone = math.log(4 + 2), math.log(3 + 2)
    assert raw(world) == {
        "n1": math.floor(3 * host + 2 + 3 * zone + 4 + 0.5),
        "n2": math.floor(host + 2 + zone + 4 + 0.5),
        "n3": math.floor(2 + zone + 4 + 0.5),
        "n4": 2,
    }
    (term,) = world.plugin(Nodeorder).domain_terms(world.view, world.shape("p"), np.ones(4, dtype=bool))
    assert term.counted is None
    assert world.plugin(Nodeorder).moves_itself(world.view, world.shape("p"))


def test_no_gpu_row_in_the_cluster_is_no_obstacle() -> None:
    world = World(node("n1"), asking(cpu=1))
    assert world.view.space.row(GPU) is None
    assert scores(world, balancedresource=1)["n1"] != 0
