"""What Volcano's admission fills in, for a server on which nobody serves its webhooks: the same rules, on our side of the wire.

Only defaults: a scenario may store what admission would not let in, on every back end alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import jsonpatch
import msgspec

from vcray.api import names
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, QUEUES, Resource
from vcray.cache.supposed import Wanted
from vcray.integrations.admission import service as integrations_service
from vcray.integrations.known import built_in
from vcray.sim.observer import version_of
from vcray.sim.requestpath import Target
from vcray.sim.traffic import Traffic
from vcray.webhooks.base import Request, Rules
from vcray.webhooks.services import SERVICES, Service

_RULES: Final = Rules()
_SERVICES: Final = (*SERVICES, integrations_service(built_in()))


class Admitting:
    """Gives new objects their defaults. Implements `vcray.webhooks.base.Look` on what the traffic's observers have seen."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._observers = traffic.observers

    def __call__(self, target: Target, body: bytes | None) -> bytes | None:
        """The body of a creation, completed."""
        for service in _SERVICES:
            if body is not None and self._concerns(service, target):
                body = self._complete(service, target, body)
        return body

    @staticmethod
    def _concerns(service: Service, target: Target) -> bool:
        return (
            service.mutates
            and not service.idle(_RULES)
            and "CREATE" in service.operations
            and service.resource.path() == target.collection
            and not target.subresource
        )

    def _complete(self, service: Service, target: Target, body: bytes) -> bytes:
        obj: JsonObject = msgspec.json.decode(body)
        if (
            service.resource == PODGROUPS
        ):  # webhooks see what the definition fills in; a rule goes by this alone
            obj["spec"] = {"queue": names.DEFAULT_QUEUE, **dig_object(obj, "spec")}
        name = dig_str(obj, "metadata", "name")
        answer = service.admit(Request("CREATE", target.namespace, name, obj, {}, self, _RULES))
        if not answer.patch:
            return body
        return msgspec.json.encode(jsonpatch.apply_patch(obj, list(answer.patch)))

    # -- the view of the cluster --------------------------------------------------------------------------------

    def queue(self, name: str) -> JsonObject | None:
        """The Queue of that name."""
        return self._named(QUEUES, name)

    def queues(self) -> Sequence[JsonObject]:
        """All queues by name."""
        observer = self._observers.all.get(QUEUES.path())
        found = list(observer.objects.values()) if observer else []
        return sorted(found, key=lambda queue: dig_str(queue, "metadata", "name"))

    def children(self, parent: str) -> Sequence[JsonObject]:
        """The queues below one."""
        return [queue for queue in self.queues() if dig_str(queue, "spec", "parent") == parent]

    def namespace(self, name: str) -> JsonObject | None:
        """The Namespace of that name."""
        return self._named(NAMESPACES, name)

    def podgroup(self, namespace: str, name: str) -> JsonObject | None:
        """The PodGroup of that name."""
        return self._named(PODGROUPS, name, namespace)

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """An object of any kind that somebody watches. An operator may hear of it before our own watch does, and its pods come at
        once: what anybody has heard counts, the newest first."""
        heard = self._traffic.heard.get((resource.path(), namespace, name))
        found = [each for each in (self._named(resource, name, namespace), heard) if each is not None]
        return max(found, key=version_of, default=None)

    def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        """Nobody knows."""
        return [None] * len(wanted)

    def _named(self, resource: Resource, name: str, namespace: str = "") -> JsonObject | None:
        observer = self._observers.all.get(resource.path())
        return observer.named(namespace, name) if observer else None
