"""Every scenario file beside this one holds, in every order it asks for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vcray.app import in_process
from vcray.sim.reading import load
from vcray.sim.runner import run_scenario
from vcray.sim.scenario import Scenario

ORDERS = int(os.environ.get("VCRAY_ORDERS", 3))
"""In how many orders of events each case of a public report about the scheduler is run, at least."""

OF_CONTROLLERS = (
    "o_055",
    "o_056",
    "o_057",
    "o_058",
    "o_059",
    "o_060",
    "o_061",
    "o_063",
    "o_064",
    "o_067",
    "o_068",
)
FILES = sorted(Path(__file__).parent.glob("*.yaml"))
SCENARIOS = [scenario for file in FILES for scenario in load(file)]


def test_there_are_scenarios_and_their_names_are_those_of_their_files() -> None:
    assert [scenario.name for scenario in SCENARIOS] == [file.stem for file in FILES]
    assert SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_scenario(scenario: Scenario) -> None:
    of_scheduler = scenario.name.startswith("o_") and not scenario.name.startswith(OF_CONTROLLERS)
    results = await run_scenario(scenario, in_process, max(scenario.repeat, ORDERS if of_scheduler else 1))

    assert {result.order: result.failures for result in results if not result.ok} == {}
