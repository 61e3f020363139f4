"""Nodes that fall silent, pods that may not stay, events that grow old: under virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from tests.cluster.workloads.playing import play
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_int, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, NODES, PODS, REPLICASETS
from vcray.cluster.kubelet import Fleet, FleetOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient


async def settle() -> None:
    for _ in range(80):
        await asyncio.sleep(0)


class World:
    """A store with its controllers and two simulated nodes."""

    def __init__(self, lease_period_s: float = 10.0) -> None:
        self.time = VirtualTime()
        self.store = Store(self.time)
        self.client = KubeClient(InProcessTransport(self.store), "test")
        options = FleetOptions(lease_period_s=lease_period_s)
        self.fleet = Fleet(InProcessTransport(self.store), 2, options=options, time=self.time)
        self.workloads = Workloads(InProcessTransport(self.store), self.time)

    async def start(self) -> None:
        await self.fleet.start()
        await self.workloads.start()
        await settle()

    async def stop(self) -> None:
        await self.workloads.stop()
        await self.fleet.stop()

    async def pass_time(self, seconds: float) -> None:
        await settle()
        await self.time.advance(seconds, settle)

    async def pod(self, name: str, **spec: object) -> None:
        whole: JsonObject = {
            "nodeName": "node-0",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "nginx"}],
            **spec,  # type: ignore[dict-item]
        }
        await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": whole})

    async def names(self, going: bool = True) -> list[str]:
        """Pods by name; those that are being deleted only on wish."""
        return [
            dig_str(each, "metadata", "name")
            for each in (await self.client.list(PODS, "default")).items
            if going or not dig_str(each, "metadata", "deletionTimestamp")
        ]

    async def ready(self) -> str:
        node = await self.client.get(NODES, None, "node-0")
        return next(
            dig_str(c, "status") for c in dig_objects(node, "status", "conditions") if c["type"] == "Ready"
        )

    async def taints(self) -> set[str]:
        node = await self.client.get(NODES, None, "node-0")
        return {f"{each['key']}:{each['effect']}" for each in dig_objects(node, "spec", "taints")}


def played(test: Callable[[World], Awaitable[None]], lease_period_s: float = 10.0) -> Callable[[], None]:
    """Run a test in a world of its own."""
    return play(test, lambda: World(lease_period_s))


UNREACHABLE = {"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"}


@played
async def test_silent_node_is_unknown_and_tainted_until_it_speaks_again(world: World) -> None:
    await world.pass_time(15)
    world.fleet.set_alive("node-0", False)
    await world.pass_time(20)
    assert await world.ready() == "True"

    await world.pass_time(30)
    assert await world.ready() == "Unknown"
    assert await world.taints() == UNREACHABLE
    world.fleet.set_alive("node-0", True)
    await world.pass_time(15)

    assert await world.ready() == "True"
    assert await world.taints() == set()


@partial(played, lease_period_s=300.0)
async def test_node_that_speaks_again_is_believed_before_its_next_lease_is_due(world: World) -> None:
    await world.pass_time(15)
    world.fleet.set_alive("node-0", False)
    await world.pass_time(2000)
    assert await world.ready() == "Unknown"

    world.fleet.set_alive("node-0", True)
    await world.pass_time(5)

    assert await world.ready() == "True"


@played
async def test_pods_leave_a_silent_node_when_their_patience_is_over(world: World) -> None:
    await world.pod("patient")
    await world.pod(
        "brief",
        tolerations=[
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 5,
            }
        ],
    )
    await world.pod("stays", tolerations=[{"operator": "Exists"}])
    await world.pass_time(15)
    world.fleet.set_alive("node-0", False)

    await world.pass_time(60)
    soon = await world.names(going=False)
    await world.pass_time(310)

    assert soon == ["patient", "stays"]
    assert await world.names(going=False) == ["stays"]
    world.fleet.set_alive("node-0", True)
    await world.pass_time(5)
    assert await world.names() == ["stays"]


@played
async def test_cordoned_node_has_its_taint_and_loses_it(world: World) -> None:
    await world.client.patch(NODES, None, "node-0", {"spec": {"unschedulable": True}})
    await settle()
    cordoned = await world.taints()

    await world.client.patch(NODES, None, "node-0", {"spec": {"unschedulable": None}})
    await settle()

    assert cordoned == {"node.kubernetes.io/unschedulable:NoSchedule"}
    assert await world.taints() == set()


@played
async def test_pods_of_a_deleted_node_are_given_up_after_a_while(world: World) -> None:
    await world.pod("p")
    await world.pass_time(5)

    await world.client.delete(NODES, None, "node-0")
    await world.pass_time(30)
    still = await world.names()
    await world.pass_time(15)

    assert still == ["p"]
    assert await world.names() == []
    last = [event for event in world.store.storage.since(PODS, 0) if event.record.name == "p"][-1]
    assert b"DeletionByPodGC" in last.record.body


@played
async def test_node_without_a_lease_is_left_alone(world: World) -> None:
    ready: JsonObject = {"conditions": [{"type": "Ready", "status": "True"}]}
    await world.client.create(NODES, None, {"metadata": {"name": "plain"}, "status": ready})

    await world.pass_time(300)

    node = await world.client.get(NODES, None, "plain")
    assert dig_objects(node, "status", "conditions")[0]["status"] == "True"
    assert dig_objects(node, "spec", "taints") == []


@partial(played, lease_period_s=0.0)
async def test_events_go_an_hour_after_they_were_last_written(world: World) -> None:
    for name in ("once", "again"):
        event: JsonObject = {"metadata": {"name": name}, "involvedObject": {"namespace": "default"}}
        await world.client.create(EVENTS, "default", event)
    await world.pass_time(1800)
    await world.client.patch(EVENTS, "default", "again", {"count": 2})

    await world.pass_time(1900)

    left = {dig_str(each, "metadata", "name") for each in (await world.client.list(EVENTS, "default")).items}
    assert "once" not in left
    assert "again" in left


@played
async def test_pods_that_are_refused_are_tried_ever_more_seldom(world: World) -> None:
    template: JsonObject = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"priorityClassName": "none", "containers": [{"name": "main", "image": "nginx"}]},
    }
    spec: JsonObject = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}

    await world.client.create(REPLICASETS, "default", {"metadata": {"name": "web"}, "spec": spec})
    await world.pass_time(60)

    told = (await world.client.list(EVENTS, "default")).items
    assert 5 < sum(dig_int(each, "count") for each in told if each["reason"] == "FailedCreate") < 30
