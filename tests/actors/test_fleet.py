"""A fleet of hosts that lose each other: what is opened anew, who is heard, and that scheduling goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.actors.doors import Doors
from vcray.actors.deployment import Layout, plan
from vcray.actors.fleet import Connection, Fleet
from vcray.actors.host import Lost, Opening, Stamp
from vcray.actors.messages import Reconfigure, RoomAsked, RoomFound, Synced, pack, unpack
from vcray.actors.parts import Facts
from vcray.api.jsonview import dig_str
from vcray.api.resources import JOBS, NODES, PODS, QUEUES
from vcray.api.wire import to_pod
from vcray.cache.supposed import Wanted
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import Settings
from vcray.controllers.queue import initial_queues
from vcray.kube.client import KubeClient
from vcray.kube.transport import Transport
from vcray.metrics import Metrics
from vcray.sim import shorthand


class Cluster:
    """An in-process cluster whose control plane is a fleet of doors."""

    def __init__(self, layout: Layout, pools: int = 2) -> None:
        store = Store()
        self.client = KubeClient(InProcessTransport(store))
        self.said: list[str] = []
        self.metrics = Metrics()

        async def connect(_: Opening) -> Transport:
            return InProcessTransport(store)

        self.doors = Doors(connect)
        settings = Settings(layout=layout, pools=pools, coalesce_ms=0, fan_out_nodes=0)
        self.fleet = Fleet(
            self.doors, plan(layout, settings), Facts(settings), Connection(), self.metrics, self.said.append
        )

    async def start(self) -> None:
        for queue in initial_queues("default"):
            await self.client.create(QUEUES, None, queue)
        await self.client.create(NODES, None, shorthand.node("n1", "16c", "n1"))
        await self.fleet.start()

    async def submit(self, name: str) -> None:
        await self.client.create(JOBS, "default", shorthand.job(name, "2 x 1c", name))

    async def bound(self, name: str) -> None:
        """Wait until both pods of a job are on the node."""
        async with asyncio.timeout(20):
            while True:
                pods = (await self.client.list(PODS)).items
                mine = [pod for pod in pods if dig_str(pod, "metadata", "name").startswith(f"{name}-")]
                if len(mine) == 2 and all(dig_str(pod, "spec", "nodeName") == "n1" for pod in mine):
                    return
                await asyncio.sleep(0.02)

    async def opened_again(self, count: int) -> list[str]:
        """The hosts opened after the start, once there are so many."""
        first = len(self.fleet.processes())
        async with asyncio.timeout(20):
            while len(self.doors.opened) < first + count or self.fleet.health():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return self.doors.opened[first:]


@pytest.fixture(params=["standard", "huge"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    made = Cluster(request.param)
    await made.start()
    yield made
    await made.fleet.stop()


async def test_a_job_runs_though_its_parts_are_in_different_processes(cluster: Cluster) -> None:
    await cluster.submit("one")

    await cluster.bound("one")
    await cluster.fleet.look(list(cluster.fleet.processes()))
    fanned_out = "vcray_fanned_out_rounds_total 0.0" not in cluster.fleet.exposition().decode()
    assert fanned_out == ("cache-0" in cluster.fleet.processes())


@pytest.mark.parametrize("lost", ["binder", "scheduler", "controllers"])
async def test_scheduling_goes_on_after_a_host_was_lost(cluster: Cluster, lost: str) -> None:
    await cluster.submit("one")
    await cluster.bound("one")

    await cluster.doors.kill(lost)
    await cluster.submit("two")

    await cluster.bound("two")
    assert lost in await cluster.opened_again(1)


async def test_a_lost_binder_takes_nobody_with_it(cluster: Cluster) -> None:
    await cluster.doors.kill("binder")

    assert await cluster.opened_again(1) == ["binder"]


async def test_a_lost_scheduler_opens_the_binder_and_the_caches_first() -> None:
    for layout, wanted in (
        ("standard", ["binder", "scheduler"]),
        ("huge", ["binder", "cache-0", "cache-1", "scheduler"]),
    ):
        cluster = Cluster(layout)  # type: ignore[arg-type]
        await cluster.start()
        try:
            await cluster.doors.kill("scheduler")
            assert await cluster.opened_again(len(wanted)) == wanted
        finally:
            await cluster.fleet.stop()


async def test_a_lost_pool_lists_again_all_that_the_cache_held() -> None:
    cluster = Cluster("huge")
    await cluster.start()
    try:
        await cluster.submit("one")
        await cluster.bound("one")
        await cluster.doors.kill("cache-0")
        await cluster.doors.kill("cache-1")
        await cluster.submit("two")
        await cluster.bound("two")
        assert {"cache-0", "cache-1", "scheduler"} <= set(await cluster.opened_again(4))
    finally:
        await cluster.fleet.stop()


async def test_when_the_ground_gives_way_everything_is_started_anew(cluster: Cluster) -> None:
    await cluster.submit("one")
    await cluster.bound("one")

    cluster.doors.shake("Ray is gone")
    await cluster.opened_again(len(cluster.fleet.processes()))
    await cluster.submit("two")

    await cluster.bound("two")
    assert cluster.doors.ended == 1


async def test_a_message_of_an_opening_that_is_past_is_turned_away(cluster: Cluster) -> None:
    before = Stamp("scheduler", 0)
    await cluster.doors.post("binder", Stamp("driver", 0), "binder", [])
    await cluster.doors.kill("scheduler")
    await cluster.opened_again(2)

    with pytest.raises(Lost, match="hears another opening of scheduler"):
        await cluster.doors.post("binder", before, "binder", [pack(Synced("pods"))])


async def test_admission_that_was_opened_again_may_still_ask_what_has_room(cluster: Cluster) -> None:
    wanted = Wanted(to_pod({"metadata": {"namespace": "default"}, "spec": {}}), 1)
    question = pack(RoomAsked((wanted,)))

    answer = await cluster.doors.ask("scheduler", Stamp("admission", 9), "coordinator", question)

    assert answer is not None
    assert unpack(answer) in (RoomFound(), RoomFound((None,)))


async def test_a_new_configuration_outlives_the_host_that_took_it(cluster: Cluster) -> None:
    answer = await cluster.fleet.ask("coordinator", Reconfigure("actions: 'enqueue, allocate'\ntiers: []\n"))

    assert answer is not None
    assert "vcray_host_openings" in cluster.fleet.exposition().decode()


async def test_a_host_that_nobody_looks_after_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcray.actors.host.ALONE_S", 0.1)
    cluster = Cluster("standard")
    await cluster.start()
    try:
        host = cluster.doors.host("binder")
        async with asyncio.timeout(10):
            while host._opening is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert (await cluster.opened_again(1))[0] in (
            "binder",
            "scheduler",
            "controllers",
            "integrations",
            "admission",
        )
    finally:
        await cluster.fleet.stop()


async def test_statistics_and_metrics_of_all_hosts_are_seen_by_the_supervisor(cluster: Cluster) -> None:
    await cluster.submit("one")
    await cluster.bound("one")
    await cluster.fleet.look(list(cluster.fleet.processes()))

    statistics = {each.name: each.statistics() for each in cluster.fleet.handles()}
    assert {"binder", "coordinator", "controllers", "router"} <= set(statistics)
    assert statistics["binder"].handled >= 1
    assert 'vcray_bindings_total{result="bound"} 2.0' in cluster.fleet.exposition().decode()
