"""Turns of keys: one at a time, again when asked, later when refused."""

from __future__ import annotations

import asyncio

from vcray.actors.timekeeping import VirtualTime
from vcray.kube.errors import Conflict
from vcray.kube.workqueue import Timers, WorkQueue


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def test_key_that_is_added_often_has_one_turn() -> None:
    async def whole() -> list[str]:
        turns: list[str] = []

        async def work(key: str) -> None:
            turns.append(key)

        queue: WorkQueue[str] = WorkQueue("q", VirtualTime(), work)
        for key in "aabab":
            queue.add(key)
        queue.start()
        await settle()
        await queue.stop()
        return turns

    assert asyncio.run(whole()) == ["a", "b"]


def test_key_that_is_added_during_its_turn_has_another_one_after_it() -> None:
    async def whole() -> tuple[int, int]:
        turns, together, most = 0, 0, 0
        gate = asyncio.Event()

        async def work(key: str) -> None:
            nonlocal turns, together, most
            turns, together = turns + 1, together + 1
            most = max(most, together)
            await gate.wait()
            together -= 1

        queue: WorkQueue[str] = WorkQueue("q", VirtualTime(), work)
        queue.start()
        queue.add("a")
        await settle()
        queue.add("a")
        queue.add("a")
        await settle()
        gate.set()
        await settle()
        await queue.stop()
        return turns, most

    assert asyncio.run(whole()) == (2, 1)


def test_refused_turn_comes_again_ever_later() -> None:
    async def whole() -> list[float]:
        time = VirtualTime()
        start, moments = time.now(), []

        async def work(key: str) -> None:
            moments.append(round(time.now() - start, 3))
            if len(moments) < 4:
                raise Conflict("somebody was faster")

        queue: WorkQueue[str] = WorkQueue("q", time, work)
        queue.start()
        queue.add("a")
        await settle()
        await time.advance(10, settle)
        await queue.stop()
        return moments

    assert asyncio.run(whole()) == [0.0, 0.01, 0.03, 0.07]


def test_fault_of_one_key_does_not_stop_the_others() -> None:
    async def whole() -> tuple[list[str], int]:
        turns: list[str] = []

        async def work(key: str) -> None:
            turns.append(key)
            if key == "bad":
                raise KeyError(key)

        queue: WorkQueue[str] = WorkQueue("q", VirtualTime(), work, workers=1)
        queue.start()
        queue.add("bad")
        queue.add("good")
        await settle()
        await queue.stop()
        return turns, queue.failures

    assert asyncio.run(whole()) == (["bad", "good"], 1)


def test_timers_fire_in_order_of_time_and_the_earliest_of_a_key_holds() -> None:
    async def whole() -> list[str]:
        time, fired = VirtualTime(), []
        timers: Timers[str] = Timers(time, fired.append)
        for key, seconds in (
            ("late", 30),
            ("soon", 5),
            ("late", 40),
            ("gone", 6),
            ("first", 20),
            ("first", 1),
        ):
            timers.at(key, time.now() + seconds)
        timers.cancel("gone")
        await settle()
        await time.advance(35, settle)
        timers.stop()
        return fired

    assert asyncio.run(whole()) == ["first", "soon", "late"]


def test_task_that_is_cancelled_under_a_turn_costs_the_turn_and_not_the_worker() -> None:
    async def whole() -> tuple[list[str], int]:
        done: list[str] = []

        async def work(key: str) -> None:
            if key == "a":
                request: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                request.cancel()
                await request
            done.append(key)

        queue: WorkQueue[str] = WorkQueue("q", VirtualTime(), work, workers=1)
        queue.start()
        queue.add("a")
        queue.add("b")
        await settle()
        await queue.stop()
        return done, queue.failures

    assert asyncio.run(whole()) == (["b"], 1)


def test_key_that_fails_for_ever_keeps_its_worker_and_the_others_their_turns() -> None:
    async def whole() -> tuple[int, list[str]]:
        time, tries, done = VirtualTime(), 0, []

        async def work(key: str) -> None:
            nonlocal tries
            if key == "bad":
                tries += 1
                raise Conflict("never")
            done.append(key)

        queue: WorkQueue[str] = WorkQueue("q", time, work, workers=1)
        queue.start()
        for _ in range(1100):
            queue.add("bad")
            await settle()
        queue.add("good")
        await settle()
        await queue.stop()
        return tries, done

    assert asyncio.run(whole()) == (1100, ["good"])
