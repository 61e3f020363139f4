"""Every scenario file beside this one holds, in every order it asks for.

A case of a public report comes first in its file and is named as the file; its siblings bear its id or `x_`.
"""

from __future__ import annotations

import os

import pytest

from tests.scenarios.files import FILES, SCENARIOS
from vcray.app import in_process
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
    "o_062",
    "o_063",
    "o_064",
    "o_067",
    "o_068",
)
LONG = ("o_008", "o_020")


def test_a_scenario_bears_the_id_of_its_case_and_a_name_of_its_own() -> None:
    first = {stem: scenarios[0].name for stem, scenarios in FILES.items() if stem.startswith("o_")}
    strays = [
        scenario.name
        for stem, scenarios in FILES.items()
        for scenario in scenarios
        if not scenario.name.startswith(("x_", stem[: len("o_001_")]))
    ]

    assert {stem: name for stem, name in first.items() if name != stem} == {}
    assert strays == []
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.long] if each.name.startswith(LONG) else [])
        for each in SCENARIOS
    ],
)
async def test_scenario(scenario: Scenario) -> None:
    of_scheduler = scenario.name.startswith("o_") and not scenario.name.startswith(OF_CONTROLLERS)
    results = await run_scenario(scenario, in_process, max(scenario.repeat, ORDERS if of_scheduler else 1))

    assert {result.order: result.failures for result in results if not result.ok} == {}
