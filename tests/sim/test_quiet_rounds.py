"""One write per real change and none otherwise: what a control plane writes in rounds in which nothing happens, and after."""

from __future__ import annotations

import pytest
import yaml

from vcray.app import in_process
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.sim.scenario import Scenario
from vcray.sim.steps import Steps

SCENARIO = """
name: quiet
config:
  actions: enqueue, allocate, preempt, reclaim, backfill
  tiers:
    - plugins: [{name: priority}, {name: gang}, {name: conformance}]
    - plugins: [{name: overcommit}, {name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}, {name: binpack}]
settings: {scheduler_sharding_mode: soft, scheduling_gates_queue_admission: true}
given:
  nodes: {n1: 4c, n2: 4c}
  queues: {q: {weight: 2}}
  groups: {run: {min: 2, queue: q}, wait: {min: 3}, half: {min: 1}, lost: {queue: nowhere}}
  pods:
    r: {count: 2, size: 1c, group: run}
    w: {count: 3, size: 3c, group: wait}
    h: {count: 8, size: 1c, group: half}
    l: {size: 1c, group: lost}
    s: {size: 9c, scheduler: agent-scheduler}
    gated: {size: 1c, group: half, gates: [x.io/wait]}
  jobs: {stuck: {min: 2, tasks: {t: 2 x 9c}}}
  objects:
    - apiVersion: shard.volcano.sh/v1alpha1
      kind: NodeShard
      metadata: {name: volcano}
      spec: {nodesDesired: [n1]}
"""


class Writes:
    """Writes of the control plane, events apart: `METHOD resource/name`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[str] = []
        self.events: list[str] = []
        self.world = None
        inner = InProcessTransport.request

        async def request(transport, method, path, query=None, body=None, *rest, **more):
            if method != "GET" and self.world is not None and transport is self.world._watched:
                what = "/".join(path.split("/")[-3:])
                (self.events if "/events" in path else self.all).append(f"{method} {what}")
            return await inner(transport, method, path, query, body, *rest, **more)

        monkeypatch.setattr(InProcessTransport, "request", request)

    def backend(self, order):
        self.world = in_process(order)
        return self.world

    def take(self) -> tuple[list[str], list[str]]:
        found = (sorted(self.all), sorted(self.events))
        self.all, self.events = [], []
        return found


@pytest.fixture
async def quiet(monkeypatch):
    """A world of many who run and wait, come to rest, and what it writes from then on."""
    writes = Writes(monkeypatch)
    world = writes.backend(0)
    scenario = Scenario.model_validate(yaml.safe_load(SCENARIO))
    await world.start(scenario.scheduler_conf, scenario.settings)
    await Steps(world, 0).create(scenario.given, "given")
    for _ in range(12):
        await world.cycle()
    writes.take()
    yield world, writes
    await world.stop()


async def test_fifty_quiet_rounds_write_nothing(quiet):
    world, writes = quiet

    for _ in range(50):
        await world.cycle()

    assert writes.take() == ([], [])


async def test_time_that_passes_writes_nothing(quiet):
    world, writes = quiet

    for _ in range(10):
        await world.advance(400.0)
        await world.cycle()

    assert writes.take() == ([], [])


async def test_one_pod_that_ends_is_one_write_of_what_it_changed(quiet):
    world, writes = quiet

    await world.finish("default", "r-0", 0)
    for _ in range(5):
        await world.cycle()

    told, _ = writes.take()
    for once in ("podgroups/run", "podgroups/half", "queues/q/status", "queues/default/status"):
        assert sum(once in each for each in told) == 1, once
    untouched = (
        "podgroups/wait",
        "podgroups/lost",
        "podgroups/stuck",
        "pods/s/",
        "nodeshards",
        "queues/root",
    )
    assert not [each for each in told if any(name in each for name in untouched)]
    for _ in range(10):
        await world.cycle()
    assert writes.take() == ([], [])


async def test_a_restart_says_again_only_what_objects_do_not_say(quiet):
    world, writes = quiet

    await world.stop_component("scheduler")
    await world.start_component("scheduler")
    for _ in range(3):
        await world.cycle()

    told, _ = writes.take()
    assert [each for each in told if not each.startswith("POST")] == []
    assert not [each for each in told if "binding" in each]
