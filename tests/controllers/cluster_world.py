"""Controllers against the embedded cluster's own store: schemas, defaults, patches and owner deletion are real.

Every change of the store reaches the mirrors at once, through the host's own classes; requests are handled one by one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from vcray.actors.effects import EffectRunner
from vcray.actors.objects import ObjectMirrors
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, NAMESPACES, PODGROUPS, PODS, QUEUES, Resource
from vcray.clock import ManualClock
from vcray.cluster.objects.record import StoredEvent
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers import raw
from vcray.controllers.base import Controller, Outcome, ReconcileError, Request
from vcray.controllers.queue import initial_queues
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder


class ClusterWorld:
    """A store with a namespace `ns`, the initial queues, and controllers at work on it."""

    def __init__(self, controllers: Sequence[Controller]) -> None:
        self.controllers = controllers
        self.clock = ManualClock(1_800_000_000.0)
        self.store = Store(self.clock)
        self.client = KubeClient(InProcessTransport(self.store))
        watched = tuple({resource: None for each in controllers for resource in each.watches})
        self.mirrors = ObjectMirrors(watched)
        self.queue: list[tuple[Controller, Request]] = []
        self.later: list[tuple[float, Controller, Request]] = []
        self.refused: list[str] = []
        self.turns = 0
        self._events = EventRecorder(self.client, "vc-controller-manager", self.clock)
        self.store.storage.listen(self._on_event)

    async def start(self) -> None:
        await self.client.create(NAMESPACES, None, {"metadata": {"name": "ns"}})
        for queue in initial_queues():
            await self.client.create(QUEUES, None, queue)
        await self.settle()

    async def settle(self, limit: int = 300) -> None:
        for _ in range(limit):
            if not self.queue:
                return
            controller, request = self.queue.pop(0)
            self.turns += 1
            await self._turn(controller, request)
        raise AssertionError(f"no rest after {limit} turns; next {self.queue[:3]}")

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        due = [item for item in self.later if item[0] <= self.clock.now()]
        self.later = [item for item in self.later if item[0] > self.clock.now()]
        for _, controller, request in due:
            self._enqueue(controller, request)
        await self.settle()

    def all(self, resource: Resource) -> list[JsonObject]:
        return [json.loads(record.body) for record in self.store.list(resource).records]

    def events(self) -> list[tuple[str, str]]:
        return [(raw.text(event, "reason"), raw.text(event, "message")) for event in self.all(EVENTS)]

    async def admit(self) -> None:
        for group in self.all(PODGROUPS):
            if raw.text(group, "status", "phase") in ("", "Pending"):
                await self.client.update(PODGROUPS, {**group, "status": {"phase": "Inqueue"}})
        await self.settle()

    async def pod_phase(self, phase: str) -> None:
        for pod in self.all(PODS):
            status: JsonObject = {"phase": phase}
            await self.client.update_status(PODS, {**pod, "status": status})
        await self.settle()

    def _on_event(self, event: StoredEvent) -> None:
        item: JsonObject = json.loads(event.record.body)
        resource = event.record.resource
        if not self.mirrors.mirrors(resource):
            return
        gone = str(event.change.value) == "DELETED"
        change = self.mirrors.remove(resource, item) if gone else self.mirrors.put(resource, item)
        for controller in self.controllers:
            if change is not None and resource in controller.watches:
                for request in controller.requests(change, self.mirrors):
                    self._enqueue(controller, request)

    def _enqueue(self, controller: Controller, request: Request) -> None:
        if (controller, request) not in self.queue:
            self.queue.append((controller, request))

    async def _turn(self, controller: Controller, request: Request) -> None:
        def again(after_s: float, request: Request) -> None:
            if after_s:
                self.later.append((self.clock.now() + after_s, controller, request))
            else:
                self._enqueue(controller, request)

        runner = EffectRunner(self.client, self._events, lambda *_: None, again)
        steps = controller.reconcile(request, self.mirrors, self.clock.now())
        outcome: Outcome | None = None
        try:
            while True:
                effect = next(steps) if outcome is None else steps.send(outcome)
                outcome = await runner.run(effect)
        except StopIteration:
            return
        except ReconcileError as error:
            self.refused.append(str(error))
            self.later.append((self.clock.now() + 1, controller, request))
