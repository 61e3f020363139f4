"""What surrounds a control plane: in which order it stops, when it is ready, what becomes of a lost lease."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest

from vcray.actors.conf_source import find_source
from vcray.actors.messages import Accepted
from vcray.actors.policies import policy_from
from vcray.actors.runtime import Handle, Time
from vcray.actors.service import Service
from vcray.actors.timekeeping import WallTime
from vcray.api.resources import LEASES
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.scheduler import DEFAULT_CONF
from vcray.config.settings import Settings, load
from vcray.errors import ServerError
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.kube.events import Involved
from vcray.metrics import Metrics
from vcray.registry import discover

REGISTRY = discover()
NAMESPACE = "kube-system"


class Plane:
    """A control plane that notes what it is told. It starts when `may_start` is set."""

    def __init__(self, holder: Callable[[], Awaitable[str]]) -> None:
        self.time: Time = WallTime()
        self.metrics = Metrics()
        self.policy = policy_from(DEFAULT_CONF, REGISTRY)
        self.may_start = asyncio.Event()
        self.started = asyncio.Event()
        self.held_at_stop: list[str] = []
        self._holder = holder

    async def start(self) -> None:
        await self.may_start.wait()
        self.started.set()

    async def stop(self) -> None:
        self.held_at_stop.append(await self._holder())

    def handles(self) -> list[Handle]:
        return []

    def exposition(self) -> bytes:
        return b""

    def health(self) -> str:
        return ""

    async def reconfigure(self, text: str) -> Accepted:
        return Accepted(True)

    async def tell(self, problems: Sequence[str], about: Involved) -> None:
        return None


class Stage:
    """A cluster with one service on it."""

    def __init__(self, settings: Settings, transport: InProcessTransport) -> None:
        self.settings, self.transport = settings, transport
        self.client = KubeClient(transport)
        self.plane = Plane(self.holder)
        self.said: list[str] = []
        self.running: asyncio.Task[None]

    async def begin(self) -> None:
        source = await find_source(self.settings, self.client)
        self.running = asyncio.create_task(
            Service(self.plane, self.transport, source, self.said.append).run()
        )

    async def holder(self) -> str:
        """Who has the lease."""
        try:
            lease = await self.client.get(LEASES, NAMESPACE, self.settings.lease_name)
        except NotFound:
            return ""
        return str(lease["spec"]["holderIdentity"])  # type: ignore[index, call-overload]

    async def ready(self, port: int) -> tuple[int, str]:
        """The answer of /readyz."""
        url = f"http://127.0.0.1:{port}/readyz"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status, await answer.text()

    async def ended(self) -> None:
        """SIGTERM, and its end."""
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(self.running, 10)


@asynccontextmanager
async def stage(*others: Stage, **given: object) -> AsyncIterator[Stage]:
    settings = load({"metrics_port": "-1", "lease_namespace": NAMESPACE, **given}, {})
    transport = others[0].transport if others else InProcessTransport(Store())
    made = Stage(settings, transport)
    await made.begin()
    try:
        yield made
    finally:
        made.running.cancel()
        await asyncio.gather(made.running, return_exceptions=True)


async def eventually(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true")


async def test_components_stop_before_the_lease_is_given_up() -> None:
    async with stage(leader_elect="true") as one:
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))
        holder = await one.holder()
        await one.ended()

        assert holder
        assert one.plane.held_at_stop == [holder]
        assert await one.holder() == ""


async def test_a_signal_is_heard_while_the_components_start() -> None:
    async with stage(leader_elect="true") as one:
        await asyncio.sleep(0.02)
        await one.ended()

        assert not one.plane.started.is_set()
        assert len(one.plane.held_at_stop) == 1
        assert await one.holder() == ""


async def test_of_two_the_second_waits_and_acts_when_the_first_has_stopped() -> None:
    async with stage(leader_elect="true", lease_retry_period_s="0.02") as one:
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))
        first = await one.holder()
        async with stage(one, leader_elect="true", lease_retry_period_s="0.02") as two:
            two.plane.may_start.set()
            await asyncio.sleep(0.1)
            waited = not two.plane.started.is_set()
            one.running.cancel()
            await eventually(two.plane.started.is_set)

            assert waited
            assert one.plane.held_at_stop == [first]
            assert await two.holder() not in ("", first)


async def test_a_lost_lease_ends_the_process_with_a_sentence() -> None:
    async with stage(leader_elect="true", lease_retry_period_s="0.02") as one:
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))

        def stolen(lease: dict[str, object]) -> dict[str, object]:
            return {**lease, "spec": {**lease["spec"], "holderIdentity": "thief"}}  # type: ignore[dict-item]

        await one.client.modify(LEASES, NAMESPACE, "volcano", stolen)  # type: ignore[arg-type]
        with pytest.raises(ServerError, match="VC0405 lease kube-system/volcano: was lost"):
            await asyncio.wait_for(one.running, 10)

        assert await one.holder() == "thief"
        assert len(one.plane.held_at_stop) == 1


async def test_webhooks_alone_need_no_lease() -> None:
    async with stage(leader_elect="true", only=["admission"]) as one:
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))
        leases = await one.client.list(LEASES, NAMESPACE)
        await one.ended()

    assert leases.items == []


async def test_readiness_is_told_apart_from_health(unused_tcp_port: int) -> None:
    port = unused_tcp_port
    async with stage(health_port=str(port)) as one:
        await eventually(lambda: one.running.done() or bool(asyncio.all_tasks()))
        await asyncio.sleep(0.05)
        before = await one.ready(port)
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))
        after = await one.ready(port)
        await one.ended()

    assert before == (503, "starting")
    assert after == (200, "ok")


async def test_whoever_stands_by_is_ready(unused_tcp_port: int) -> None:
    async with stage(leader_elect="true") as one:
        one.plane.may_start.set()
        await eventually(lambda: bool(one.said))
        async with stage(one, leader_elect="true", health_port=str(unused_tcp_port)) as two:
            await asyncio.sleep(0.05)

            assert await two.ready(unused_tcp_port) == (200, "ok")
            assert not two.plane.started.is_set()
