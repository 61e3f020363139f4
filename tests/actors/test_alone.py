"""A component that runs alone does its own work and leaves that of the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.builders import pod
from vcray.actors.local_runtime import Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NODES, NODESHARDS, PODGROUPS, PODS, QUEUES
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import load
from vcray.controllers.queue import initial_queues
from vcray.kube.client import KubeClient
from vcray.sim import shorthand


class World:
    """One node, a job, a pod of the agent's scheduler, and a control plane of some components in virtual time."""

    def __init__(self, **given: object) -> None:
        self.time, self.activity = VirtualTime(), Activity()
        self.transport = InProcessTransport(Store(clock=self.time))
        self.plane = ControlPlane(self.transport, load(given, {}), time=self.time, activity=self.activity)
        self.client = KubeClient(self.transport)

    async def pass_time(self, seconds: float) -> None:
        await self.activity.quiet()
        await self.time.advance(seconds, self.activity.quiet)

    async def bound(self) -> list[str]:
        """Names of pods that have a node."""
        found = (await self.client.list(PODS, "default")).items
        return [dig_str(each, "metadata", "name") for each in found if dig_str(each, "spec", "nodeName")]

    async def state(self) -> JsonObject:
        """What the scheduler writes of the default queue."""
        return dig_object(await self.client.get(QUEUES, None, "default"), "status")


@asynccontextmanager
async def world(*only: str, **given: object) -> AsyncIterator[World]:
    made = World(only=only, **given)
    await made.client.create(NODES, None, shorthand.node("n1", "4c", "n1"))
    for queue in initial_queues():
        await made.client.create(QUEUES, None, queue)
    await made.client.create(JOBS, "default", shorthand.job("j", "1 x 1c", "j"))
    await made.client.create(PODS, "default", pod("quick", scheduler="agent-scheduler", cpu=1))
    await made.plane.start()
    await made.pass_time(2.0)
    yield made
    await made.plane.stop()


async def test_the_agents_scheduler_places_single_pods_alone() -> None:
    async with world("controllers") as first:
        await first.client.create(PODS, "default", pod("batch", scheduler="volcano", group="j", cpu=1))
        agent = ControlPlane(
            first.transport, load({"only": ["agent-scheduler"]}, {}), time=first.time, activity=first.activity
        )
        await agent.start()
        await first.pass_time(2.0)
        await agent.stop()

        assert await first.bound() == ["quick"]
        assert "allocated" not in await first.state()
        group = (await first.client.list(PODGROUPS, "default")).items[0]
        assert dig_str(group, "status", "phase") in ("", "Pending")


async def test_the_agents_scheduler_tells_which_nodes_of_its_shard_it_uses() -> None:
    async with world("agent-scheduler", scheduler_sharding_mode="soft") as found:
        shard: JsonObject = {"metadata": {"name": "agent-scheduler"}, "spec": {"nodesDesired": ["n1"]}}
        await found.client.create(NODESHARDS, None, shard)
        await found.pass_time(2.0)

        told = await found.client.get(NODESHARDS, None, "agent-scheduler")
        assert dig_object(told, "status")["nodesInUse"] == ["n1"]


async def test_the_batch_scheduler_leaves_pods_of_the_agents() -> None:
    async with world("scheduler", "controllers") as found:
        assert await found.bound() == ["j-t-0"]


@pytest.mark.parametrize(("listed", "groups"), [(["*"], 1), (["-job-controller"], 0)])
async def test_a_controller_that_is_switched_off_does_nothing(listed: list[str], groups: int) -> None:
    async with world("controllers", controllers=listed) as found:
        assert len((await found.client.list(PODGROUPS, "default")).items) == groups
        assert await found.bound() == []


async def test_queues_are_the_schedulers_to_create() -> None:
    for only, there in (("controllers", False), ("scheduler", True)):
        alone = World(only=[only])
        await alone.plane.start()
        await alone.pass_time(0.5)
        await alone.plane.stop()

        assert bool((await alone.client.list(QUEUES)).items) is there
