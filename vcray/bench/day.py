"""`vcray bench day`: a mixed day of a platform, in virtual time and one process.

RayClusters, PyTorchJobs, Spark applications and vcjobs of several queues on a simulated cluster whose nodes and pods fail. Stand-ins
play the operators, simulated kubelets run the pods; all are the very parts of `vcray up`, on one clock that jumps from one due moment
to the next. What it shows: everything ends, nothing is left behind, and each queue gets what its weight asks for while all have demand.
"""

from __future__ import annotations

import asyncio
import random
import time as wall
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from vcray.actors.local_runtime import ActiveTransport, Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api import names
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.quantity import parse_quantity
from vcray.api.resources import (
    JOBS,
    PODGROUPS,
    PODS,
    PYTORCHJOBS,
    QUEUES,
    RAYCLUSTERS,
    SPARKAPPLICATIONS,
    Resource,
)
from vcray.app import ControlPlane
from vcray.bench.dayplan import MADE, Arrival, Plan
from vcray.client.states import State, outcome_of
from vcray.cluster.admission.volcano import MUTATING, VolcanoGate
from vcray.cluster.kubelet import Fleet, FleetOptions, NodeShape
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.cluster.workloads.manager import OF_NODES, OF_PODS, Workloads
from vcray.config.settings import load
from vcray.integrations.admission import service
from vcray.integrations.known import built_in
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.sim.operating import Operating, install

STEP_S: Final = 30.0
"""Virtual seconds between two looks at the queues."""
LEASE_S: Final = 300.0
"""How often a node says that it is there; it is missed after four times as long."""
OUTAGE_S: Final = 3600.0
OPERATORS: Final = {"kuberay": "", "training-operator": "", "spark-operator": ""}
CONF: Final = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: binpack
"""


@dataclass(frozen=True, slots=True)
class DayResult:
    """`finished` of `submitted` objects by kind, `failed` those that ended badly; `left` what is still there at the end: pods,
    PodGroups, and cpu that queues count as allocated. `share_error`: per queue, the time-averaged dominant share while all had demand for
    theirs, against its weight's, as a fraction of the latter. Virtual hours, wall seconds."""

    submitted: dict[str, int]
    finished: dict[str, int]
    failed: dict[str, int]
    left: dict[str, int]
    share_error: dict[str, float]
    contended_h: float
    virtual_h: float
    wall_s: float

    @property
    def clean(self) -> bool:
        """Did everything end, with nothing left?"""
        return self.submitted == self.finished and not any(self.left.values())


def run_day(
    plan: Plan, patience_h: float = 48.0, tell: Callable[[int, str], None] = lambda ended, clock: None
) -> DayResult:
    """Play a day; it ends when all has ended, or after `patience_h` virtual hours. `tell` hears how many have ended, at what time."""
    return asyncio.run(_Day(plan).run(patience_h, tell))


Usage: TypeAlias = dict[str, int]
"""Cpu and memory in nano-units."""


@dataclass(slots=True)
class _Shares:
    """Dominant share of each queue, summed over the seconds in which each of them wanted at least what its weight asks for."""

    used: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def look(
        self, weights: Mapping[str, int], held: Mapping[str, Usage], wanted: Mapping[str, Usage], room: Usage
    ) -> None:
        """Count the last step in, if there was enough demand; amounts by queue, and of all nodes."""
        total = sum(weights.values())
        for queue, weight in weights.items():
            asked = {name: held[queue].get(name, 0) + wanted[queue].get(name, 0) for name in room}
            if _dominant(asked, room) < weight / total:
                return
        self.seconds += STEP_S
        for queue in weights:
            self.used[queue] = self.used.get(queue, 0.0) + _dominant(held[queue], room) * STEP_S

    def errors(self, weights: Mapping[str, int]) -> dict[str, float]:
        total, all_used = sum(weights.values()), sum(self.used.values())
        if not all_used:
            return {}
        return {
            queue: round(self.used.get(queue, 0.0) / all_used * total / weight - 1.0, 4)
            for queue, weight in weights.items()
        }


def _dominant(amounts: Mapping[str, int], room: Mapping[str, int]) -> float:
    return max(amounts.get(name, 0) / whole for name, whole in room.items())


