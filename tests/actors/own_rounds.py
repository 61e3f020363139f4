"""A whole control plane on its own rounds, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from vcray.actors.local_runtime import Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.resources import EVENTS, JOBS, NODES
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
