"""Virtual time: only the tester moves it, and sleepers wake in order."""

from __future__ import annotations

import asyncio

import pytest

from vcray.actors.timekeeping import VirtualTime


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_sleepers_wake_in_order_of_their_due_time() -> None:
    time = VirtualTime(start=100.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await time.sleep(seconds)
        woken.append((name, time.now()))

    tasks = [asyncio.create_task(sleeper(name, s)) for name, s in (("late", 7), ("early", 2), ("never", 60))]
    await _settle()
    await time.advance(10, _settle)

    assert woken == [("early", 102.0), ("late", 107.0)]
    assert time.now() == 110.0
    tasks[2].cancel()


async def test_a_timer_that_sets_a_timer_fires_within_one_advance() -> None:
    time = VirtualTime(start=0.0)
    ticks: list[float] = []

    async def ticker() -> None:
        while True:
            await time.sleep(3)
            ticks.append(time.now())

    task = asyncio.create_task(ticker())
    await _settle()
    await time.advance(10, _settle)

    assert ticks == [3.0, 6.0, 9.0]
    task.cancel()


async def test_time_never_runs_backwards() -> None:
    time = VirtualTime()

    with pytest.raises(ValueError, match="cannot advance"):
        await time.advance(-1, _settle)
