"""A fleet of simulated nodes on any API server: Node objects, their leases, and a kubelet for the pods that are bound to them.

It speaks to the server through a `Transport` alone, so it runs within the embedded cluster as well as against a real one.
What a user does to a node happens through its object: a cordon is a cordon, a deleted node stays away, and the annotation
`vcray.io/stopped: "true"` is a machine without power.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from vcray.api.jsonview import dig_int, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import LEASES, NODES
from vcray.api.times import seconds_of
from vcray.api.wire_meta import Condition
from vcray.cluster.kubelet.following import changes
from vcray.cluster.kubelet.keeper import PodKeeper
from vcray.cluster.kubelet.nodes import (
    FLEET_LABEL,
    KWOK_ANNOTATION,
    LEASE_NAMESPACE,
    LEASE_SECONDS,
    STOPPED_ANNOTATION,
    NodeShape,
    NodeSlot,
    conditions,
    lease_object,
    micro_time,
    node_object,
    node_status,
)
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import AlreadyExists, ApiError, NotFound
from vcray.kube.transport import Transport
from vcray.kube.workqueue import SystemTime, Time
from vcray.log import get_logger

log = get_logger("fleet")

RENEWALS_PER_S = 50.0
"""Most lease renewals a second of a whole fleet; larger fleets renew more seldom, with longer leases."""
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """How a fleet behaves.

    `name` tells fleets of one cluster apart; `prefix` begins the names of its nodes. `start_s` is the time from binding to
    Running. `lease_period_s` 0 means no leases. `adopt_kwok` plays nodes with kwok's annotation too.
    """

    name: str = "vcray"
    prefix: str = "node"
    start_s: float = 1.0
    lease_period_s: float = 10.0
    adopt_kwok: bool = False


@dataclass(frozen=True, slots=True)
class FleetStatistics:
    """Nodes played, pods known, status writes so far."""

    nodes: int
    pods: int
    writes: int
    failures: int


class _SeenHead(Struct, frozen=True, gc=False):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _SeenStatus(Struct, frozen=True, gc=False):
    conditions: tuple[Condition, ...] | None = None


class _SeenNode(Struct, frozen=True, gc=False):
    metadata: _SeenHead = _SeenHead()
    status: _SeenStatus = _SeenStatus()


_nodes = msgspec.json.Decoder(_SeenNode)


class Fleet:
    """`count` nodes of one shape. `start` returns when they are registered; `stop` may take them away again."""

    def __init__(
        self,
        transport: Transport,
        count: int,
        shape: NodeShape | None = None,
        options: FleetOptions | None = None,
        time: Time | None = None,
    ) -> None:
        self.options = options or FleetOptions()
        self.shape = shape or NodeShape()
        self.slots: dict[str, NodeSlot] = {}
        self._time: Time = time or SystemTime()
        self._client = KubeClient(transport, "kubelet", sleep=self._time.sleep)
        self._count = count
        self._following = 0
        self.pods = PodKeeper(self._client, self._time, self.slots.get, self.options.start_s)
        self._tasks: list[asyncio.Task[None]] = []

    async def played(self) -> list[str]:
        """Nodes of this fleet's name, or of a name that it would use, that somebody else keeps alive: their leases run."""
        nodes = (await self._client.list(NODES)).items
        wanted = {f"{self.options.prefix}-{number}" for number in range(self._count)}
        ours = {
            dig_str(node, "metadata", "name")
            for node in nodes
            if dig_str(node, "metadata", "name") in wanted
            or dig_str(node, "metadata", "labels", FLEET_LABEL) == self.options.name
        }
        if not ours:
            return []
        now, leases = self._time.now(), (await self._client.list(LEASES, LEASE_NAMESPACE)).items
        return sorted(
            name
            for each in leases
            if (name := dig_str(each, "metadata", "name")) in ours and _runs(each, now)
        )

    async def start(self) -> None:
        """Register the nodes, then play their kubelets. Raises VcrayError if the server cannot be used."""
        wanted = [self._slot(f"{self.options.prefix}-{number}") for number in range(self._count)]
        await _each(wanted, self._register)
        jobs = [self.pods.run(), self.pods.claims.run(), self._follow_nodes()]
        if self.options.lease_period_s > 0:
            jobs.append(self._renew_leases())
        self._tasks = [asyncio.create_task(job) for job in jobs]
        for task in self._tasks:
            task.add_done_callback(_tell)

    async def stop(self, remove: bool = False) -> None:
        """Stop playing; with `remove` the nodes of this fleet and their leases go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if remove:
            await _each(list(self.slots.values()), self._unregister)

    def statistics(self) -> FleetStatistics:
        """Figures at this moment."""
        return FleetStatistics(
            len(self.slots), len(self.pods.lives), self.pods.writes, self.pods.queue.failures
        )

    def log(self, namespace: str, name: str, container: str = "") -> str | None:
        """What a container of a pod on one of these nodes has printed; None if it is not here."""
        return self.pods.log(namespace, name, container)

    def set_alive(self, name: str, alive: bool) -> None:
        """Stop or start the kubelet of one node, whatever its annotation says."""
        slot = self.slots.get(name)
        if slot is not None:
            before = slot.alive
            self._switch(slot, slot.annotated, not alive)
            if slot.alive and not before:
                self._tasks.append(asyncio.create_task(self._report_ready(slot)))

    def _switch(self, slot: NodeSlot, annotated: bool, unplugged: bool) -> None:
        before = slot.alive
        slot.annotated, slot.unplugged = annotated, unplugged
        if slot.alive != before:
            log.info("node started" if slot.alive else "node stopped", node=slot.name)
            if slot.alive:
                self.pods.wake(slot.name)

    # -- nodes ------------------------------------------------------------------------------------------------

    def _slot(self, name: str, fast: bool = False) -> NodeSlot:
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[name] = NodeSlot(name, self._following, fast)
            self._following += 1
        return slot

    async def _register(self, slot: NodeSlot) -> None:
        now = self._time.now()
        body = node_object(slot, self.shape, self.options.name, now)
        document: JsonObject = {"apiVersion": "v1", "kind": "Node", **body}
        try:
            await self._client.request("POST", NODES.path(), None, document)
        except AlreadyExists:
            await self._report(slot, node_status(slot, self.shape, now))

    async def _report(self, slot: NodeSlot, status: JsonObject) -> None:
        path = NODES.path(None, slot.name, "status")
        with suppress(NotFound):
            await self._client.request("PATCH", path, None, {"status": status}, PatchType.STRATEGIC)

    async def _unregister(self, slot: NodeSlot) -> None:
        if slot.fast:
            return
        for resource, namespace in ((NODES, None), (LEASES, LEASE_NAMESPACE)):
            with suppress(ApiError):
                await self._client.request("DELETE", resource.path(namespace, slot.name))

    async def _follow_nodes(self) -> None:
        async with aclosing(changes(self._client, NODES)) as nodes:
            async for name, body in nodes:
                if body is None:
                    self.slots.pop(name, None)
                else:
                    await self._see_node(name, body)

    async def _see_node(self, name: str, body: msgspec.Raw) -> None:
        node = _nodes.decode(body)
        annotations = node.metadata.annotations or {}
        ours = (node.metadata.labels or {}).get(FLEET_LABEL) == self.options.name
        fast = self.options.adopt_kwok and KWOK_ANNOTATION in annotations
        if not ours and not fast:
            self.slots.pop(name, None)
            return
        slot = self._slot(name, fast and not ours)
        self._switch(slot, annotations.get(STOPPED_ANNOTATION) == "true", slot.unplugged)
        ready = next((each for each in node.status.conditions or () if each.type == "Ready"), None)
        if slot.alive and (ready is None or ready.status != "True"):
            await self._report_ready(slot)

    async def _report_ready(self, slot: NodeSlot) -> None:
        """Say that the node is there; its lease comes first: who sees a node that is ready and has let its lease run out takes it
        for lost again."""
        with suppress(VcrayError):
            if self.options.lease_period_s > 0:
                await self._renew(slot, self._lease_duration_s())
            await self._report(slot, {"conditions": conditions(self._time.now())})

    # -- leases -----------------------------------------------------------------------------------------------

    async def _renew_leases(self) -> None:
        """Renew all leases once a period, spread evenly over it."""
        while True:
            names, period = list(self.slots), self._lease_period_s()
            steps = max(1, min(int(period), len(names)))
            for step in range(steps):
                for name in names[step::steps]:
                    slot = self.slots.get(name)
                    if slot is not None and slot.alive:
                        with suppress(VcrayError):
                            await self._renew(slot, self._lease_duration_s())
                await self._time.sleep(period / steps)

    def _lease_period_s(self) -> float:
        return max(self.options.lease_period_s, len(self.slots) / RENEWALS_PER_S)

    def _lease_duration_s(self) -> int:
        return max(LEASE_SECONDS, int(4 * self._lease_period_s()))

    async def _renew(self, slot: NodeSlot, duration_s: int) -> None:
        now = self._time.now()
        if slot.lease_known:
            spec: JsonObject = {"renewTime": micro_time(now), "leaseDurationSeconds": duration_s}
            try:
                path = LEASES.path(LEASE_NAMESPACE, slot.name)
                await self._client.request("PATCH", path, None, {"spec": spec}, PatchType.MERGE)
                return
            except NotFound:
                slot.lease_known = False
        body = {**lease_object(slot, duration_s, now), "apiVersion": LEASES.api_version, "kind": LEASES.kind}
        with suppress(AlreadyExists):
            await self._client.request("POST", LEASES.path(LEASE_NAMESPACE), None, body)
        slot.lease_known = True


def _runs(lease: JsonObject, now: float) -> bool:
    renewed = seconds_of(dig_str(lease, "spec", "renewTime"))
    return renewed is not None and now < renewed + dig_int(lease, "spec", "leaseDurationSeconds")


async def _each(slots: Iterable[NodeSlot], act: Callable[[NodeSlot], Awaitable[None]]) -> None:
    """Act on all, several at a time."""
    waiting = iter(slots)

    async def worker() -> None:
        for slot in waiting:
            await act(slot)
            await asyncio.sleep(0)

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


def _tell(task: asyncio.Task[None]) -> None:
    """A fault must not pass in silence while nobody awaits the task."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("a part of the fleet has failed", why=f"{type(error).__name__}: {error}")
