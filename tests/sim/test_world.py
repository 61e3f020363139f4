"""The in-process back end: a cluster and a control plane that move only when told."""

from __future__ import annotations

import pytest

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PODS, QUEUES
from vcray.app import in_process
from vcray.sim import shorthand
from vcray.sim.configurations import CONFIGURATIONS
from vcray.sim.observed import text
from vcray.sim.world import World


async def started(order: int = 0) -> World:
    world = in_process(order)
    await world.start(CONFIGURATIONS["KA"])
    return world


async def create(world: World, name: str, spec: JsonObject) -> None:
    for pod in shorthand.pods(name, spec, name):
        await world.client.create(PODS, "default", pod)


def test_world_that_has_not_started_has_no_control_plane() -> None:
    with pytest.raises(RuntimeError, match="has not started"):
        _ = in_process().plane


async def test_quiet_cycles_change_nothing() -> None:
    world = await started()
    await world.cycle()
    await world.cycle()

    before = world.version()
    await world.cycle()

    assert world.version() == before
    await world.stop()


async def test_time_moves_only_when_told() -> None:
    world = await started()
    before = world.time.now()
    await world.cycle()
    assert world.time.now() == before

    await world.advance(90)

    assert world.time.now() == before + 90
    await world.stop()


async def test_no_round_runs_while_the_scheduler_is_stopped() -> None:
    world = await started()
    await world.client.create(NODES, None, shorthand.node("n1", "4c", "n1"))
    await world.stop_component("scheduler")
    await create(world, "p", {"size": "1c"})

    await world.cycle()
    stopped = text(await world.client.get(PODS, "default", "p"), "spec", "nodeName")
    await world.start_component("scheduler")
    await world.rest()
    await world.cycle()

    assert (stopped, text(await world.client.get(PODS, "default", "p"), "spec", "nodeName")) == ("", "n1")
    await world.stop()


async def test_overwriting_goes_past_the_checks_and_metrics_are_text() -> None:
    world = await started()

    await world.overwrite(QUEUES, "", "default", {"spec": {"weight": 0}})

    assert dig(await world.client.get(QUEUES, None, "default"), "spec", "weight") == 0
    assert "vcray_rounds_total" in world.metrics()
    await world.stop()
