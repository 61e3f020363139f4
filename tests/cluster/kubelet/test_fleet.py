"""Simulated nodes on an in-process server, under virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import LEASES, NODES, PODS
from vcray.clock import rfc3339
from vcray.cluster.kubelet import Fleet, FleetOptions, NodeShape
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound


async def settle() -> None:
    for _ in range(60):
        await asyncio.sleep(0)


class World:
    """A store, a fleet of two nodes, and what a test does to pods."""

    def __init__(self, options: FleetOptions) -> None:
        self.time = VirtualTime()
        self.store = Store(self.time)
        self.client = KubeClient(InProcessTransport(self.store), "test")
        self.fleet = Fleet(InProcessTransport(self.store), 2, NodeShape(gpu=8), options, self.time)

    async def pass_time(self, seconds: float) -> None:
        await settle()
        await self.time.advance(seconds, settle)

    async def pod(self, name: str, command: str = "", policy: str = "Never", **spec: Any) -> None:
        container: JsonObject = {"name": "main", "image": "nginx"}
        if command:
            container |= {"image": "busybox", "command": ["sh", "-c", command]}
        whole: JsonObject = {"nodeName": "node-0", "restartPolicy": policy, "containers": [container], **spec}
        await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": whole})

    async def get(self, name: str) -> JsonObject:
        return await self.client.get(PODS, "default", name)

    async def phase(self, name: str) -> str:
        return dig_str(await self.get(name), "status", "phase")

    async def container(self, name: str) -> JsonObject:
        return dig_objects(await self.get(name), "status", "containerStatuses")[0]

    async def exists(self, name: str) -> bool:
        try:
            await self.get(name)
        except NotFound:
            return False
        return True


@asynccontextmanager
async def running(options: FleetOptions) -> AsyncIterator[World]:
    world = World(options)
    await world.fleet.start()
    await settle()
    try:
        yield world
    finally:
        await world.fleet.stop()


def played(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in a world of its own."""

    async def whole() -> None:
        async with running(FleetOptions(lease_period_s=0)) as world:
            await test(world)

    def wrapped() -> None:
        asyncio.run(whole())

    wrapped.__name__ = test.__name__
    return wrapped


@played
async def test_nodes_are_registered_ready_with_what_they_offer(world: World) -> None:
    node = await world.client.get(NODES, None, "node-1")

    assert dig_str(node, "status", "allocatable", "nvidia.com/gpu") == "8"
    assert dig_str(node, "metadata", "labels", "kubernetes.io/hostname") == "node-1"
    ready = [c for c in dig_objects(node, "status", "conditions") if c["type"] == "Ready"]
    assert [c["status"] for c in ready] == ["True"]


@played
async def test_bound_pod_runs_after_a_second_with_all_that_a_kubelet_tells(world: World) -> None:
    await world.pod("p")

    await world.pass_time(0.9)
    before = await world.phase("p")
    await world.pass_time(0.2)

    assert before in ("", "Pending")
    pod = await world.get("p")
    assert dig_str(pod, "status", "phase") == "Running"
    assert dig_str(pod, "status", "podIP").startswith("10.")
    assert dig_str(pod, "status", "hostIP") == dig(pod, "status", "hostIPs", 0, "ip")
    conditions = {c["type"]: c["status"] for c in dig_objects(pod, "status", "conditions")}
    assert conditions == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    status = await world.container("p")
    assert (status["ready"], status["started"], status["restartCount"]) == (True, True, 0)


@pytest.mark.parametrize(("code", "phase", "reason"), [(0, "Succeeded", "Completed"), (3, "Failed", "Error")])
def test_pod_ends_as_its_command_ends(code: int, phase: str, reason: str) -> None:
    @played
    async def test_it(world: World) -> None:
        await world.pod("p", f"sleep 5; exit {code}")
        await world.pass_time(5.5)
        assert await world.phase("p") == "Running"

        await world.pass_time(1)

        assert await world.phase("p") == phase
        ended = dig(await world.container("p"), "state", "terminated")
        assert (dig(ended, "exitCode"), dig(ended, "reason")) == (code, reason)

    test_it()


