"""A world for controllers: an object store that carries out effects at once, and a clock that is told to move.

It keeps the host's promises (vcray.controllers.base): answers count as watch events, equal requests wait once,
requests of one key are handled in order, failures come back. `fail` makes single effects fail.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODGROUPS, PODS, QUEUES, Resource
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    All,
    Change,
    Controller,
    Create,
    Delete,
    Effect,
    Emit,
    Fetch,
    KeyPair,
    MakeKeys,
    Outcome,
    Patch,
    Read,
    ReconcileError,
    Request,
    Update,
    UpdateStatus,
)

Key = tuple[Resource, str, str]


@dataclass
class World:
    """Objects, controllers, and what happened so far: `effects` (All taken apart) and `events` (reason, message)."""

    controllers: Sequence[Controller]
    now: float = 1_800_000_000.0
    graceful: bool = False
    objects: dict[Key, JsonObject] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    fail: Callable[[Effect], Outcome | None] = lambda effect: None
    page: Callable[[Fetch], Outcome] = lambda effect: Outcome(False, status=0, message="no such server")
    queue: list[tuple[Controller, Request]] = field(default_factory=list)
    waiting: list[tuple[float, Controller, Request]] = field(default_factory=list)
    failures: dict[tuple[int, Request], int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    gave_up: list[Request] = field(default_factory=list)
    asking: Controller | None = None
    _serial: int = 0

    # what controllers see

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        self._must_be_mirrored(resource)
        return self.objects.get((resource, namespace, name))

    def list(self, resource: Resource, namespace: str | None = None) -> list[JsonObject]:
        self._must_be_mirrored(resource)
        keys = sorted((k for k in self.objects if k[0] == resource), key=lambda k: k[1:])
        return [self.objects[k] for k in keys if namespace is None or k[1] == namespace]

    def owned(self, resource: Resource, owner_uid: str) -> list[JsonObject]:
        return [
            item
            for item in self.list(resource)
            if any(o.get("uid") == owner_uid for o in raw.tables(item, "metadata", "ownerReferences"))
        ]

    def _must_be_mirrored(self, resource: Resource) -> None:
        """A controller may only look at what it watches; a test may look at everything."""
        if self.asking is not None and resource not in self.asking.watches:
            raise KeyError(resource)

    # what a test does

    def put(self, resource: Resource, item: JsonObject) -> JsonObject:
        """Create or replace an object as somebody else would, status included."""
        item = copy.deepcopy(item)
        key = (resource, raw.namespace(item), raw.name(item))
        old = self.objects.get(key)
        meta = item.setdefault("metadata", {})
        assert isinstance(meta, dict)
        self._serial += 1
        if old is None:
            meta.setdefault("uid", f"uid-{self._serial}")
            meta.setdefault("creationTimestamp", "2027-01-15T08:00:00Z")
        meta["resourceVersion"] = str(self._serial)
        self.objects[key] = item
        self._tell(Change(resource, old, item))
        return item

    def change(self, resource: Resource, namespace: str, name: str, **paths: object) -> JsonObject:
        """Set fields: `status__phase="Running"`."""
        item = copy.deepcopy(self.objects[resource, namespace, name])
        for path, value in paths.items():
            *parents, last = path.split("__")
            holder = item
            for step in parents:
                holder = holder.setdefault(step, {})  # type: ignore[assignment]
            holder[last] = value  # type: ignore[assignment]
        return self.put(resource, item)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """An object goes away for good."""
        self._tell(Change(resource, self.objects.pop((resource, namespace, name)), None))

    def replay(self, *resources: Resource) -> None:
        """Tell the controllers of everything that exists, as a start does."""
        for resource in resources:
            for item in self.list(resource):
                self._tell(Change(resource, None, item))

    def settle(self, limit: int = 500) -> None:
        """Handle requests until none is left; failed ones come back, without waiting, until they are given up."""
        for _ in range(limit):
            if not self.queue:
                return
            self.take_turn()
        raise AssertionError(f"no rest after {limit} turns; next {self.queue[:3]}")

    def take_turn(self) -> None:
        """Handle the request that has waited longest, be it in the middle of another's turn."""
        self._turn(*self.queue.pop(0))

    def advance(self, seconds: float) -> None:
        """Move the clock, bring what is due, settle."""
        self.now += seconds
        due = [item for item in self.waiting if item[0] <= self.now]
        self.waiting = [item for item in self.waiting if item[0] > self.now]
        for _, controller, request in sorted(due, key=lambda item: item[0]):
            self._enqueue(controller, request)
        self.settle()

    def did(self, kind: type[Effect], resource: Resource | None = None) -> list[Effect]:
        """Effects of one class so far."""
        return [
            e for e in self.effects if isinstance(e, kind) and (resource is None or e.resource == resource)
        ]

    # jobs, in short

    def job(self, name: str = "j", namespace: str = "ns") -> JsonObject:
        return self.objects[JOBS, namespace, name]

    def phase(self, name: str = "j", namespace: str = "ns") -> str:
        return raw.text(self.job(name, namespace), "status", "state", "phase")

    def status(self, name: str = "j", namespace: str = "ns") -> JsonObject:
        return raw.table(self.job(name, namespace), "status")

    def pods(self) -> list[str]:
        return [raw.name(pod) for pod in self.list(PODS)]

    def podgroups(self) -> list[JsonObject]:
        return self.list(PODGROUPS)

    def admit(self, phase: str = "Inqueue") -> None:
        """The scheduler lets every waiting PodGroup past its gate."""
        for group in self.podgroups():
            if raw.text(group, "status", "phase") in ("", "Pending"):
                self.change(PODGROUPS, raw.namespace(group), raw.name(group), status__phase=phase)
        self.settle()

    def pod_phase(self, phase: str, *names: str, code: int = 0) -> None:
        """Pods (all, when none is named) move to a phase."""
        for name in names or tuple(self.pods()):
            namespace = next(k[1] for k in self.objects if k[0] == PODS and k[2] == name)
            state: JsonObject = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code}}
            statuses = [{"name": "main", "ready": phase == "Running", "restartCount": 0, "state": state}]
            self.change(PODS, namespace, name, status__phase=phase, status__containerStatuses=statuses)
        self.settle()

    def bury(self) -> None:
        """Pods that are being deleted are gone."""
        for pod in self.list(PODS):
            if raw.terminating(pod):
                self.remove(PODS, raw.namespace(pod), raw.name(pod))
        self.settle()

    def change_tasks(self, name: str = "j", **replicas: int) -> None:
        """Somebody scales tasks of a job."""
        tasks = [
            {**task, "replicas": replicas.get(raw.text(task, "name"), raw.number(task, "replicas"))}
            for task in raw.tables(self.job(name), "spec", "tasks")
        ]
        self.change(JOBS, "ns", name, spec__tasks=tasks)
        self.settle()

    def running(self, **spec: object) -> None:
        """From a job's manifest to all its pods running."""
        self.submit(**spec)
        self.admit()
        self.pod_phase("Running")

    def submit(self, name: str = "j", **spec: object) -> JsonObject:
        """Create a queue `default` if there is none, and a job."""
        if (QUEUES, "", "default") not in self.objects and spec.get("queue") is None:
            self.put(QUEUES, {"metadata": {"name": "default"}, "spec": {}})
        created = self.put(JOBS, a_job(name, **spec))
        self.settle()
        return created

    # the host

    def _tell(self, change: Change) -> None:
        if change.resource == JOBS and change.new is not None:
            phase = raw.text(change.new, "status", "state", "phase")
            if phase and (not self.phases or self.phases[-1] != phase):
                self.phases.append(phase)
        for controller in self.controllers:
            if change.resource in controller.watches:
                asked, self.asking = self.asking, controller
                requests = list(controller.requests(change, self))
                self.asking = asked
                for request in requests:
                    self._enqueue(controller, request)

    def _enqueue(self, controller: Controller, request: Request) -> None:
        if (controller, request) not in self.queue:
            self.queue.append((controller, request))

    def _turn(self, controller: Controller, request: Request, giving_up: bool = False) -> None:
        run = controller.gave_up if giving_up else controller.reconcile
        steps = run(request, self, self.now)
        counter = (id(controller), request)
        try:
            outcome: Outcome | None = None
            while True:
                self.asking = controller
                effect = next(steps) if outcome is None else steps.send(outcome)
                self.asking = None
                outcome = self._carry_out(controller, effect)
        except StopIteration:
            self.asking = None
            self.failures.pop(counter, None)
        except ReconcileError as error:
            self.asking = None
            self.errors.append(str(error))
            if giving_up:
                return
            if not error.counts:
                self.waiting.append((self.now + 1.0, controller, request))
                return
            self.failures[counter] = self.failures.get(counter, 0) + 1
            if controller.max_requeue < 0 or self.failures[counter] <= controller.max_requeue:
                self._enqueue(controller, request)
            else:
                if controller.starts_anew:
                    del self.failures[counter]
                self.gave_up.append(request)
                self._turn(controller, request, giving_up=True)

    def _carry_out(self, controller: Controller, effect: Effect) -> Outcome:
        if isinstance(effect, All):
            parts = tuple(self._carry_out(controller, part) for part in effect.effects)
            return Outcome(ok=all(part.ok for part in parts), parts=parts)
        self.effects.append(effect)
        if isinstance(effect, Again):
            if effect.after_s:
                self.waiting.append((self.now + effect.after_s, controller, effect.request))
            else:
                self._enqueue(controller, effect.request)
            return Outcome()
        if isinstance(effect, Emit):
            self.events.append((effect.reason, effect.message))
            return Outcome()
        if isinstance(effect, MakeKeys):
            serial = len(self.did(MakeKeys))
            return Outcome(keys=KeyPair(f"private {serial}", f"public {serial}\n"))
        if isinstance(effect, Fetch):
            return self.page(effect)
        return self.fail(effect) or self._write(effect)

    def _write(self, effect: Effect) -> Outcome:
        if isinstance(effect, Create | Update | UpdateStatus):
            return self._put(effect)
        assert isinstance(effect, Read | Patch | Delete)
        key = (effect.resource, effect.namespace, effect.name)
        stored = self.objects.get(key)
        if stored is None:
            return _refused(404, "NotFound", f"{effect.name} not found")
        if isinstance(effect, Read):
            return Outcome(object=stored)
        if isinstance(effect, Patch):
            return Outcome(object=self.put(effect.resource, _patched(stored, effect)))
        if effect.uid and effect.uid != raw.uid(stored):
            return _refused(409, "Conflict", "the UID in the precondition does not match")
        if self.graceful and effect.resource == PODS:
            self.change(*key, metadata__deletionTimestamp="2027-01-15T08:00:00Z")
        else:
            self.remove(*key)
        return Outcome()

    def _put(self, effect: Create | Update | UpdateStatus) -> Outcome:
        item = copy.deepcopy(effect.object)
        prefix = raw.text(item, "metadata", "generateName")
        if prefix and not raw.name(item):
            item["metadata"] = {**raw.table(item, "metadata"), "name": f"{prefix}{self._serial}"}
        key = (effect.resource, raw.namespace(item), raw.name(item))
        stored = self.objects.get(key)
        if isinstance(effect, Create):
            if stored is not None:
                return _refused(409, "AlreadyExists", f"{effect.resource.plural} {key[2]!r} already exists")
            if effect.resource != PODGROUPS:
                item.pop("status", None)
            return Outcome(object=self.put(effect.resource, item))
        if stored is None:
            return _refused(404, "NotFound", f"{key[2]} not found")
        if raw.version(item) not in ("", raw.version(stored)):
            return _refused(409, "Conflict", "the object has been modified")
        if isinstance(effect, UpdateStatus):
            assert effect.resource != PODGROUPS, "PodGroup has no status subresource"
            item = {**stored, "status": item.get("status", {})}
        elif effect.resource != PODGROUPS:
            item = {**item, "status": stored.get("status", {})}
        return Outcome(object=self.put(effect.resource, item))


