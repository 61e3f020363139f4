"""Every scenario file beside this one holds, in every order it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.app import in_process
from vcray.sim.reading import load
from vcray.sim.runner import run_scenario
from vcray.sim.scenario import Scenario

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
SCENARIOS = [scenario for file in FILES for scenario in load(file)]


def test_there_are_scenarios_and_their_names_are_those_of_their_files() -> None:
    assert [scenario.name for scenario in SCENARIOS] == [file.stem for file in FILES]
    assert SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_scenario(scenario: Scenario) -> None:
    results = await run_scenario(scenario, in_process)

    assert {result.order: result.failures for result in results if not result.ok} == {}