@played
async def test_failing_container_restarts_ever_later(world: World) -> None:
    await world.pod("p", "exit 1", "OnFailure")
    seen = []
    for _ in range(45):
        await world.pass_time(2)
        status = (
            await world.container("p") if dig((await world.get("p")), "status", "containerStatuses") else {}
        )
        seen.append(status.get("restartCount", 0))
    times = [seen.index(count) * 2 for count in (1, 2, 3)]

    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]

    assert all(9 <= gap <= 13 for gap in gaps[:1])
    assert all(19 <= gap <= 23 for gap in gaps[1:2])
    waiting = dig(await world.container("p"), "state", "waiting", "reason")
    assert waiting == "CrashLoopBackOff"


@played
async def test_init_containers_run_one_after_another_before_the_others(world: World) -> None:
    inits = [{"name": f"i{n}", "image": "busybox", "command": ["sleep", "10"]} for n in range(2)]
    await world.pod("p", initContainers=inits)

    await world.pass_time(12)
    second = await world.get("p")
    await world.pass_time(10)

    assert dig_str(second, "status", "phase") == "Pending"
    states = [list(dig(s, "state") or {}) for s in dig_objects(second, "status", "initContainerStatuses")]
    assert states == [["terminated"], ["running"]]
    assert await world.phase("p") == "Running"


@played
async def test_sidecar_keeps_running_and_does_not_hold_up_the_end(world: World) -> None:
    sidecar: JsonObject = {"name": "side", "image": "nginx", "restartPolicy": "Always"}
    await world.pod("p", "sleep 5", initContainers=[sidecar])

    await world.pass_time(3)
    middle = await world.phase("p")
    await world.pass_time(5)

    assert (middle, await world.phase("p")) == ("Running", "Succeeded")


@played
async def test_server_that_is_deleted_stops_at_once_and_has_succeeded(world: World) -> None:
    await world.pod("p")
    await world.pass_time(2)

    await world.client.delete(PODS, "default", "p")
    await world.pass_time(0.2)
    still = await world.exists("p")
    await world.pass_time(0.3)

    assert still
    assert not await world.exists("p")
    last = [e for e in world.store.storage.since(PODS, 0) if e.record.name == "p"][-1]
    assert b'"phase":"Succeeded"' in last.record.body


@played
async def test_shell_that_is_deleted_runs_out_its_grace_period_and_is_killed(world: World) -> None:
    await world.pod("p", "sleep 1000", terminationGracePeriodSeconds=4)
    await world.pass_time(2)

    await world.client.delete(PODS, "default", "p")
    await world.pass_time(3.5)
    still = await world.phase("p")
    await world.pass_time(1)

    assert still == "Running"
    assert not await world.exists("p")
    last = [e for e in world.store.storage.since(PODS, 0) if e.record.name == "p"][-1]
    assert b'"phase":"Failed"' in last.record.body
    assert b'"exitCode":137' in last.record.body


@played
async def test_pod_that_is_deleted_before_it_started_goes_at_once(world: World) -> None:
    await world.pod("p", "sleep 1000")
    await settle()

    await world.client.delete(PODS, "default", "p")
    await settle()

    assert not await world.exists("p")


@played
async def test_second_delete_may_shorten_the_grace_period(world: World) -> None:
    await world.pod("p", "sleep 1000", terminationGracePeriodSeconds=100)
    await world.pass_time(2)
    await world.client.delete(PODS, "default", "p")
    await world.pass_time(1)

    await world.client.delete(PODS, "default", "p", grace_seconds=2)
    await world.pass_time(2.5)

    assert not await world.exists("p")


@played
async def test_pod_beyond_its_deadline_fails(world: World) -> None:
    await world.pod("p", "sleep 1000", activeDeadlineSeconds=10)

    await world.pass_time(12)

    pod = await world.get("p")
    assert (dig_str(pod, "status", "phase"), dig_str(pod, "status", "reason")) == (
        "Failed",
        "DeadlineExceeded",
    )


@played
async def test_status_that_somebody_else_wrote_stays(world: World) -> None:
    await world.pod("p")
    await world.pass_time(2)
    status = {**await world.container("p"), "restartCount": 4}
    patch: JsonObject = {
        "status": {"containerStatuses": [status], "conditions": [{"type": "Mine", "status": "True"}]}
    }
    await world.client.patch(PODS, "default", "p", patch, subresource="status")

    await world.pass_time(100)

    assert (await world.container("p"))["restartCount"] == 4
    assert await world.phase("p") == "Running"


