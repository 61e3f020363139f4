"""Whose name events carry: the scheduler's when it has one, Volcano's when it has several, the agent's for the fast path."""

from __future__ import annotations

import pytest
import yaml

from vcray.api.jsonview import dig_str
from vcray.api.resources import EVENTS
from vcray.app import in_process
from vcray.sim.scenario import Objects
from vcray.sim.steps import Steps

CONF = """\
actions: "allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
"""
GIVEN = """
nodes: {n1: 4c}
groups: {g: 1}
pods:
  fits: {size: 1c, group: g, scheduler: mine}
  big: {size: 9c, group: g, scheduler: mine}
  single: {size: 1c, scheduler: agent-scheduler}
  huge: {size: 9c, scheduler: agent-scheduler}
"""


@pytest.mark.parametrize(("names", "source"), [(["mine"], "mine"), (["mine", "yours"], "volcano")])
async def test_events_carry_the_name_of_who_decided(names, source):
    world = in_process()
    await world.start(CONF, {"scheduler_names": names})
    await Steps(world, 0).create(Objects.model_validate(yaml.safe_load(GIVEN)), "given")

    for _ in range(3):
        await world.cycle()

    events = (await world.client.list(EVENTS, "default")).items
    told = {
        (dig_str(event, "involvedObject", "name"), dig_str(event, "reason")): dig_str(
            event, "source", "component"
        )
        for event in events
    }
    await world.stop()
    assert told["fits", "Scheduled"] == source
    assert told["big", "FailedScheduling"] == source
    assert told["single", "Scheduled"] == told["huge", "FailedScheduling"] == "agent-scheduler"
