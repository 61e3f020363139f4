"""Kubernetes Events about objects: written once, counted when they repeat."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS
from vcray.clock import Clock, WallClock, rfc3339
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists, ApiError, NotFound

NORMAL, WARNING = "Normal", "Warning"

_REMEMBERED = 4096
_LONGEST_MESSAGE = 1024
_LONGEST_NAME = 236


@dataclass(frozen=True, slots=True)
class Involved:
    """The object that an event is about. Cluster-scoped objects have an empty namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""


@dataclass(slots=True)
class _Written:
    name: str
    count: int


def involved_of(obj: JsonObject) -> Involved:
    """The reference to a JSON object."""
    metadata = obj.get("metadata")
    head = metadata if isinstance(metadata, dict) else {}
    return Involved(
        str(obj.get("apiVersion") or ""),
        str(obj.get("kind") or ""),
        str(head.get("namespace") or ""),
        str(head.get("name") or ""),
        str(head.get("uid") or ""),
        str(head.get("resourceVersion") or ""),
    )


class EventRecorder:
    """Writes events as one component.

    The same reason and message about the same object becomes one Event whose count and last time move on. Events of
    cluster-scoped objects go to the namespace `default`, as Kubernetes has it.
    """

    def __init__(self, client: KubeClient, component: str, clock: Clock | None = None) -> None:
        self._client = client
        self._component = component
        self._clock: Clock = clock or WallClock()
        self._written: OrderedDict[tuple[str, ...], _Written] = OrderedDict()

    async def record(self, about: Involved, kind: str, reason: str, message: str) -> None:
        """Write or count one event; `kind` is Normal or Warning. Raises ServerError when the server is away or fails;
        what it refuses is dropped."""
        message = message[:_LONGEST_MESSAGE]
        key = (about.kind, about.namespace, about.name, about.uid, kind, reason, message)
        known = self._written.get(key)
        try:
            if known is not None:
                self._written.move_to_end(key)
                await self._count(about, known)
            else:
                await self._write(about, kind, reason, message, key)
        except NotFound:
            self._written.pop(key, None)
            if known is not None:
                await self.record(about, kind, reason, message)
        except ApiError as error:
            self._written.pop(key, None)
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise

    async def _count(self, about: Involved, known: _Written) -> None:
        known.count += 1
        patch: JsonObject = {"count": known.count, "lastTimestamp": rfc3339(self._clock.now())}
        await self._client.patch(EVENTS, about.namespace or "default", known.name, patch)

    async def _write(
        self, about: Involved, kind: str, reason: str, message: str, key: tuple[str, ...]
    ) -> None:
        now = rfc3339(self._clock.now())
        mark = hashlib.sha256("\0".join((*key, self._component, now)).encode()).hexdigest()[:16]
        name = f"{about.name[:_LONGEST_NAME]}.{mark}"
        reference: JsonObject = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "name": about.name,
            "namespace": about.namespace,
            "uid": about.uid,
            "resourceVersion": about.resource_version,
        }
        event: JsonObject = {
            "metadata": {"name": name, "namespace": about.namespace or "default"},
            "involvedObject": {field: value for field, value in reference.items() if value},
            "type": kind,
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        with suppress(AlreadyExists):
            await self._client.create(EVENTS, about.namespace or "default", event)
        self._written[key] = _Written(name, 1)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)