class _Day:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._time = VirtualTime()
        self._activity = Activity()
        self._store = Store(clock=self._time)
        self._store.gates.append(VolcanoGate(self._store.storage, (*MUTATING, service(built_in()))))
        self._transport = ActiveTransport(InProcessTransport(self._store), self._activity)
        self._client = KubeClient(self._transport, "day", sleep=self._time.sleep)
        self._dice = random.Random(plan.seed)
        self._began = self._time.now()
        self._running: dict[tuple[Resource, str], float] = {}
        self._finished: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._shares = _Shares()
        self._down: list[tuple[float, str]] = []
        self._node: JsonObject = {"cpu": str(plan.node_cpu), "memory": f"{4 * plan.node_cpu}Gi"}
        self._fleet: Fleet

    async def run(self, patience_h: float, tell: Callable[[int, str], None]) -> DayResult:
        begun = wall.perf_counter()
        async with AsyncExitStack() as stack:
            await self._start(stack)
            waiting = list(self._plan.arrivals)
            while waiting or self._running:
                if self._time.now() - self._began > patience_h * 3600:
                    break
                waiting = await self._submit(waiting)
                await self._step()
                hours = (self._time.now() - self._began) / 3600
                tell(self._finished.total(), f"{hours:.1f} h")
            await self._time.advance(600, self._activity.quiet)
            left = await self._left()
            virtual = self._time.now() - self._began
        submitted = Counter(each.kind for each in self._plan.arrivals)
        return DayResult(
            submitted=dict(submitted),
            finished=dict(self._finished),
            failed=dict(self._failed),
            left=left,
            share_error=self._shares.errors(self._plan.weights),
            contended_h=round(self._shares.seconds / 3600, 2),
            virtual_h=round(virtual / 3600, 2),
            wall_s=round(wall.perf_counter() - begun, 1),
        )

    async def _start(self, stack: AsyncExitStack) -> None:
        plan = self._plan
        await install(self._transport, OPERATORS)
        operating = Operating(self._transport, OPERATORS, self._time, self._activity, workloads=False)
        await operating.start()
        stack.push_async_callback(operating.stop)
        workloads = Workloads(self._transport, self._time, controllers=(*OF_PODS, *OF_NODES))
        await workloads.start()
        stack.push_async_callback(workloads.stop)
        shape = NodeShape(dig_str(self._node, "cpu"), dig_str(self._node, "memory"), 250, 0)
        self._fleet = Fleet(
            self._transport, plan.nodes, shape, FleetOptions(lease_period_s=LEASE_S), time=self._time
        )
        await self._fleet.start()
        stack.push_async_callback(self._fleet.stop)
        settings = load({"schedule_period_s": 60.0, "coalesce_ms": 1000.0}, {})
        plane = ControlPlane(self._transport, settings, CONF, self._time, self._activity)
        await plane.start()
        stack.push_async_callback(plane.stop)
        for queue, weight in plan.weights.items():
            body: JsonObject = {"metadata": {"name": queue}, "spec": {"weight": weight, "reclaimable": True}}
            await self._client.create(QUEUES, None, body)
        await self._activity.quiet()

    async def _submit(self, waiting: Sequence[Arrival]) -> list[Arrival]:
        """Hand in what is due."""
        now = self._time.now() - self._began
        due = [each for each in waiting if each.at_s <= now]
        for each in due:
            resource, body = MADE[each.kind](each)
            await self._client.create(resource, "default", body)
            self._running[resource, each.name] = float("inf")
        return [each for each in waiting if each.at_s > now]

    async def _step(self) -> None:
        self._fail_nodes()
        await self._time.advance(STEP_S, self._activity.quiet)
        await self._look()

    # -- failures -------------------------------------------------------------------------------------------------------

    def _fail_nodes(self) -> None:
        """Nodes lose their power, now and then, for longer than it takes to be missed."""
        now = self._time.now()
        for back, name in [each for each in self._down if each[0] <= now]:
            self._fleet.set_alive(name, True)
            self._down.remove((back, name))
        if self._dice.random() < self._plan.node_failures_h * STEP_S / 3600:
            name = f"node-{self._dice.randrange(self._plan.nodes)}"
            if all(other != name for _, other in self._down):
                self._fleet.set_alive(name, False)
                self._down.append((now + OUTAGE_S, name))

    # -- looking --------------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        await self._take_ended()
        weights = self._plan.weights
        wanted: dict[str, Usage] = {queue: {} for queue in weights}
        for group in (await self._client.list(PODGROUPS)).items:
            queue = wanted.get(dig_str(group, "spec", "queue"))
            if queue is not None and dig_str(group, "status", "phase") in ("Pending", "Inqueue"):
                for name, amount in _amounts(dig_object(group, "spec", "minResources")).items():
                    queue[name] = queue.get(name, 0) + amount
        held = {
            dig_str(each, "metadata", "name"): _amounts(dig_object(each, "status", "allocated"))
            for each in (await self._client.list(QUEUES)).items
        }
        up = self._plan.nodes - len(self._down)
        self._shares.look(
            weights, held, wanted, {name: up * each for name, each in _amounts(self._node).items()}
        )

    async def _take_ended(self) -> None:
        """Note what has ended and take it away, as a platform does; RayClusters are deleted when their time is over."""
        now = self._time.now()
        for resource in (JOBS, RAYCLUSTERS, PYTORCHJOBS, SPARKAPPLICATIONS):
            for obj in (await self._client.list(resource, "default")).items:
                name = dig_str(obj, "metadata", "name")
                key = resource, name
                if key not in self._running:
                    continue
                outcome = outcome_of(resource, obj)
                if resource == RAYCLUSTERS and outcome.state is State.RUNNING:
                    life = float(dig_str(obj, "metadata", "annotations", "day/life") or 0)
                    self._running[key] = min(self._running[key], now + life)
                if outcome.ended or now >= self._running[key]:
                    del self._running[key]
                    self._finished[resource.kind] += 1
                    self._failed[resource.kind] += outcome.state is State.FAILED
                    with suppress(NotFound):
                        await self._client.delete(resource, "default", name)
        self._failed = +self._failed

    async def _left(self) -> dict[str, int]:
        pods = (await self._client.list(PODS)).items
        groups = (await self._client.list(PODGROUPS)).items
        queues = (await self._client.list(QUEUES)).items
        charged = sum(
            _amounts(dig_object(each, "status", "allocated"))["cpu"] // 10**9
            for each in queues
            if dig_str(each, "metadata", "name") != names.ROOT_QUEUE
        )
        return {"pods": len(pods), "podgroups": len(groups), "cpu": charged}


def _amounts(listed: JsonObject) -> Usage:
    """Cores and bytes of a resource list, in nano-units."""
    return {name: parse_quantity(dig_str(listed, name) or "0") for name in ("cpu", "memory")}
