"""Small admission rules of the whole cluster: namespaces that stay, one default class, the default storage class."""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PRIORITYCLASSES,
    STORAGECLASSES,
)
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import section
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.cluster.storageclasses import default_class, leaves_open

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


class ClusterRules:
    """NamespaceLifecycle, Priority and DefaultStorageClass as far as they are not part of a kind's own rules."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def mutate(self, review: Review) -> JsonObject | None:
        """A new claim without a class gets the default one."""
        claim = review.obj
        if review.resource != PERSISTENTVOLUMECLAIMS or review.operation != "CREATE" or claim is None:
            return None
        if review.subresource or not leaves_open(claim):
            return None
        name = default_class(record.decode() for record in self._storage.scan(STORAGECLASSES))
        if not name:
            return None
        section(claim, "spec")["storageClassName"] = name
        return claim

    def validate(self, review: Review) -> None:
        """Refuse (Forbidden) the end of a namespace that everybody needs, and a second default priority class."""
        if review.operation == "DELETE":
            if review.resource == NAMESPACES and review.name in IMMORTAL:
                raise refusals.forbidden(NAMESPACES, review.name, "this namespace may not be deleted")
            return
        if review.resource == PRIORITYCLASSES and review.obj is not None and review.obj.get("globalDefault"):
            self._check_only_default(review)

    def charge(self, review: Review) -> None:
        """These rules count nothing."""

    def _check_only_default(self, review: Review) -> None:
        for record in self._storage.scan(PRIORITYCLASSES):
            if record.name != review.name and record.decode().get("globalDefault"):
                why = f"PriorityClass {record.name} is already marked as default. Only one default can exist"
                raise refusals.forbidden(PRIORITYCLASSES, review.name, why)
