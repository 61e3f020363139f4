"""Back ends of scenarios: a control plane in manual mode, virtual time, a kubelet that steps; here on an in-process store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from vcray.actors.local_runtime import ActiveTransport, Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cache.supposed import Wanted
from vcray.cluster.admission.volcano import MUTATING, VolcanoGate
from vcray.cluster.changes.patches import merge
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.core.decisions import Decisions
from vcray.core.usage import NodeLoad, UsageTable
from vcray.integrations.admission import service
from vcray.integrations.known import built_in
from vcray.kube.client import KubeClient
from vcray.kube.transport import Transport
from vcray.metrics import Metrics
from vcray.sim.growing import GrowingTransport
from vcray.sim.kubelet import ScenarioKubelet
from vcray.sim.operating import Operating, install
from vcray.sim.scenario import Kubelet


class ControlPlane(Protocol):
    """What the world needs of a control plane in manual mode; the composition root supplies it."""

    @property
    def metrics(self) -> Metrics: ...

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def start_component(self, name: str) -> None: ...
    async def stop_component(self, name: str) -> None: ...
    async def round(self) -> Decisions: ...
    async def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]: ...
    async def measured(self, usage: UsageTable) -> None: ...


MakeControlPlane = Callable[[Transport, str, JsonObject, VirtualTime, Activity], ControlPlane]
"""(transport, volcano-scheduler.conf, settings, time, activity) -> a control plane that has not started."""


class ManualWorld:
    """A cluster whose control plane runs rounds on demand, in virtual time. Where the objects are is its subclass's to say."""

    def __init__(self, make: MakeControlPlane) -> None:
        self.time = VirtualTime()
        self.activity = Activity()
        self._make = make
        self._plane: ControlPlane | None = None
        self._operating: Operating | None = None
        self._client: KubeClient
        self._kubelet: ScenarioKubelet

    def _open(self, transport: Transport) -> None:
        """The scenario's own client and its kubelet, on a transport of theirs."""
        judged = GrowingTransport(transport, self._room)
        self._client = KubeClient(ActiveTransport(judged, self.activity), "scenario", sleep=self.time.sleep)
        self._kubelet = ScenarioKubelet(self._client, self.time.now)

    @property
    def client(self) -> KubeClient:
        return self._client

    @property
    def plane(self) -> ControlPlane:
        """The running control plane. RuntimeError before `start`."""
        if self._plane is None:
            raise RuntimeError("the world has not started")
        return self._plane

    async def _begin(
        self,
        transport: Transport,
        scheduler_conf: str,
        settings: JsonObject,
        operators: Mapping[str, str],
    ) -> None:
        """Start a control plane, and stand-in operators, on a transport of their own."""
        if operators:
            judged = GrowingTransport(transport, self._room)
            self._operating = Operating(judged, operators, self.time, self.activity)
            await self._operating.start()
        self._plane = self._make(transport, scheduler_conf, settings, self.time, self.activity)
        await self._plane.start()
        await self.rest()

    async def _room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        return () if self._plane is None else await self._plane.room(wanted)

    async def _end(self) -> None:
        """Stop the control plane, then the operators."""
        for each in (self._plane, self._operating):
            if each is not None:
                await each.stop()

    async def rest(self) -> None:
        await self.activity.quiet()

    async def cycle(self) -> Decisions:
        await self._kubelet.cycle()
        await self.rest()
        decisions = await self.plane.round()
        await self.rest()
        return decisions

    async def advance(self, seconds: float) -> None:
        await self.time.advance(seconds, self.rest)

    async def stop_component(self, name: str) -> None:
        await self.plane.stop_component(name)

    async def start_component(self, name: str) -> None:
        await self.plane.start_component(name)

    def kubelet(self, rule: Kubelet) -> None:
        self._kubelet.rule(rule)

    async def finish(self, namespace: str, name: str, code: int) -> None:
        await self._kubelet.finish(namespace, name, code)
        await self.rest()

    async def measured(self, loads: Mapping[str, tuple[float, float]]) -> None:
        now = self.time.now()
        table = [NodeLoad(node, cpu, memory, now) for node, (cpu, memory) in sorted(loads.items())]
        await self.plane.measured(UsageTable(tuple(table)))
        await self.rest()

    def metrics(self) -> str:
        return self.plane.metrics.expose().decode()


class World(ManualWorld):
    """One cluster in this process. `order` seeds the order in which watchers hear of changes; 0 is the natural one."""

    def __init__(self, make: MakeControlPlane, order: int = 0) -> None:
        super().__init__(make)
        self.store = Store(clock=self.time, seed=order)
        self.store.gates.append(VolcanoGate(self.store.storage, (*MUTATING, service(built_in()))))
        self._watched = InProcessTransport(self.store, shuffle_seed=order or None)
        self._open(InProcessTransport(self.store))

    async def start(
        self,
        scheduler_conf: str,
        settings: JsonObject | None = None,
        operators: Mapping[str, str] | None = None,
    ) -> None:
        await install(self._watched, operators or ())
        await self._begin(self._watched, scheduler_conf, settings or {}, operators or {})

    async def stop(self) -> None:
        await self._end()
        await self._watched.close()
        await self._client.close()

    async def hold(self, resource: Resource, namespace: str, name: str) -> None:
        self._watched.hold(resource, namespace, name)

    async def release(self, resource: Resource, namespace: str, name: str) -> None:
        self._watched.release(resource, namespace, name)
        await self.rest()

    async def disconnect(self) -> None:
        self._watched.disconnect()
        await self.rest()

    async def overwrite(self, resource: Resource, namespace: str, name: str, patch: JsonObject) -> None:
        record = self.store.read(resource, namespace, name)
        merged = merge(record.decode(), patch)
        assert isinstance(merged, dict)
        self.store.storage.put(resource, merged)
        await self.rest()

    def version(self) -> int:
        return self.store.storage.version
