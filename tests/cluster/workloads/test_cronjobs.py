"""CronJobs under virtual time: hours pass in moments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.cluster.workloads.playing import play
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_CRONJOBS, KUBERNETES_JOBS
from vcray.cluster.kubelet import Fleet, FleetOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient


async def settle() -> None:
    for _ in range(120):
        await asyncio.sleep(0)


class World:
    """A store with its controllers and one simulated node."""

    def __init__(self) -> None:
        self.time = VirtualTime(1_700_000_010.0)
        self.store = Store(self.time)
        self.client = KubeClient(InProcessTransport(self.store), "test")
        options = FleetOptions(lease_period_s=0)
        self.fleet = Fleet(InProcessTransport(self.store), 1, options=options, time=self.time)
        self.workloads = Workloads(InProcessTransport(self.store), self.time)

    async def start(self) -> None:
        await self.fleet.start()
        await self.workloads.start()

    async def stop(self) -> None:
        await self.workloads.stop()
        await self.fleet.stop()

    async def minutes(self, count: int) -> None:
        for _ in range(count * 2):
            await settle()
            await self.time.advance(30, settle)

    async def cron_job(self, command: str, **spec: object) -> None:
        container = {"name": "main", "image": "busybox", "command": ["sh", "-c", command]}
        pod = {"spec": {"nodeName": "node-0", "restartPolicy": "Never", "containers": [container]}}
        whole: JsonObject = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod}}, **spec}  # type: ignore[dict-item]
        await self.client.create(KUBERNETES_CRONJOBS, "default", {"metadata": {"name": "c"}, "spec": whole})

    async def jobs(self) -> list[JsonObject]:
        return (await self.client.list(KUBERNETES_JOBS, "default")).items

    async def active(self) -> list[str]:
        cron_job = await self.client.get(KUBERNETES_CRONJOBS, "default", "c")
        return [dig_str(each, "name") for each in dig_objects(cron_job, "status", "active")]


def played(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in a world of its own."""
    return play(test, World)


@played
async def test_job_is_made_at_each_time_and_old_ones_go(world: World) -> None:
    await world.cron_job("exit 0", successfulJobsHistoryLimit=2)

    await world.minutes(6)

    jobs = await world.jobs()
    assert len(jobs) == 2
    assert await world.active() == []
    [first, second] = sorted(int(dig_str(job, "metadata", "name").rpartition("-")[2]) for job in jobs)
    assert second - first == 1
    cron_job = await world.client.get(KUBERNETES_CRONJOBS, "default", "c")
    assert dig_str(cron_job, "status", "lastSuccessfulTime") > dig_str(
        cron_job, "metadata", "creationTimestamp"
    )


@played
async def test_forbidden_overlap_makes_no_second_job(world: World) -> None:
    await world.cron_job("sleep 10000", concurrencyPolicy="Forbid")

    await world.minutes(4)

    assert len(await world.jobs()) == 1
    assert len(await world.active()) == 1


@played
async def test_replaced_job_makes_room_for_the_next(world: World) -> None:
    await world.cron_job("trap 'exit 0' TERM; sleep 10000", concurrencyPolicy="Replace")
    await world.minutes(2)
    before = await world.active()

    await world.minutes(2)

    after = await world.active()
    assert len(after) == 1
    assert after != before


@played
async def test_suspended_cron_job_makes_nothing(world: World) -> None:
    await world.cron_job("exit 0", suspend=True)

    await world.minutes(3)

    assert await world.jobs() == []
