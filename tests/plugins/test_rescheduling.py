"""rescheduling: once an interval, pods of overloaded nodes go while idle ones have headroom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.builders import node, pod, podgroup
from tests.plugins.test_pdb import budget
from tests.plugins.test_usage import measured
from tests.plugins.worlds import World
from vcray.actions.shuffle import Shuffle
from vcray.api.meta import JsonObject
from vcray.core.openview import open_view
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.core.timing import Timing
from vcray.core.view import View
from vcray.plugins.pdb import Pdb
from vcray.plugins.rescheduling import WORK, Rescheduling, ReschedulingArgs

Load = tuple[str, float, float]


def strategy(low: int = 20, target: int = 50) -> dict[str, object]:
    params = {
        "thresholds": {"cpu": low, "memory": low},
        "targetThresholds": {"cpu": target, "memory": target},
    }
    return {"strategies": [{"name": "lowNodeUtilization", "params": params}]}


def seen(world: World, loads: Sequence[Load], timing: Timing | None = None) -> View:
    return open_view(replace(measured(world.snapshot, *loads), timing=timing or Timing()))[0]


def named(
    world: World,
    loads: Sequence[Load],
    arguments: Mapping[str, object] | None = None,
    timing: Timing | None = None,
) -> list[str]:
    view = seen(world, loads, timing)
    plugin = Rescheduling(
        ReschedulingArgs.model_validate(dict(strategy() if arguments is None else arguments))
    )
    plugin.open(view)
    rows = np.arange(len(world.snapshot.tasks))
    mask = plugin.victim_tasks(view, rows)
    return sorted(world.snapshot.tasks.names[row].removeprefix("default/") for row in rows[mask].tolist())


def running(name: str, on: str = "busy", **facts: object) -> JsonObject:
    return pod(name, group="old", node=on, cpu=1, memory=1, **facts)


def cluster(*pods: JsonObject, **of_idle: object) -> World:
    """Nodes of 10 cpu and 10Gi: busy with four pods unless others are given, and idle."""
    made = list(pods) or [running(f"p{i}") for i in range(4)]
    return World(
        node("busy", cpu=10, memory=10), node("idle", cpu=10, memory=10, **of_idle), podgroup("old", 0), *made
    )


BUSY = [("busy", 70, 30), ("idle", 10, 10)]


def test_pods_go_until_the_node_is_below_its_target() -> None:
    """70 per cent of 10 cpu, a pod of 1 each: below 50 after three."""
    assert named(cluster(), BUSY) == ["p0", "p1", "p2"]
    assert named(cluster(), [("busy", 55, 30), ("idle", 10, 10)]) == ["p0"]


def test_a_node_that_has_just_reached_its_target_is_not_overloaded_but_one_on_the_way_down_still_gives() -> (
    None
):
    assert named(cluster(), [("busy", 50, 30), ("idle", 10, 10)]) == []
    assert named(cluster(), [("busy", 60, 30), ("idle", 10, 10)]) == ["p0", "p1"]


def test_headroom_ends_it_in_any_resource() -> None:
    """The idle node may take 50 - 30 per cent of 10 cpu: two pods."""
    loads = [("busy", 95, 30), ("idle", 30, 30)]
    assert named(cluster(), loads, strategy(low=40)) == ["p0", "p1"]
    third = [("busy", 95, 30), ("idle", 35, 10)]
    assert named(cluster(), third, strategy(low=40)) == ["p0", "p1"], "half a cpu below zero is used up too"


def test_pods_without_priority_go_first_then_by_priority_class_and_name() -> None:
    pods = [
        running("high", priority=9),
        running("none"),
        running("low-b", priority=1),
        running("low-a", priority=1),
    ]
    sure = running("low-0", priority=1)
    container = sure["spec"]["containers"][0]
    container["resources"]["limits"] = dict(container["resources"]["requests"])
    world = cluster(*pods, sure)
    assert named(world, [("busy", 55, 30), ("idle", 10, 10)]) == ["none"]
    assert named(world, BUSY) == ["low-a", "low-b", "none"]
    assert named(world, [("busy", 85, 30), ("idle", 10, 10)]) == ["low-0", "low-a", "low-b", "none"]


@pytest.mark.parametrize(
    "loads",
    [
        [("busy", 70, 30), ("idle", 30, 10)],
        [("busy", 45, 45), ("idle", 10, 10)],
        [("busy", 10, 10), ("idle", 10, 10)],
        [("busy", 70, 30)],
        [],
    ],
)
def test_nothing_happens_without_an_idle_and_an_overloaded_node(loads: list[Load]) -> None:
    assert named(cluster(), loads) == []


def test_a_cordoned_node_is_not_idle() -> None:
    assert named(cluster(unschedulable=True), BUSY) == []


def test_the_defaults_do_nothing_since_all_nodes_are_idle_then() -> None:
    assert named(cluster(), BUSY, {}) == []


def test_the_fullest_node_gives_first() -> None:
    world = World(
        [node(name, cpu=10, memory=10) for name in ("a", "b", "idle")],
        podgroup("old", 0),
        [running(f"{on}{i}", on) for on in "ab" for i in range(3)],
    )
    loads = [("a", 60, 30), ("b", 70, 60), ("idle", 20, 20)]
    assert named(world, loads, strategy(low=30)) == ["b0", "b1", "b2"], "3 cpu of headroom are gone"


@pytest.mark.parametrize(
    ("timing", "runs"),
    [
        (Timing(started=1_790_000_000 - 300), True),
        (Timing(started=1_790_000_000 - 299), False),
        (Timing(ran=((WORK, 1_790_000_000 - 299.0),)), False),
        (Timing(ran=((WORK, 1_790_000_000 - 300.0),)), True),
    ],
)
def test_it_runs_once_an_interval_counted_from_the_start(timing: Timing, runs: bool) -> None:
    assert bool(named(cluster(), BUSY, timing=timing)) is runs
    view = seen(cluster(), BUSY, timing)
    plugin = Rescheduling(ReschedulingArgs.model_validate(strategy()))
    plugin.open(view)
    plugin.victim_tasks(view, np.arange(4))
    assert list(plugin.ran(view)) == ([WORK] if runs else [])
    assert plugin.wakes_at(view) == view.snapshot.now + (300 if runs else 1)


def test_a_run_counts_even_if_it_named_nobody() -> None:
    view = seen(cluster(), [])
    plugin = Rescheduling(ReschedulingArgs.model_validate({"interval": "soon"}))
    plugin.open(view)
    assert not plugin.victim_tasks(view, np.arange(4)).any()
    assert list(plugin.ran(view)) == [WORK]
    assert plugin.args.seconds() == 300


def test_what_is_wrong_in_the_strategies_is_told() -> None:
    given = {
        "strategies": [
            {"name": "highNodeUtilization"},
            {"name": "lowNodeUtilization", "params": {"thresholds": {"cpu": "20", "gpu": 1}}},
        ]
    }
    _, problems = ReschedulingArgs.read(given, "here")
    assert [problem.where for problem in problems] == [
        "here.strategies[0].name",
        "here.strategies[1].params.thresholds.cpu",
        "here.strategies[1].params.thresholds.gpu",
    ]


def test_shuffle_evicts_what_is_named_and_budgets_keep_the_rest() -> None:
    web = {"app": "web"}
    pods = [pod(f"p{i}", group="old", node="busy", cpu=1, memory=1, labels=web) for i in range(4)]
    world = World(
        node("busy", cpu=10, memory=10),
        node("idle", cpu=10, memory=10),
        podgroup("old", 0),
        pods,
        budget("web", 2),
    )
    snapshot = measured(world.snapshot, *BUSY)
    alone = policy_of([Shuffle({})], [[(Rescheduling, strategy())]])
    kept = policy_of([Shuffle({})], [[(Rescheduling, strategy())], [(Pdb, {})]])

    assert [evict.task for evict in decide(snapshot, alone).evictions] == [
        "default/p0",
        "default/p1",
        "default/p2",
    ]
    decisions = decide(snapshot, kept)
    assert [evict.task for evict in decisions.evictions] == ["default/p0", "default/p1"]
    assert decisions.ran == (WORK,)
    assert decide(snapshot, policy_of([Shuffle({})], [[(Pdb, {})]])).evictions == (), (
        "pdb names nobody itself"
    )
