"""Requests keep to a rate: a burst goes out at once, the rest one after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from vcray.clock import ManualClock
from vcray.kube.pace import PacedTransport, paced
from vcray.kube.transport import JSON, Query, Response


class Target:
    """Notes when a request arrives."""

    address = "here"

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.at: list[float] = []

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        self.at.append(round(self.clock.now(), 6))
        return Response(200)

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        self.at.append(round(self.clock.now(), 6))
        yield b"line"

    async def close(self) -> None:
        return None


def setting(qps: float, burst: int) -> tuple[PacedTransport, Target, ManualClock]:
    clock = ManualClock(100.0)
    target = Target(clock)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    return PacedTransport(target, qps, burst, clock, sleep), target, clock


async def test_a_burst_goes_out_at_once_and_the_rest_evenly() -> None:
    paced_, target, _ = setting(qps=10, burst=3)

    for _ in range(6):
        await paced_.request("GET", "/")

    assert target.at == [100.0, 100.0, 100.0, 100.1, 100.2, 100.3]


async def test_a_pause_fills_the_bucket_again_but_no_further() -> None:
    paced_, target, clock = setting(qps=10, burst=2)

    for _ in range(2):
        await paced_.request("GET", "/")
    clock.advance(60)
    for _ in range(3):
        await paced_.request("GET", "/")

    assert target.at == [100.0, 100.0, 160.0, 160.0, 160.1]


async def test_a_watch_counts_once() -> None:
    paced_, target, _ = setting(qps=1, burst=1)

    lines = [line async for line in paced_.stream("/")]
    await paced_.request("GET", "/")

    assert lines == [b"line"]
    assert target.at == [100.0, 101.0]


def test_without_a_limit_there_is_nothing_between() -> None:
    target = Target(ManualClock())

    assert paced(target, 0, 5) is target
    assert paced(target, 5, 5) is not target
