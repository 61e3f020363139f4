"""A whole control plane on its own rounds: who starts at once is not complained of, who waits is, after a second."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from vcray.actors.local_runtime import Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.resources import EVENTS, JOBS, NODES, PODS
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient
from vcray.sim import shorthand


class Cluster:
    """An in-process cluster of one node of four cores, with a control plane that runs by itself in virtual time."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.activity = Activity()
        store = Store(clock=self.time)
        self.plane = ControlPlane(InProcessTransport(store), time=self.time, activity=self.activity)
        self.client = KubeClient(InProcessTransport(store))

    async def submit(self, name: str, spec: str) -> None:
        await self.client.create(JOBS, "default", shorthand.job(name, spec, name))

    async def pass_time(self, seconds: float) -> None:
        await self.activity.quiet()
        await self.time.advance(seconds, self.activity.quiet)

    async def complaints(self) -> list[str]:
        events = (await self.client.list(EVENTS)).items
        return [str(event["reason"]) for event in events if event["type"] == "Warning"]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    made = Cluster()
    await made.client.create(NODES, None, shorthand.node("n1", "4c", "n1"))
    await made.plane.start()
    await made.pass_time(0.1)
    yield made
    await made.plane.stop()


async def test_a_job_that_starts_at_once_is_not_complained_of(cluster: Cluster) -> None:
    await cluster.submit("fits", "4 x 1c")
    await cluster.pass_time(0.5)

    pods = (await cluster.client.list(PODS)).items
    assert [pod["spec"]["nodeName"] for pod in pods if isinstance(pod["spec"], dict)] == ["n1"] * 4
    await cluster.pass_time(5)
    assert await cluster.complaints() == []


async def test_a_job_that_waits_is_complained_of_after_a_second(cluster: Cluster) -> None:
    await cluster.submit("too-large", "4 x 2c")
    await cluster.pass_time(0.5)
    assert await cluster.complaints() == []

    await cluster.pass_time(2)

    assert "Unschedulable" in await cluster.complaints()
