"""What every workload controller is: a queue of keys, a turn for each, and what it shares with the others."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, Protocol, TypeVar

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, Resource
from vcray.clock import rfc3339
from vcray.cluster.workloads.informers import Informer, controller_of, json_informer
from vcray.cluster.workloads.podview import PodView, pod_head, read_pod
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError, NotFound
from vcray.kube.events import EventRecorder, involved_of
from vcray.kube.workqueue import Time, WorkQueue

T = TypeVar("T")


class Running(Protocol):
    """What runs an informer needs of it."""

    synced: asyncio.Event

    async def run(self) -> None: ...


class _Clock:
    """The `now` of a Time, as event recorders take it."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def now(self) -> float:
        return self._time.now()


class Shared:
    """The client, the time and the informers that all controllers of one process share.

    `certificate_authority` (PEM) is what clients within the cluster are to trust; empty where nobody knows it.
    """

    def __init__(self, client: KubeClient, time: Time, certificate_authority: str = "") -> None:
        self.client = client
        self.certificate_authority = certificate_authority
        self.time = time
        self.pods: Informer[PodView] = Informer(client, PODS, read_pod, pod_head)
        self.clock = _Clock(time)
        self._json: dict[Resource, Informer[JsonObject]] = {}
        self._kept: list[Running] = []

    def objects(self, resource: Resource) -> Informer[JsonObject]:
        """The informer of a resource, the same for all that ask."""
        if resource not in self._json:
            self._json[resource] = json_informer(self.client, resource)
        return self._json[resource]

    def keep(self, informer: Informer[T]) -> Informer[T]:
        """Run an informer of a controller's own with the others."""
        self._kept.append(informer)
        return informer

    def informers(self) -> Iterable[Running]:
        """All that were asked for."""
        return (self.pods, *self._json.values(), *self._kept)

    def now(self) -> str:
        """The present time as Kubernetes writes it."""
        return rfc3339(self.time.now())


class Controller(ABC):
    """Brings objects of one kind to what their spec wants, one key (`namespace/name`) a turn, driven by events.

    Subclasses connect informers to `queue.add` in their constructor. A turn reads from the informers, writes through the
    client, and puts answers of writes into the informers.
    """

    name: ClassVar[str]

    def __init__(self, shared: Shared, workers: int = 4) -> None:
        self.shared = shared
        self.client = shared.client
        self.time = shared.time
        self.recorder = EventRecorder(shared.client, self.name, shared.clock)
        self.queue: WorkQueue[str] = WorkQueue(self.name, shared.time, self.reconcile, workers)

    def queues(self) -> list[WorkQueue[str]]:
        """All queues of this controller."""
        return [self.queue]

    @abstractmethod
    async def reconcile(self, key: str) -> float | None:
        """One turn; returns seconds until the next one, None for as soon as something happens."""

    async def patch_status(
        self, resource: Resource, informer: Informer[JsonObject], obj: JsonObject, status: JsonObject
    ) -> None:
        """Write those fields of a status that differ; a field of None goes. An object that is gone is left alone."""
        before = dig_object(obj, "status")
        changed = {name: value for name, value in status.items() if before.get(name) != value}
        if not changed:
            return
        namespace, name = split(key_of(obj))
        patch: JsonObject = {"metadata": {"uid": dig_str(obj, "metadata", "uid")}, "status": changed}
        with suppress(NotFound):
            informer.put(await self.client.patch(resource, namespace, name, patch, subresource="status"))

    async def tell(self, about: JsonObject, kind: str, reason: str, message: str) -> None:
        """Write an Event about an object. It is a courtesy: a server that fails on it does not fail the turn."""
        with suppress(ApiError):
            await self.recorder.record(involved_of(about), kind, reason, message)


def split(key: str) -> tuple[str, str]:
    """Namespace and name of a key."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def key_of(obj: JsonObject) -> str:
    """The key of an object."""
    namespace, name = dig_str(obj, "metadata", "namespace"), dig_str(obj, "metadata", "name")
    return f"{namespace}/{name}" if namespace else name


def controller_key(obj: JsonObject, resource: Resource) -> str | None:
    """The key of an object's controller if that is of this resource's kind."""
    owner = controller_of(obj)
    if owner is None or (owner.get("kind"), owner.get("apiVersion")) != (resource.kind, resource.api_version):
        return None
    return f"{dig_str(obj, 'metadata', 'namespace')}/{dig_str(owner, 'name')}"


def owner_reference(resource: Resource, owner: JsonObject) -> JsonObject:
    """The reference that makes `owner` the controller of an object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": dig_str(owner, "metadata", "name"),
        "uid": dig_str(owner, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def set_condition(
    conditions: list[JsonObject], kind: str, status: str, reason: str, message: str, now: str, **more: str
) -> list[JsonObject]:
    """The conditions with one added or replaced; its transition time moves only when its status does."""
    kept = [each for each in conditions if each.get("type") != kind]
    old = next((each for each in conditions if each.get("type") == kind), None)
    if (
        old is not None
        and old.get("status") == status
        and old.get("reason") == reason
        and old.get("message") == message
    ):
        return conditions
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else now
    fresh: JsonObject = {
        "type": kind,
        "status": status,
        **more,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return [*kept, fresh]
