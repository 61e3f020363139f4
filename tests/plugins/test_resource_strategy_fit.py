"""resource-strategy-fit: a strategy for each resource, and care for scarce ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import GPU, node, pod, podgroup
from tests.plugins.test_row_laws import random_world
from tests.plugins.worlds import World
from vcray.api import names
from vcray.core.check import check_plugin
from vcray.plugins.resource_strategy_fit import ResourceStrategyFit
from vcray.plugins.resource_strategy_fit.arguments import ResourceStrategyFitArgs

OLD = pod("old", node="n1", cpu=2, memory=4)


def waiting(notes: Mapping[str, str] | None = None, **size: object) -> list[object]:
    return [podgroup("p", 1), pod("p", group="p", annotations=notes, **size)]


def score(world: World, arguments: Mapping[str, object] | None = None, on: str = "n1") -> object:
    plugin = world.plugin(ResourceStrategyFit, arguments)
    return plugin.node_score(world.view, world.one_row(on), world.shape("p"))


def half_full(notes: Mapping[str, str] | None = None, **size: object) -> World:
    """Node of 8 cpu and 16Gi that holds 2 and 4; the pod asks the same again."""
    return World(node("n1", cpu=8, memory=16), OLD, waiting(notes, **(size or {"cpu": 2, "memory": 4})))


def strategy(resources: object, weight: int = 1) -> dict[str, object]:
    return {"resources": resources, "resourceStrategyFitWeight": weight}


def test_by_default_cpu_and_memory_are_spread_with_weight_ten() -> None:
    assert score(half_full()) == 500


def test_types_and_weights_are_those_of_each_resource() -> None:
    mixed = {"cpu": {"type": "MostAllocated", "weight": 3}, "memory": {"type": "LeastAllocated", "weight": 1}}
    world = half_full(cpu=4, memory=2)
    assert score(world, strategy(mixed)) == pytest.approx((0.75 * 3 + 10 / 16) / 4 * 100)


def test_unknown_types_spread_and_weights_below_one_count_as_one() -> None:
    odd = {"cpu": {"type": "Best", "weight": -4}, "memory": {"type": "MostAllocated", "weight": 0}}
    assert score(half_full(cpu=2, memory=8), strategy(odd)) == (0.5 + 0.75) / 2 * 100


def test_a_negative_plugin_weight_is_ten_and_zero_is_silence() -> None:
    assert score(half_full(), {"resourceStrategyFitWeight": -1}) == 500
    assert score(half_full(), {"resourceStrategyFitWeight": 0}) is None


def test_exact_names_beat_patterns_and_long_patterns_short_ones() -> None:
    plugin = half_full().plugin(
        ResourceStrategyFit,
        strategy(
            {
                "example.com/*": {"weight": 1},
                "example.com/fast-*": {"weight": 2},
                "example.com/fast-nic": {"weight": 3},
                "*": {"weight": 9},
                "exa*.com/x": {"weight": 9},
            }
        ),
    )
    found = [
        plugin.strategies_.get(name)
        for name in ("example.com/nic", "example.com/fast-disk", "example.com/fast-nic", "cpu", "exa*.com/x")
    ]
    assert [each and each.weight for each in found] == [1, 2, 3, None, None]


def test_overfilled_nodes_score_nothing_and_missing_resources_only_weigh() -> None:
    assert score(half_full(cpu=7, memory=1)) == 0
    gpu = {"cpu": {"type": "MostAllocated", "weight": 1}, GPU: {"type": "MostAllocated", "weight": 3}}
    world = World(node("n1", cpu=8), waiting(cpu=4, gpu=1))
    assert score(world, strategy(gpu)) == 0.5 / 4 * 100


def test_a_pods_own_strategy_replaces_types_and_weights() -> None:
    notes = {
        names.RESOURCE_STRATEGY_SCORING_TYPE: "MostAllocated",
        names.RESOURCE_STRATEGY_WEIGHT: '{"cpu": 1, "memory": 3}',
    }
    assert score(half_full(notes, cpu=4, memory=4)) == (0.75 + 0.5 * 3) / 4 * 1000


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("MostAllocated", None),
        ("MostAllocated", "{"),
        ("MostAllocated", '{"cpu": 1.5}'),
        ("Best", '{"cpu": 1}'),
    ],
)
def test_an_own_strategy_that_does_not_hold_scores_nothing(kind: str, weights: str | None) -> None:
    notes = {names.RESOURCE_STRATEGY_SCORING_TYPE: kind}
    if weights is not None:
        notes[names.RESOURCE_STRATEGY_WEIGHT] = weights
    assert score(half_full(notes)) is None


SRA = {
    "resourceStrategyFitWeight": 0,
    "sra": {"enable": True, "weight": 2, "resources": f"{GPU}, example.com/nic", "resourceWeight": {GPU: 3}},
}


def test_sra_prefers_nodes_without_the_scarce_resources() -> None:
    world = World(
        node("n1", cpu=8),
        node("n2", cpu=8, gpu=1),
        node("n3", cpu=8, gpu=1, resources={"example.com/nic": 1}),
        node("n4", cpu=8, resources={"example.com/nic": 1}),
        waiting(cpu=1),
    )
    assert [score(world, SRA, f"n{i}") for i in (1, 2, 3, 4)] == [200, 50, 0, 150]


def test_sra_is_off_without_enable_or_weight_and_says_nothing_for_a_missing_request() -> None:
    world = World(node("n1", cpu=8), node("n2", cpu=8, gpu=1), waiting(cpu=1, gpu=1))
    assert [score(world, SRA, f"n{i}") for i in (1, 2)] == [0, 50]
    for part in ({"enable": False}, {"weight": 0}, {"resources": ""}):
        assert score(world, {**SRA, "sra": {**SRA["sra"], **part}}) is None


PROPORTIONAL = {
    "proportional": {
        "enable": True,
        "resources": GPU,
        "resourceProportion": {f"{GPU}.cpu": 4, f"{GPU}.memory": 8},
    }
}


def refusals(world: World, arguments: Mapping[str, object] = PROPORTIONAL) -> list[str]:
    """Nodes that refuse pod p, told by filter and reason alike."""
    plugin = world.plugin(ResourceStrategyFit, arguments)
    accepted = plugin.node_filter(world.view, world.all_rows(), world.shape("p"))
    rejects = list(plugin.why(world.view, world.shape("p")))
    if accepted is None:
        assert not rejects
        return []
    (reject,) = rejects
    assert reject.reason == f"proportional of resource {GPU} check failed"
    assert not reject.curable
    assert (reject.where == ~accepted).all()
    return [name for name, refused in world.by_node(reject.where).items() if refused]


def test_idle_devices_keep_cpu_and_memory_beside_them() -> None:
    nodes = [node("n1", cpu=6, memory=64, gpu=1), node("n2", cpu=7, memory=64, gpu=1), node("n3", cpu=6)]
    assert refusals(World(nodes, waiting(cpu=3))) == ["n1"]
    low = [node("n1", cpu=64, memory="8000000000", gpu=1), node("n2", cpu=64, memory="9000000000", gpu=1)]
    assert refusals(World(low, waiting(cpu=1, memory="1000000000"))) == ["n1"]


def test_devices_in_use_keep_nothing_and_their_pods_are_free() -> None:
    nodes = [node("n1", cpu=4, gpu=1), pod("busy", node="n1", gpu=1)]
    assert refusals(World(nodes, waiting(cpu=4))) == []
    assert refusals(World(node("n1", cpu=4, gpu=2), waiting(cpu=4, gpu=1))) == []


def test_rates_default_to_one_and_negative_ones_count_as_one() -> None:
    plain = {"proportional": {"enable": True, "resources": GPU, "resourceProportion": {f"{GPU}.cpu": -3}}}
    world = World(node("n1", cpu=4, gpu=2), node("n2", cpu=5, gpu=2), waiting(cpu=3))
    assert refusals(world, plain) == ["n1"]
    off = {"proportional": {**plain["proportional"], "enable": False}}
    assert refusals(world, off) == []


def test_what_is_wrong_inside_the_maps_is_told_and_keeps_its_default() -> None:
    _, problems = ResourceStrategyFitArgs.read(
        {
            "resources": {"cpu": {"type": "Least", "weight": "2"}, "a*b": {}},
            "sra": {"enable": "yes", "weight": 1.5},
            "proportional": 3,
        },
        "here",
    )
    assert [problem.where for problem in problems] == [
        "here.resources.cpu.weight",
        "here.resources.cpu.type",
        "here.resources.a*b",
        "here.sra.enable",
        "here.sra.weight",
        "here.proportional",
    ]


@pytest.mark.parametrize("number", range(12))
def test_it_keeps_the_laws_of_row_hooks(number: int) -> None:
    kinds = {"cpu": {"type": "MostAllocated", "weight": 3}, "nvidia.com/*": {"weight": 2}, "memory": {}}
    args = ResourceStrategyFitArgs.model_validate({"resources": kinds, "sra": SRA["sra"], **PROPORTIONAL})
    assert check_plugin(ResourceStrategyFit, args, random_world(number).snapshot) == []
