"""Stand-in operators at work on an API server, with Kubernetes' own workload controllers beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from vcray.actors.local_runtime import ActiveTransport, Activity, LocalRuntime
from vcray.actors.parts import Facts, Place
from vcray.actors.reconciler import ControllerHost
from vcray.actors.runtime import Time
from vcray.actors.watches import watch
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, OPERATORS_RESOURCES, Resource
from vcray.cluster.operators.definitions import defined, definition
from vcray.cluster.operators.table import STAND_INS
from vcray.cluster.workloads.manager import OF_PODS, Workloads
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists, NotFound
from vcray.kube.events import EventRecorder
from vcray.kube.transport import Transport
from vcray.kube.watch import watch_objects
from vcray.metrics import Metrics

TRIES, BETWEEN_TRIES_S = 100, 0.1
"""How often, and after how long, a new kind is asked for."""


async def install(transport: Transport, chosen: Iterable[str]) -> None:
    """Create the definitions of the kinds of these operators, and wait until the server serves them; those that are there are
    left as they are."""
    client = KubeClient(transport, "vcray-operators")
    resources = defined(each for name in sorted(chosen) for each in STAND_INS[name].resources)
    for resource in resources:
        with suppress(VcrayError):  # a server may have the kind of itself
            await client.list(resource)
            continue
        await _define(client, resource)
    for resource in resources:
        await _served(client, resource)


async def _define(client: KubeClient, resource: Resource) -> None:
    """Create the definition, in place of one of its name that has another version."""
    for _ in range(TRIES):
        with suppress(AlreadyExists):
            await client.create(CUSTOMRESOURCEDEFINITIONS, None, definition(resource))
            return
        with suppress(NotFound):
            present = await client.get(CUSTOMRESOURCEDEFINITIONS, None, resource.full_name)
            versions = {each.get("name") for each in dig_objects(present, "spec", "versions")}
            if resource.version in versions and not dig_str(present, "metadata", "deletionTimestamp"):
                return
            await client.delete(CUSTOMRESOURCEDEFINITIONS, None, resource.full_name)
        await asyncio.sleep(BETWEEN_TRIES_S)


async def _served(client: KubeClient, resource: Resource) -> None:
    """Until the kind can be listed; after that for good. VcrayError when it cannot be after some seconds."""
    for _ in range(TRIES):
        with suppress(VcrayError):
            await client.list(resource)
            return
        await asyncio.sleep(BETWEEN_TRIES_S)
    await client.list(resource)


class Operating:
    """Some stand-ins by name, each with its gang support (`volcano` or empty). `workloads`: Kubernetes' controllers of
    pods as well, for servers that have none."""

    def __init__(
        self,
        transport: Transport,
        chosen: Mapping[str, str],
        time: Time,
        activity: Activity | None = None,
        workloads: bool = True,
    ) -> None:
        self._transport = transport if activity is None else ActiveTransport(transport, activity)
        self._chosen = {name: chosen[name] for name in sorted(chosen)}
        self._time = time
        self._runtime = LocalRuntime(time, activity=activity)
        self._workloads = Workloads(self._transport, time, controllers=OF_PODS) if workloads else None

    async def start(self) -> None:
        """Begin; the definitions of their kinds are there."""
        client = KubeClient(self._transport, "vcray-operators", sleep=self._time.sleep)
        made = [make(gang) for name, gang in self._chosen.items() for make in STAND_INS[name].makes]
        metrics = Metrics()
        host = ControllerHost(
            made, client, EventRecorder(client, "operators", self._time), self._time, metrics, counts=False
        )
        place = Place(Facts(), self._runtime, self._transport, metrics, self._runtime.handle)
        handle = await self._runtime.spawn("operators", lambda: host)
        for each in host.watched:  # of the two MPIJobs a server has one
            watch(place, watch_objects(client, each, optional=each in OPERATORS_RESOURCES), handle)
        if self._workloads is not None:
            await self._workloads.start()

    async def stop(self) -> None:
        """End all work."""
        if self._workloads is not None:
            await self._workloads.stop()
        await self._runtime.stop()
