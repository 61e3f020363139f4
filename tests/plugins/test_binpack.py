"""binpack: the weighted share in use after the pod."""

from __future__ import annotations

import pytest

from tests.builders import GPU, node, pod, podgroup
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.plugins.binpack import Binpack


def asking(**facts: object) -> list[JsonObject]:
    return [podgroup("p", 1), pod("p", group="p", **facts)]  # type: ignore[arg-type]


def scores(world: World, arguments: dict[str, object] | None = None) -> dict[str, object]:
    plugin = world.plugin(Binpack, arguments)
    column = plugin.node_score(world.view, world.all_rows(), world.shape("p"))
    assert column is not None
    return world.by_node(column)


def test_a_node_half_full_after_the_pod_scores_fifty() -> None:
    world = World(
        node("n1", cpu=8, memory=16), pod("there", node="n1", cpu=2, memory=4), asking(cpu=2, memory=4)
    )
    assert scores(world) == {"n1": 50.0}
    assert scores(world, {"binpack.weight": 10}) == {"n1": 500.0}


def test_a_weighted_resource_that_the_node_lacks_still_counts_in_the_mean() -> None:
    world = World(
        node("n1", cpu=8, memory=16),
        node("gpu", cpu=8, memory=16, gpu=8),
        asking(cpu=4, memory=8, gpu=4),
    )
    arguments = {"binpack.cpu": 5, "binpack.resources": GPU, f"binpack.resources.{GPU}": 2}
    assert scores(world, arguments) == {"n1": 37.5, "gpu": 50.0}


def test_a_node_that_would_be_overfull_scores_nothing() -> None:
    world = World(node("n1", cpu=2, memory=16), pod("there", node="n1", cpu=1), asking(cpu=2, memory=8))
    assert scores(world) == {"n1": 0.0}
    assert scores(world, {"binpack.cpu": 0}) == {"n1": 50.0}, "weight 0 is not checked for overflow"


def test_promised_pods_are_not_in_use_yet() -> None:
    world = World(node("n1", cpu=8, memory=16), asking(cpu=4, memory=8))
    world.pipeline("p", "n1")
    assert scores(world) == {"n1": 50.0}


@pytest.mark.parametrize(("weight", "score"), [(-1, -50.0), (2, 100.0)])
def test_a_negative_plugin_weight_prefers_empty_nodes(weight: int, score: float) -> None:
    world = World(node("n1", cpu=8, memory=16), asking(cpu=4, memory=8))
    assert scores(world, {"binpack.weight": weight}) == {"n1": score}


def test_negative_resource_weights_count_as_one() -> None:
    world = World(node("n1", cpu=8, memory=32), asking(cpu=4, memory=8))
    assert scores(world, {"binpack.cpu": -5, "binpack.memory": -5}) == {"n1": 37.5}


def test_a_weight_of_zero_and_a_pod_without_weighted_requests_say_nothing() -> None:
    world = World(node("n1"), asking())
    assert world.plugin(Binpack).node_score(world.view, world.all_rows(), world.shape("p")) is None
    busy = World(node("n1"), asking(cpu=1))
    off = busy.plugin(Binpack, {"binpack.weight": 0})
    assert off.node_score(busy.view, busy.all_rows(), busy.shape("p")) is None
