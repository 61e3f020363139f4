"""The stand-in for kube-scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PODS
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient


async def settle() -> None:
    for _ in range(120):
        await asyncio.sleep(0)


class World:
    """A store with its controllers and two plain nodes of four CPUs."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.client = KubeClient(InProcessTransport(store := Store(self.time)), "test")
        self.workloads = Workloads(InProcessTransport(store), self.time, default_scheduler=True)

    async def start(self) -> None:
        for name in ("a", "b"):
            offered: JsonObject = {"cpu": "4", "memory": "8Gi", "pods": "3"}
            labels: JsonObject = {"zone": name}
            node: JsonObject = {
                "metadata": {"name": name, "labels": labels},
                "status": {"allocatable": offered},
            }
            await self.client.create(NODES, None, node)
        await self.workloads.start()

    async def pod(self, name: str, cpu: str = "1", **spec: object) -> None:
        container: JsonObject = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
        whole: JsonObject = {"containers": [container], **spec}  # type: ignore[dict-item]
        await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": whole})
        await settle()

    async def node(self, name: str) -> str:
        return dig_str(await self.client.get(PODS, "default", name), "spec", "nodeName")


def played(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in a world of its own."""

    async def whole() -> None:
        world = World()
        await world.start()
        try:
            await test(world)
        finally:
            await world.workloads.stop()

    def wrapped() -> None:
        asyncio.run(whole())

    wrapped.__name__ = test.__name__
    return wrapped


@played
async def test_pods_spread_and_never_overbook_a_node_whoever_bound_the_others(world: World) -> None:
    await world.pod("elsewhere", cpu="3", schedulerName="volcano")
    await world.client.bind("default", "elsewhere", "a")
    await settle()

    await world.pod("first", cpu="2")
    await world.pod("second", cpu="2")
    await world.pod("third", cpu="2")

    assert [await world.node(name) for name in ("first", "second", "third")] == ["b", "b", ""]
    waiting = dig_objects(await world.client.get(PODS, "default", "third"), "status", "conditions")
    assert [(c["type"], c["status"], c["reason"]) for c in waiting] == [
        ("PodScheduled", "False", "Unschedulable")
    ]


@played
async def test_waiting_pod_takes_the_room_that_another_leaves(world: World) -> None:
    await world.pod("first", cpu="4")
    await world.pod("second", cpu="4")
    await world.pod("third", cpu="4")
    assert await world.node("third") == ""

    await world.client.delete(PODS, "default", "first", grace_seconds=0)
    await settle()

    assert await world.node("third") in ("a", "b")


@played
async def test_selectors_taints_and_cordons_are_obeyed(world: World) -> None:
    taint: JsonObject = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    await world.client.patch(NODES, None, "a", {"spec": {"taints": [taint]}})
    await settle()

    await world.pod("plain")
    await world.pod(
        "tolerant", nodeSelector={"zone": "a"}, tolerations=[{"key": "gpu", "operator": "Exists"}]
    )
    await world.pod("picky", nodeSelector={"zone": "a"})

    assert [await world.node(name) for name in ("plain", "tolerant", "picky")] == ["b", "a", ""]


@played
async def test_pods_of_other_schedulers_and_gated_ones_are_left_alone(world: World) -> None:
    await world.pod("other", schedulerName="volcano")
    await world.pod("gated", schedulingGates=[{"name": "example.com/wait"}])

    assert [await world.node(name) for name in ("other", "gated")] == ["", ""]
