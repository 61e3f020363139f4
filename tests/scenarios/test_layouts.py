"""Pools and process boundaries change no decision: whole scenarios, every cycle, byte for byte."""

from __future__ import annotations

import msgspec
import pytest

from tests.scenarios.files import FILES
from vcray.actors.deployment import Layout
from vcray.app import in_process
from vcray.config.settings import Settings
from vcray.core.decisions import Decisions
from vcray.sim.backend import Backend
from vcray.sim.runner import run_scenario

SLOW = ("o_008", "o_016")
ABOUT_JOBS = ("x_abort", "x_cron", "x_restart")
SMALL = [
    stem
    for stem in FILES
    if not stem.startswith(SLOW + ABOUT_JOBS) and (stem < "o_054" or stem.startswith("x_"))
]
"""Those whose point is a decision; the others are about controllers, or large."""


async def _history(stem: str, pools: int, frames: bool, layout: Layout = "standard") -> list[bytes]:
    """The decisions of each cycle; in layout huge every round is scored by the pools."""
    history: list[Decisions] = []
    settings = Settings(pools=pools, layout=layout, fan_out_nodes=0)

    def backend(order: int) -> Backend:
        world = in_process(order, settings, frames)
        once = world.cycle

        async def cycle() -> Decisions:
            history.append(await once())
            return history[-1]

        world.cycle = cycle  # type: ignore[method-assign]
        return world

    results = [
        result for scenario in FILES[stem] for result in await run_scenario(scenario, backend, repeat=1)
    ]
    assert all(result.ok for result in results)
    return [msgspec.msgpack.encode(decisions) for decisions in history]


@pytest.mark.parametrize("stem", SMALL)
async def test_one_two_and_seven_pools_decide_the_same(stem: str) -> None:
    one = await _history(stem, pools=1, frames=False)

    assert await _history(stem, pools=2, frames=False) == one
    assert await _history(stem, pools=7, frames=True) == one
    assert await _history(stem, pools=3, frames=True, layout="huge") == one
