"""Volcano's admission within the process: the very rules of the webhooks, asked by the verbs of a store without a server.

For simulated clusters and tests, where nothing may wait. An embedded server that is reached over HTTPS has none of this: there
the webhooks are registered and called as on any cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import jsonpatch

from vcray.api import names
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, QUEUES, Resource
from vcray.cache.supposed import Wanted
from vcray.cluster.admission.webhooks import refusal
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.webhooks.base import Answer, Request, Rules, User
from vcray.webhooks.services import EXEMPT_NAMESPACE, SERVICES, Service

MUTATING: Final = tuple(service for service in SERVICES if service.mutates)
"""What fills in defaults and refuses nothing: scenarios may store what admission would not let in."""


class StoredView:
    """The objects of a store. Implements `vcray.webhooks.base.Look`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def queue(self, name: str) -> JsonObject | None:
        return self.find(QUEUES, "", name)

    def queues(self) -> Sequence[JsonObject]:
        return [record.decode() for record in self._storage.scan(QUEUES)]

    def children(self, parent: str) -> Sequence[JsonObject]:
        return [queue for queue in self.queues() if dig_str(queue, "spec", "parent") == parent]

    def namespace(self, name: str) -> JsonObject | None:
        return self.find(NAMESPACES, "", name)

    def podgroup(self, namespace: str, name: str) -> JsonObject | None:
        return self.find(PODGROUPS, namespace, name)

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        record = self._storage.get(resource, namespace, name)
        return None if record is None else record.decode()

    def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        """Nobody knows."""
        return [None] * len(wanted)


class VolcanoGate:
    """The webhooks as a gate of a store. `services` are those that are asked, all by default."""

    def __init__(
        self, storage: Storage, services: Sequence[Service] = SERVICES, rules: Rules | None = None
    ) -> None:
        self._view = StoredView(storage)
        self._services = tuple(services)
        self._rules = rules or Rules()

    def mutate(self, review: Review) -> JsonObject | None:
        """The object with the defaults of its kind; None when it has them all."""
        obj = review.obj
        for service in self._services:
            if service.mutates and self._concerns(service, review):
                patch = self._ask(service, review).patch
                if patch and obj is not None:
                    obj = jsonpatch.apply_patch(obj, list(patch))
        return None if obj is review.obj else obj

    def validate(self, review: Review) -> None:
        """Refuse, in the webhook's words, what the rules do not allow."""
        for service in self._services:
            if not service.mutates and self._concerns(service, review):
                self._ask(service, review)

    def charge(self, review: Review) -> None:
        """Nothing is counted."""

    def _concerns(self, service: Service, review: Review) -> bool:
        return (
            review.resource == service.resource
            and not service.idle(self._rules)
            and not review.subresource
            and review.operation in service.operations
            and review.namespace not in (EXEMPT_NAMESPACE, names.SYSTEM_NAMESPACE)
        )

    def _ask(self, service: Service, review: Review) -> Answer:
        asked = Request(
            review.operation,
            review.namespace,
            review.name,
            review.obj or {},
            review.old or {},
            self._view,
            self._rules,
            User(review.user.name, review.user.groups),
        )
        answer = service.admit(asked)
        if not answer.allowed:
            raise refusal(service.entry, {"message": answer.problem})
        review.warnings.extend(answer.warnings)
        return answer
