"""Small admission rules of the whole cluster: namespaces that stay, one default class, the default storage class."""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_str
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

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


class ClusterRules:
    """NamespaceLifecycle, Priority and DefaultStorageClass as far as they are not part of a kind's own rules."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def mutate(self, review: Review) -> JsonObject | None:
        """A new claim without a class gets the default one."""
        claim = review.obj
        if review.resource != PERSISTENTVOLUMECLAIMS or review.operation != "CREATE" or claim is None:
            return None
        chosen = dig(claim, "spec", "storageClassName")
        if review.subresource or chosen is not None or dig(claim, "metadata", "annotations", _OLD_CLASS):
            return None
        name = self._default_storage_class()
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

    def _default_storage_class(self) -> str:
        """The newest class marked as default, of several of one age the first by name."""
        found: list[tuple[str, str]] = []
        for record in self._storage.scan(STORAGECLASSES):
            obj = record.decode()
            if any(dig_str(obj, "metadata", "annotations", key) == "true" for key in _DEFAULT_CLASS):
                found.append((dig_str(obj, "metadata", "creationTimestamp"), record.name))
        newest = max((created for created, _ in found), default="")
        return min((name for created, name in found if created == newest), default="")

    def _check_only_default(self, review: Review) -> None:
        for record in self._storage.scan(PRIORITYCLASSES):
            if record.name != review.name and record.decode().get("globalDefault"):
                why = f"PriorityClass {record.name} is already marked as default. Only one default can exist"
                raise refusals.forbidden(PRIORITYCLASSES, review.name, why)