@played
async def test_pod_of_an_old_name_is_not_touched_by_what_was_due_to_the_old_one(world: World) -> None:
    await world.pod("p", "sleep 5")
    await world.pass_time(2)
    await world.client.delete(PODS, "default", "p", grace_seconds=0)
    await world.pod("p", "sleep 50")

    await world.pass_time(10)

    assert await world.phase("p") == "Running"


@played
async def test_powerless_node_does_nothing_until_it_is_back(world: World) -> None:
    mark: JsonObject = {"metadata": {"annotations": {"vcray.io/stopped": "true"}}}
    await world.client.patch(NODES, None, "node-0", mark)
    await settle()
    await world.pod("p", "sleep 5")
    await world.pass_time(20)
    assert await world.phase("p") in ("", "Pending")

    back: JsonObject = {"metadata": {"annotations": {"vcray.io/stopped": None}}}
    await world.client.patch(NODES, None, "node-0", back)
    await world.pass_time(1)

    assert await world.phase("p") == "Running"


@played
async def test_output_is_kept_for_logs(world: World) -> None:
    env: list[Any] = [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", "echo I am $ME"], "env": env}
    await world.pod("p", containers=[container])

    await world.pass_time(2)

    assert world.fleet.log("default", "p", "main") == "I am p\n"
    assert world.fleet.log("default", "p", "other") is None


@played
async def test_pod_without_its_image_waits_for_it(world: World) -> None:
    await world.pod("p", containers=[{"name": "main", "image": "webserver:404"}])

    await world.pass_time(5)

    assert await world.phase("p") == "Pending"
    assert dig(await world.container("p"), "state", "waiting", "reason") == "ImagePullBackOff"
    await world.client.delete(PODS, "default", "p")
    await world.pass_time(1)
    assert not await world.exists("p")


@played
async def test_what_a_pod_leaves_on_its_node_is_seen_by_the_next_one(world: World) -> None:
    script = "if [ -f /data/seen ]; then exit 0; else touch /data/seen; exit 1; fi"
    volumes = [{"name": "data", "hostPath": {"path": "/tmp/x"}}]
    mounts = [{"name": "data", "mountPath": "/data"}]
    for name in ("first", "second"):
        container = {
            "name": "main",
            "image": "busybox",
            "command": ["sh", "-c", script],
            "volumeMounts": mounts,
        }
        await world.pod(name, containers=[container], volumes=volumes)
        await world.pass_time(2)

    assert (await world.phase("first"), await world.phase("second")) == ("Failed", "Succeeded")


@played
async def test_removed_fleet_leaves_no_nodes(world: World) -> None:
    await world.fleet.stop(remove=True)

    assert (await world.client.list(NODES)).items == []


def test_leases_are_renewed_while_a_node_lives() -> None:
    async def whole() -> None:
        async with running(FleetOptions(lease_period_s=10)) as world:
            await world.pass_time(25)
            world.fleet.set_alive("node-0", False)
            await world.pass_time(100)

            leases = {
                dig_str(each, "metadata", "name"): dig_str(each, "spec", "renewTime")
                for each in (await world.client.list(LEASES, "kube-node-lease")).items
            }
            ago = rfc3339(world.time.now() - 11)
            assert leases["node-1"] >= ago > leases["node-0"]

    asyncio.run(whole())


def test_fleet_that_starts_again_takes_over_running_pods() -> None:
    async def whole() -> None:
        async with running(FleetOptions(lease_period_s=0)) as world:
            before: JsonObject = {"name": "before", "image": "busybox", "command": ["sleep", "2"]}
            await world.pod("p", "sleep 20", initContainers=[before])
            await world.pass_time(7)
            await world.fleet.stop()
            again = Fleet(
                InProcessTransport(world.store), 2, options=FleetOptions(lease_period_s=0), time=world.time
            )
            await again.start()
            await world.pass_time(10)
            middle = await world.phase("p")
            await world.pass_time(8)

            assert (middle, await world.phase("p")) == ("Running", "Succeeded")
            await again.stop()

    asyncio.run(whole())
