"""usage: measured load keeps pods off busy nodes, and pods that no measurement shows yet are estimated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.builders import EPOCH, gang, node, pod, podgroup, queue
from tests.plugins.test_row_laws import random_world
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.check import check_plugin
from vcray.core.ledger import Ledger
from vcray.core.openview import open_view
from vcray.core.policy import policy_of
from vcray.core.rows import Layout
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.usage import Capacities, NodeLoad, UsageTable
from vcray.plugins.gang import Gang
from vcray.plugins.usage import Usage
from vcray.plugins.usage.arguments import Estimator, UsageArgs

NOW = 1_790_000_000.0


def measured(
    snapshot: Snapshot, *loads: tuple[str, float, float], age: float = 0.0, interval: float = 30.0
) -> Snapshot:
    """The snapshot with loads (node, cpu, memory in per cent) that are `age` seconds old."""
    table = UsageTable(tuple(NodeLoad(*load, at=NOW - age) for load in sorted(loads)), interval)
    return replace(snapshot, details=replace(snapshot.details, usage=table))


class Measured(World):
    """A world whose nodes were measured."""

    def __init__(self, *objects: object, loads: Sequence[tuple[str, float, float]], age: float = 0.0) -> None:
        super().__init__(*objects)
        self.snapshot = measured(self.snapshot, *loads, age=age)
        self.view, self.matrix = open_view(self.snapshot)
        self.layout, self.ledger = Layout(self.matrix), Ledger(self.view, self.matrix)


def limited(name: str, request: int, limit: int | None, **of_pod: object) -> JsonObject:
    """A pod with one container: cpu request and limit in cores, memory 1 byte."""
    resources: JsonObject = {"requests": {"cpu": str(request), "memory": "1"}}
    if limit is not None:
        resources["limits"] = {"cpu": str(limit)}
    made = pod(name, **of_pod)
    made["spec"]["containers"][0]["resources"] = resources
    return made


def score(
    world: World, arguments: Mapping[str, object] | None = None, on: str = "n1", name: str = "p"
) -> object:
    plugin = world.plugin(Usage, arguments)
    return plugin.node_score(world.view, world.one_row(on), world.shape(name))


WAITING = [podgroup("p", 1), pod("p", group="p", cpu=1)]


# ---- scores and thresholds ----


def test_the_score_is_what_is_free_of_cpu_and_memory() -> None:
    world = Measured(node("n1"), WAITING, loads=[("n1", 40, 20)])
    assert score(world) == pytest.approx(350)
    assert score(world, {"usage.weight": 1, "cpu.weight": 3}) == pytest.approx((0.6 * 3 + 0.8) / 4 * 100)


def test_negative_weights_are_the_defaults_and_weights_of_zero_say_nothing() -> None:
    world = Measured(node("n1"), WAITING, loads=[("n1", 40, 20)])
    assert score(world, {"usage.weight": -1, "cpu.weight": -2, "memory.weight": -3}) == pytest.approx(350)
    assert score(world, {"cpu.weight": 0, "memory.weight": 0}) is None


def test_a_node_that_was_not_measured_or_long_ago_scores_nothing() -> None:
    world = Measured(node("n1"), node("n2"), WAITING, loads=[("n1", 40, 20)])
    assert score(world, on="n2") == 0
    assert score(Measured(node("n1"), WAITING, loads=[("n1", 40, 20)], age=301)) is None


def refusals(world: World, arguments: Mapping[str, object] | None = None) -> dict[str, list[str]]:
    """Reason -> nodes; told by filter and reasons alike."""
    plugin = world.plugin(Usage, arguments)
    mask = plugin.node_filter(world.view, world.all_rows(), world.shape("p"))
    rejects = [reject for reject in plugin.why(world.view, world.shape("p")) if reject.where.any()]
    refused = np.zeros(len(world.snapshot.nodes), dtype=bool) if mask is None else ~np.asarray(mask)
    assert (np.logical_or.reduce([r.where for r in rejects] or [refused]) == refused).all()
    assert not any(reject.curable for reject in rejects)
    return {r.reason: [n for n, hit in world.by_node(r.where).items() if hit] for r in rejects}


LOADS = [("n1", 81, 0), ("n2", 80, 80), ("n3", 10, 80.5), ("n4", 99, 99)]
CPU, MEMORY = (f"the {each} load of the node exceeds the upper limit." for each in ("CPU", "memory"))


def test_nodes_above_a_threshold_take_nobody() -> None:
    world = Measured([node(f"n{i}") for i in range(1, 6)], WAITING, loads=LOADS)
    assert refusals(world) == {CPU: ["n1", "n4"], MEMORY: ["n3", "n4"]}
    assert refusals(world, {"thresholds": {"cpu": 95, "mem": 99}}) == {CPU: ["n4"]}


def test_old_measurements_keep_nobody_off() -> None:
    nodes = [node(f"n{i}") for i in range(1, 6)]
    assert refusals(Measured(nodes, WAITING, loads=LOADS, age=300)) != {}
    assert refusals(Measured(nodes, WAITING, loads=LOADS, age=301)) == {}


def test_a_round_is_due_when_the_measurement_of_a_busy_node_has_aged() -> None:
    world = Measured(node("n1"), node("n2"), WAITING, loads=LOADS[:2], age=100)
    due = world.plugin(Usage).wakes_at(world.view)
    assert due is not None
    assert NOW + 200 < due < NOW + 200.1
    calm = Measured(node("n2"), WAITING, loads=LOADS[1:2])
    assert calm.plugin(Usage).wakes_at(calm.view) is None


def test_shadows_do_not_count_for_the_thresholds() -> None:
    young = pod("young", node="n1", group="p", cpu=64)
    assert refusals(Measured(node("n1"), WAITING, young, loads=[("n1", 79, 0)])) == {}


# ---- shadows ----


def shadow(*pods: JsonObject, load: float = 0.0, estimator: object = None) -> float:
    """cpu in cores that the plugin adds to node n1 of 10 cores."""
    world = Measured(node("n1", cpu=10), WAITING, *pods, loads=[("n1", load, load)])
    plugin = world.plugin(Usage, {"estimator": estimator} if estimator is not None else None)
    return float(plugin.loads_.shadow_cpu[0]) / 1000


def test_a_pod_that_no_measurement_shows_is_estimated_by_its_request() -> None:
    bound = limited("a", 2, 4, group="p", node="n1", phase="Pending")
    assert shadow(bound) == pytest.approx(1.4)
    assert shadow(bound, load=60) == pytest.approx(1.68)
    assert shadow(bound, load=59) == pytest.approx(1.4)


def test_burst_counts_only_up_to_a_limit_and_nothing_exceeds_it() -> None:
    burst = {"burst_ratio": 1}
    assert shadow(limited("a", 2, None, group="p", node="n1"), estimator=burst) == pytest.approx(1.4)
    assert shadow(limited("a", 2, 1, group="p", node="n1"), estimator=burst) == pytest.approx(1.4)
    assert shadow(limited("a", 2, 4, group="p", node="n1"), estimator=burst) == pytest.approx(3.4)
    full = {"request_ratio": 1, "risk_factor": 2}
    assert shadow(limited("a", 2, None, group="p", node="n1"), load=60, estimator=full) == pytest.approx(2)
    assert Estimator.of({"request_ratio": 1, "burst_ratio": 1}).guess(2, 4, 1.2) == 4


def test_a_pod_without_requests_counts_a_fixed_amount() -> None:
    bare = pod("a", group="p", node="n1")
    assert shadow(bare) == pytest.approx(0.25)
    assert shadow(bare, load=60, estimator={"be_cpu": "500m"}) == pytest.approx(0.6)
    assert Estimator.of({"be_cpu": 100, "be_mem": 1}).be_mem == 2**20


def started(ago: int, phase: str = "Running") -> JsonObject:
    made = limited("a", 2, None, group="p", node="n1", phase=phase)
    moment = datetime.fromtimestamp(EPOCH - ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made["status"]["startTime"] = moment
    return made


@pytest.mark.parametrize(("ago", "counts"), [(29, True), (30, False)])
def test_a_running_pod_casts_a_shadow_for_one_interval(ago: int, counts: bool) -> None:
    assert (shadow(started(ago)) > 0) is counts


def test_a_pod_that_comes_casts_a_shadow_and_takes_it_along_to_the_bit() -> None:
    world = Measured(node("n1", cpu=10), WAITING, started(5), loads=[("n1", 50, 0)])
    plugin = world.plugin(Usage, {"cpu.weight": 1, "memory.weight": 0})
    task, old = world.task("p"), world.task("a")
    before = plugin.loads_.shadow_cpu.tolist()
    undo = plugin.reserve(world.view, task, 0, promised=True)
    assert callable(undo)
    assert plugin.loads_.shadow_cpu[0] == pytest.approx(1400 + 700 * 1.2), "0.5 + 0.14 is a risk"
    undo()
    assert plugin.loads_.shadow_cpu.tolist() == before
    back = plugin.release(world.view, old, 0)
    assert plugin.loads_.shadow_cpu[0] == 0
    back()
    assert plugin.loads_.shadow_cpu.tolist() == before


def test_no_flag_keeps_it_from_observing_pods() -> None:
    assert Usage.observes


def test_per_cents_are_of_the_capacity_of_a_node() -> None:
    machine = node("n1", cpu=8)
    machine["status"]["capacity"]["cpu"] = "10"
    snapshot = snapshot_of([machine, *WAITING, limited("a", 2, None, group="p", node="n1")], NOW)
    assert snapshot.details.capacities == Capacities((("n1", (10_000, 256 * 2**30)),))
    view, _ = open_view(measured(snapshot, ("n1", 50, 0)))
    plugin = Usage(UsageArgs())
    plugin.open(view)
    assert plugin.loads_.busy(0) == pytest.approx((0.5 + 0.14 + 0) / 2, abs=1e-6)


# ---- arguments ----


def test_what_is_out_of_range_keeps_its_default_and_is_told() -> None:
    args, problems = UsageArgs.read(
        {
            "usage.weight": -1,
            "thresholds": {"cpu": 101, "mem": "90", "gpu": 1},
            "estimator": {"request_ratio": 1.1, "risk_factor": 0.9, "be_mem": "x", "burst_ratio": -1},
        },
        "here",
    )
    assert args.weights() == (5, 1, 1)
    assert sorted(problem.where for problem in problems) == [
        "here.estimator.be_mem",
        "here.estimator.burst_ratio",
        "here.estimator.request_ratio",
        "here.estimator.risk_factor",
        "here.thresholds.cpu",
        "here.thresholds.gpu",
        "here.thresholds.mem",
        "here.usage.weight",
    ]
    assert Estimator.of(args.estimator) == replace(
        Estimator.of(None), wrong=Estimator.of(args.estimator).wrong
    )


@pytest.mark.parametrize("number", range(10))
def test_it_keeps_the_laws_of_row_hooks(number: int) -> None:
    snapshot = random_world(number).snapshot
    loads = [
        (name, (7 * i + number) % 100, (13 * i) % 100) for i, name in enumerate(snapshot.nodes.names) if i % 5
    ]
    args = UsageArgs.model_validate({"estimator": {"burst_ratio": 0.5, "risk_threshold": 0.4}})
    assert check_plugin(Usage, args, measured(snapshot, *loads)) == []


def test_pods_of_one_round_spread_over_equally_idle_nodes_by_their_shadows() -> None:
    nodes = [node(name, cpu=10, memory=64) for name in ("n1", "n2", "n3")]
    snapshot = snapshot_of([*nodes, queue("default"), *gang("g", 9, cpu=1, memory=1)], NOW)
    policy = policy_of([Allocate({})], [[(Gang, {}), (Usage, {})]])
    loads = measured(snapshot, ("n1", 20, 20), ("n2", 20, 20), ("n3", 60, 60))
    (commit,) = decide(loads, policy).commits
    found = Counter(bind.node for bind in commit.binds)
    assert sorted(found.values()) == [4, 5]
    assert set(found) == {"n1", "n2"}
