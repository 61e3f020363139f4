"""The stand-in for kube-scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.cluster.workloads.playing import play
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    EVENTS,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    PRIORITYCLASSES,
    STORAGECLASSES,
)
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient
from vcray.kube.errors import Forbidden


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

    async def stop(self) -> None:
        await self.workloads.stop()

    async def pod(self, name: str, cpu: str = "1", **spec: object) -> None:
        container: JsonObject = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
        whole: JsonObject = {"containers": [container], **spec}  # type: ignore[dict-item]
        await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": whole})
        await settle()

    async def told(self, name: str) -> str:
        """The message of the condition PodScheduled=False."""
        conditions = dig_objects(await self.client.get(PODS, "default", name), "status", "conditions")
        assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [
            ("PodScheduled", "False", "Unschedulable")
        ]
        return dig_str(conditions[0], "message")

    async def node(self, name: str) -> str:
        return dig_str(await self.client.get(PODS, "default", name), "spec", "nodeName")


def played(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in a world of its own."""
    return play(test, World)


@played
async def test_pods_spread_and_never_overbook_a_node_whoever_bound_the_others(world: World) -> None:
    await world.pod("elsewhere", cpu="3", schedulerName="volcano")
    await world.client.bind("default", "elsewhere", "a")
    await settle()

    await world.pod("first", cpu="2")
    await world.pod("second", cpu="2")
    await world.pod("third", cpu="2")

    assert [await world.node(name) for name in ("first", "second", "third")] == ["b", "b", ""]
    assert await world.told("third") == "0/2 nodes are available: 2 Insufficient cpu."
    events = (await world.client.list(EVENTS)).items
    assert [(e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == "third"] == [  # type: ignore[index, call-overload]
        ("FailedScheduling", "0/2 nodes are available: 2 Insufficient cpu.")
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


def affinity(key: str, operator: str, *values: str, weight: int = 0) -> JsonObject:
    """Node affinity by one expression, preferred if it has a weight."""
    term: JsonObject = {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}
    if weight:
        preferred: JsonObject = {"weight": weight, "preference": term}
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@played
async def test_node_affinity_is_obeyed_and_preferred(world: World) -> None:
    await world.pod("wants", affinity=affinity("zone", "NotIn", "a"))
    await world.pod("likes", affinity=affinity("zone", "In", "b", weight=5))
    await world.pod("rank", affinity=affinity("rank", "Gt", "3"))

    assert [await world.node(name) for name in ("wants", "likes", "rank")] == ["b", "b", ""]
    assert await world.told("rank") == (
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    )


@played
async def test_reasons_are_counted_by_the_first_filter_that_refuses(world: World) -> None:
    taint: JsonObject = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    await world.client.patch(NODES, None, "a", {"spec": {"taints": [taint]}})
    await world.client.patch(NODES, None, "b", {"spec": {"unschedulable": True}})
    await settle()

    await world.pod("p", cpu="9")

    assert await world.told("p") == (
        "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
    )


@played
async def test_a_pod_that_tolerates_cordons_goes_to_a_cordoned_node(world: World) -> None:
    for name in ("a", "b"):
        await world.client.patch(NODES, None, name, {"spec": {"unschedulable": True}})
    await settle()

    await world.pod("agent", tolerations=[{"operator": "Exists"}])

    assert await world.node("agent") != ""


@played
async def test_a_host_port_is_given_once_a_node(world: World) -> None:
    port: JsonObject = {"containerPort": 80, "hostPort": 8080}
    container: JsonObject = {"name": "main", "image": "nginx", "ports": [port]}
    for name in ("first", "second", "third"):
        await world.pod(name, containers=[container])

    assert sorted([await world.node("first"), await world.node("second")]) == ["a", "b"]
    assert await world.told("third") == (
        "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
    )


@played
async def test_higher_priority_takes_the_room_first(world: World) -> None:
    for name in ("a", "b"):
        await world.client.patch(NODES, None, name, {"spec": {"unschedulable": True}})
    await world.client.create(PRIORITYCLASSES, None, {"metadata": {"name": "high"}, "value": 10})
    await world.pod("low", cpu="4")
    await world.pod("high", cpu="4", priorityClassName="high")

    await world.client.patch(NODES, None, "b", {"spec": {"unschedulable": None}})
    await settle()
    await settle()

    assert [await world.node(name) for name in ("low", "high")] == ["", "b"]


@played
async def test_a_pod_that_the_server_refuses_holds_up_nobody(world: World) -> None:
    bind = KubeClient.bind

    async def refusing(client: KubeClient, namespace: str, name: str, *arguments: str) -> None:
        if name == "first":
            raise Forbidden("not here")
        await bind(client, namespace, name, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KubeClient, "bind", refusing)
        await world.pod("first")
        await world.pod("second")

        placed = await world.client.get(PODS, "default", "second")
        assert dig_str(placed, "spec", "nodeName")


@played
async def test_a_gated_pod_goes_on_when_its_gates_are_lifted(world: World) -> None:
    await world.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    patch: JsonObject = {"spec": {"schedulingGates": None}}
    await world.client.patch(PODS, "default", "gated", patch)
    await settle()

    assert await world.node("gated") != ""


CLAIM: JsonObject = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


async def late_claim(world: World, provisioner: str) -> None:
    """A claim that waits for its pod's node."""
    late: JsonObject = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    await world.client.create(STORAGECLASSES, None, {"metadata": {"name": "late"}, **late})
    spec: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await world.client.create(PERSISTENTVOLUMECLAIMS, "default", {"metadata": {"name": "data"}, "spec": spec})
    await settle()


@played
async def test_a_late_claim_is_made_for_the_node_before_the_pod_is_bound(world: World) -> None:
    await late_claim(world, "kubernetes.io/host-path")

    await world.pod("p", volumes=[CLAIM])
    await settle()

    claim = await world.client.get(PERSISTENTVOLUMECLAIMS, "default", "data")
    assert dig_str(claim, "status", "phase") == "Bound"
    chosen = dig_str(claim, "metadata", "annotations", "volume.kubernetes.io/selected-node")
    assert chosen == await world.node("p") != ""


@played
async def test_a_late_claim_takes_a_volume_that_the_node_reaches(world: World) -> None:
    await late_claim(world, "kubernetes.io/no-provisioner")
    await world.pod("p", volumes=[CLAIM])
    assert await world.told("p") == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )

    term: JsonObject = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    spec: JsonObject = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    await world.client.create(PERSISTENTVOLUMES, None, {"metadata": {"name": "disk"}, "spec": spec})
    await settle()
    await settle()

    assert await world.node("p") == "b"


@played
async def test_claims_that_hold_a_pod_back_are_named(world: World) -> None:
    await world.pod("p", volumes=[CLAIM])
    assert await world.told("p") == '0/2 nodes are available: persistentvolumeclaim "data" not found.'

    spec: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await world.client.create(PERSISTENTVOLUMECLAIMS, "default", {"metadata": {"name": "data"}, "spec": spec})
    await settle()

    assert await world.told("p") == (
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )
