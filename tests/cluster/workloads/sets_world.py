"""An embedded cluster under virtual time, with simulated nodes and all workload controllers, for tests of sets of pods."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.cluster.workloads.playing import play
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, PODS, STORAGECLASSES, Resource
from vcray.cluster.kubelet import Fleet, FleetOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient

LABELS: JsonObject = {"app": "web"}
CLASS = "local"


async def settle() -> None:
    for _ in range(150):
        await asyncio.sleep(0)


def template(image: str = "nginx", ready: bool = True, **spec: object) -> JsonObject:
    """A pod template; without `ready` its pods never become so."""
    container: JsonObject = {"name": "main", "image": image}
    if not ready:
        container["readinessProbe"] = {"exec": {"command": ["/bin/false"]}}
    whole: JsonObject = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}  # type: ignore[dict-item]
    return {"metadata": {"labels": LABELS}, "spec": whole}


class SetsWorld:
    """A namespace with `nodes` simulated nodes, on which pods start within a second."""

    def __init__(self, nodes: int = 1) -> None:
        self.time = VirtualTime()
        transport = InProcessTransport(Store(self.time))
        self.client = KubeClient(transport, "test")
        options = FleetOptions(lease_period_s=0.0, start_s=1.0)
        self.fleet = Fleet(transport, nodes, options=options, time=self.time)
        self.workloads = Workloads(transport, self.time)

    async def start(self) -> None:
        """Nodes, a class of volumes that are made for their claims, controllers."""
        await self.fleet.start()
        host_path: JsonObject = {"metadata": {"name": CLASS}, "provisioner": "kubernetes.io/host-path"}
        await self.client.create(STORAGECLASSES, None, host_path)
        await self.workloads.start()
        await settle()

    async def stop(self) -> None:
        """Controllers first, then nodes."""
        await self.workloads.stop()
        await self.fleet.stop()

    async def pass_time(self, seconds: float) -> None:
        await settle()
        await self.time.advance(seconds, settle)
        await settle()

    async def create(self, resource: Resource, name: str, spec: JsonObject) -> JsonObject:
        made = await self.client.create(resource, "default", {"metadata": {"name": name}, "spec": spec})
        await settle()
        return made

    async def patch(self, resource: Resource, name: str, patch: JsonObject, sub: str | None = None) -> None:
        await self.client.patch(resource, "default", name, patch, subresource=sub)
        await settle()

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, "default", name)
        await settle()

    async def status(self, resource: Resource, name: str) -> JsonObject:
        return dig_object(await self.client.get(resource, "default", name), "status")

    async def items(self, resource: Resource) -> list[JsonObject]:
        return (await self.client.list(resource, "default")).items

    async def names(self, resource: Resource) -> list[str]:
        return sorted(dig_str(each, "metadata", "name") for each in await self.items(resource))

    async def images(self) -> dict[str, str]:
        """Pod -> image."""
        return {
            dig_str(each, "metadata", "name"): dig_str(each, "spec", "containers", 0, "image")
            for each in await self.items(PODS)
        }

    async def reasons(self) -> set[str]:
        return {dig_str(each, "reason") for each in await self.items(EVENTS)}

    async def fail(self, pod: str) -> None:
        await self.patch(PODS, pod, {"status": {"phase": "Failed"}}, "status")


def played(test: Callable[[SetsWorld], Awaitable[None]], nodes: int = 1) -> Callable[[], None]:
    """Run a test in a world of its own."""
    return play(test, lambda: SetsWorld(nodes))