def _refused(status: int, reason: str, message: str) -> Outcome:
    return Outcome(ok=False, status=status, reason=reason, message=message)


def _patched(stored: JsonObject, effect: Patch) -> JsonObject:
    item = copy.deepcopy(stored)
    if effect.kind == "json":
        assert isinstance(effect.patch, list)
        for operation in effect.patch:
            assert isinstance(operation, dict)
            assert operation["op"] == "add"
            *parents, last = [p.replace("~1", "/") for p in str(operation["path"]).split("/")[1:]]
            holder: object = item
            for step in parents:
                holder = holder[int(step)] if isinstance(holder, list) else holder[step]  # type: ignore[index]
            holder[last] = operation["value"]  # type: ignore[index]
        return item
    assert isinstance(effect.patch, dict)
    _merge(item, effect.patch)
    return item


def _merge(into: JsonObject, patch: JsonObject) -> None:
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            stored = into.setdefault(key, {})
            assert isinstance(stored, dict)
            _merge(stored, value)
        else:
            into[key] = value


def a_task(name: str = "t", replicas: int = 1, least: int | None = None, **more: object) -> JsonObject:
    """A task of containers that ask for one cpu."""
    template: JsonObject = {
        "spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    }
    task: JsonObject = {"name": name, "replicas": replicas, "template": template}
    if least is not None:
        task["minAvailable"] = least
    return {**task, **more}  # type: ignore[dict-item]


def a_job(name: str = "j", namespace: str = "ns", **spec: object) -> JsonObject:
    """A vcjob with one task of one pod, unless `tasks` says otherwise; keywords are fields of the spec."""
    metadata: JsonObject = {"name": name, "namespace": namespace}
    for key in ("labels", "annotations", "uid"):
        if key in spec:
            metadata[key] = spec.pop(key)  # type: ignore[assignment]
    tasks = spec.pop("tasks", [a_task()])
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"queue": "default", "maxRetry": 3, "tasks": tasks, **spec},  # type: ignore[dict-item]
    }
