"""Leader election: one holder at a time, whatever happens to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import LEASES
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient
from vcray.kube.lease import Leadership, Timing
from vcray.kube.transport import Response


class Stage:
    """A cluster, and candidates whose clock moves only when told."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.transport = InProcessTransport(Store(self.clock))
        self.client = KubeClient(self.transport, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    def candidate(self, name: str) -> Leadership:
        return Leadership(self.client, "kube-system", "vcray", name, Timing(), self.clock, self._sleep)

    async def lease(self) -> JsonObject:
        spec = (await self.client.get(LEASES, "kube-system", "vcray"))["spec"]
        assert isinstance(spec, dict)
        return spec


class Mute(InProcessTransport):
    """A server that does not answer."""

    async def request(self, *_: Any, **__: Any) -> Response:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_the_first_candidate_gets_the_lease_and_the_second_does_not(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")

    assert await one.try_once()
    assert not await two.try_once()

    assert one.held
    assert not two.held
    assert two.holder == "one"
    spec = await stage.lease()
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)


async def test_a_holder_that_renews_keeps_the_lease(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")
    await one.try_once()

    for _ in range(20):
        stage.clock.advance(5)
        assert await one.try_once()
        assert not await two.try_once()

    assert one.held


async def test_a_silent_holder_loses_it_after_the_whole_duration_was_watched(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")
    await one.try_once()
    stage.clock.advance(14)
    assert not await two.try_once()  # its own watch of the lease begins here

    stage.clock.advance(14)
    assert not await two.try_once()
    stage.clock.advance(1.5)
    assert await two.try_once()

    assert two.held
    assert not one.held
    assert (await stage.lease())["leaseTransitions"] == 1


async def test_a_holder_that_cannot_renew_stops_acting_before_others_start(stage: Stage) -> None:
    one = stage.candidate("one")
    await one.try_once()
    stage.transport.available = False

    stage.clock.advance(9)
    assert await one.try_once()
    stage.clock.advance(1.5)

    assert not await one.try_once()
    assert not one.held


async def test_a_server_that_does_not_answer_ends_the_leadership(stage: Stage) -> None:
    one = stage.candidate("one")
    await one.try_once()
    one._client = KubeClient(Mute(Store(stage.clock)))
    stage.clock.advance(9)  # one second is left, and the wait for an answer is as long

    await asyncio.wait_for(one.keep(), 5)

    assert not one.held


async def test_a_released_lease_is_taken_at_once(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")
    await one.try_once()

    await one.release()

    assert not one.held
    assert await two.try_once()


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_lease_whose_answer_was_not_waited_for_is_released(stage: Stage, is_new: bool) -> None:
    class Slow(InProcessTransport):
        async def request(self, method: str, *more: Any, **further: Any) -> Response:
            answer = await super().request(method, *more, **further)
            if method in ("POST", "PUT") and not written.is_set():
                written.set()
                await asyncio.Event().wait()
            return answer

    written = asyncio.Event()
    if not is_new:
        before = stage.candidate("before")
        await before.try_once()
        await before.release()
    one, two = stage.candidate("one"), stage.candidate("two")
    one._client = KubeClient(Slow(stage.transport.store))
    waiting = asyncio.create_task(one.acquire())
    await written.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (await stage.lease())["holderIdentity"] == "one"

    await one.release()

    assert await two.try_once()


async def test_who_stood_by_has_nothing_to_release(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")
    await one.try_once()
    await two.try_once()
    two._client = KubeClient(Mute(Store(stage.clock)))

    await asyncio.wait_for(two.release(), 5)

    assert (await stage.lease())["holderIdentity"] == "one"


async def test_of_two_that_try_at_the_same_time_one_wins(stage: Stage) -> None:
    candidates = [stage.candidate(f"c{number}") for number in range(4)]

    won = await asyncio.gather(*(candidate.try_once() for candidate in candidates))

    assert sum(won) == 1


async def test_run_starts_once_and_stops_when_the_lease_is_lost(stage: Stage) -> None:
    one = stage.candidate("one")
    told: list[str] = []
    running = asyncio.create_task(one.run(lambda: told.append("started"), lambda: told.append("stopped")))
    for _ in range(20):
        await asyncio.sleep(0)
    assert told == ["started"]

    stage.transport.available = False
    await asyncio.wait_for(running, 5)

    assert told == ["started", "stopped"]


async def test_acquire_waits_for_the_holder_to_go(stage: Stage) -> None:
    one, two = stage.candidate("one"), stage.candidate("two")
    await one.try_once()

    await asyncio.wait_for(two.acquire(), 5)

    assert two.held
