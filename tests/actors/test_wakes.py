"""A control plane on its own rounds looks again when time alone changes an answer, and not before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vcray.actors.local_runtime import Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PODGROUPS
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient
from vcray.sim import shorthand

CONF = """\
actions: enqueue, allocate, backfill
tiers:
- plugins: [{name: sla}, {name: gang}]
- plugins: [{name: overcommit}, {name: predicates}]
"""


class Cluster:
    """One node of one core, a control plane in virtual time."""

    def __init__(self) -> None:
        self.time, self.activity = VirtualTime(), Activity()
        store = Store(clock=self.time)
        self.plane = ControlPlane(
            InProcessTransport(store), scheduler_conf=CONF, time=self.time, activity=self.activity
        )
        self.client = KubeClient(InProcessTransport(store))

    async def submit(self, name: str, wait: str) -> None:
        """A group that asks for more than there is, for as long as it waits."""
        group: JsonObject = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "annotations": {"volcano.sh/sla-waiting-time": wait}},
            "spec": {"minMember": 1, "minResources": {"cpu": "8"}},
        }
        await self.client.create(PODGROUPS, "default", group)

    async def pass_time(self, seconds: float) -> None:
        await self.activity.quiet()
        await self.time.advance(seconds, self.activity.quiet)

    async def phase(self, name: str) -> object:
        group = await self.client.get(PODGROUPS, "default", name)
        status = group.get("status")
        return status.get("phase") if isinstance(status, dict) else None


@asynccontextmanager
async def running() -> AsyncIterator[Cluster]:
    made = Cluster()
    await made.client.create(NODES, None, shorthand.node("n1", "1c", "n1"))
    await made.plane.start()
    try:
        await made.pass_time(0.1)
        yield made
    finally:
        await made.plane.stop()


async def test_a_job_is_let_in_when_its_time_runs_out_though_nothing_else_happens() -> None:
    async with running() as cluster:
        await cluster.submit("late", "10m")
        await cluster.submit("later", "20m")
        await cluster.pass_time(590)
        assert [await cluster.phase(name) for name in ("late", "later")] == ["Pending", "Pending"]

        await cluster.pass_time(20)
        assert [await cluster.phase(name) for name in ("late", "later")] == ["Inqueue", "Pending"]

        await cluster.pass_time(600)
        assert await cluster.phase("later") == "Inqueue"


async def test_waiting_for_a_moment_costs_no_rounds_meanwhile() -> None:
    async with running() as cluster:
        await cluster.submit("late", "10m")
        await cluster.pass_time(5)
        before = cluster.plane.metrics.rounds._value.get()
        await cluster.pass_time(500)
        assert cluster.plane.metrics.rounds._value.get() == before
