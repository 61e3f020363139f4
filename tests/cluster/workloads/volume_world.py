"""A store with its controllers and one simulated node, and short words for claims, volumes and classes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.cluster.workloads.playing import play
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from vcray.cluster.kubelet import Fleet, FleetOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads import Workloads
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound

HOST_PATH = "kubernetes.io/host-path"


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


class World:
    """All in the namespace `default`."""

    def __init__(self) -> None:
        self.time = VirtualTime()
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

    async def wait(self, seconds: float = 2.0) -> None:
        await settle()
        await self.time.advance(seconds, settle)

    async def storage_class(self, name: str, provisioner: str = HOST_PATH, **more: object) -> None:
        body: JsonObject = {"metadata": {"name": name}, "provisioner": provisioner, **more}  # type: ignore[dict-item]
        await self.client.create(STORAGECLASSES, None, body)
        await settle()

    async def default_class(self, name: str) -> None:
        notes: JsonObject = {"storageclass.kubernetes.io/is-default-class": "true"}
        metadata: JsonObject = {"name": name, "annotations": notes}
        await self.client.create(STORAGECLASSES, None, {"metadata": metadata, "provisioner": HOST_PATH})
        await settle()

    async def claim(self, name: str = "data", size: str = "1Gi", **spec: object) -> None:
        whole: JsonObject = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": "",
            **spec,  # type: ignore[dict-item]
        }
        await self.client.create(
            PERSISTENTVOLUMECLAIMS, "default", {"metadata": {"name": name}, "spec": whole}
        )
        await settle()

    async def volume(
        self, name: str, size: str = "1Gi", labels: JsonObject | None = None, **spec: object
    ) -> None:
        whole: JsonObject = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "hostPath": {"path": f"/tmp/{name}"},
            **spec,  # type: ignore[dict-item]
        }
        metadata: JsonObject = {"name": name, "labels": labels or {}}
        await self.client.create(PERSISTENTVOLUMES, None, {"metadata": metadata, "spec": whole})
        await settle()

    async def pod(self, name: str, *volumes: JsonObject, node: str = "node-0", **spec: object) -> None:
        container: JsonObject = {"name": "main", "image": "nginx"}
        whole: JsonObject = {"containers": [container], "volumes": [*volumes], **spec}  # type: ignore[dict-item]
        if node:
            whole["nodeName"] = node
        await self.client.create(PODS, "default", {"metadata": {"name": name}, "spec": whole})
        await settle()

    async def get_claim(self, name: str = "data") -> JsonObject:
        return await self.client.get(PERSISTENTVOLUMECLAIMS, "default", name)

    async def bound_to(self, name: str = "data") -> str:
        """The volume of a claim that is Bound; else its phase in brackets."""
        claim = await self.get_claim(name)
        phase = dig_str(claim, "status", "phase")
        return dig_str(claim, "spec", "volumeName") if phase == "Bound" else f"({phase})"

    async def phase(self, volume: str) -> str:
        """The phase of a volume, `gone` without one."""
        try:
            return dig_str(await self.client.get(PERSISTENTVOLUMES, None, volume), "status", "phase")
        except NotFound:
            return "gone"

    async def running(self, pod: str) -> bool:
        return dig_str(await self.client.get(PODS, "default", pod), "status", "phase") == "Running"

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reasons and messages about an object, in order."""
        events = (await self.client.list(EVENTS)).items
        return [
            (dig_str(each, "reason"), dig_str(each, "message"))
            for each in events
            if dig_str(dig_object(each, "involvedObject"), "name") == name
        ]

    async def delete_claim(self, name: str = "data") -> None:
        await self.client.delete(PERSISTENTVOLUMECLAIMS, "default", name)
        await self.wait()


def played(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in a world of its own."""
    return play(test, World)
