"""What follows the end of an owner or of a namespace: the garbage collector and the namespace controller, at once.

kube-controller-manager does this after a while; here it happens within the delete, behind the event that caused it, so
that a run repeats exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.deletion import FOREGROUND, ORPHAN, DeleteOptions, drop_finalizer, finalizers
from vcray.cluster.objects.record import Record, dig, entries, section, text
from vcray.cluster.objects.storage import Storage


class Writer(Protocol):
    """What the collector needs of the store."""

    def delete_record(self, record: Record, options: DeleteOptions) -> Record: ...
    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None: ...


class Collector:
    """Deletes or frees the objects that an owner or a namespace leaves behind."""

    def __init__(self, storage: Storage, catalog: Catalog, writer: Writer) -> None:
        self._storage = storage
        self._catalog = catalog
        self._writer = writer

    def created(self, record: Record) -> None:
        """Delete a new object again if it names owners and all of them are gone (of kinds that we serve)."""
        if record.owners and not self._has_owner(record):
            self._delete(record)

    def marked(self, record: Record, obj: JsonObject) -> None:
        """An owner waits behind a propagation finalizer: deal with what it owns."""
        held = finalizers(obj)
        if ORPHAN in held:
            for dependent in self._storage.owned_by(record.uid):
                self._free(dependent, record.uid)
            self._release(record, ORPHAN)
        elif FOREGROUND in held:
            for dependent in self._storage.owned_by(record.uid):
                self._delete(dependent, propagation="Foreground")
            self._finish_foreground(record.uid)

    def removed(self, record: Record) -> None:
        """An object is gone: delete what only it owned, go on with owners and namespaces that waited for it."""
        for dependent in self._storage.owned_by(record.uid):
            if self._has_owner(dependent):
                self._free(dependent, record.uid)
            else:
                self._delete(dependent)
        for uid in record.owners:
            self._finish_foreground(uid)
        if record.namespace:
            self._finish_namespace(record.namespace)

    def empty_namespace(self, name: str) -> None:
        """Delete everything in a namespace that is being deleted, then the namespace itself if nothing lingers."""
        for resource in self._catalog.resources():
            if resource.namespaced:
                for record in list(self._storage.scan(resource, name)):
                    self._delete(record)
        self._finish_namespace(name)

    # -- steps ------------------------------------------------------------------------------------------------

    def _has_owner(self, record: Record) -> bool:
        for owner in entries(dig(record.decode(), "metadata", "ownerReferences")):
            served = self._catalog.named(text(owner.get("apiVersion")), text(owner.get("kind")))
            if served is None or self._storage.by_uid(text(owner.get("uid"))) is not None:
                return True
        return False

    def _delete(self, record: Record, propagation: str = "Background") -> None:
        present = self._storage.get(record.resource, record.namespace, record.name)
        if present is not None and present.uid == record.uid:
            self._writer.delete_record(present, DeleteOptions(propagation=propagation))

    def _free(self, dependent: Record, uid: str) -> None:
        def drop_owner(obj: JsonObject) -> bool:
            metadata = section(obj, "metadata")
            left: list[JsonValue] = [
                o for o in entries(metadata.get("ownerReferences")) if o.get("uid") != uid
            ]
            metadata.pop("ownerReferences", None)
            if left:
                metadata["ownerReferences"] = left
            return True

        self._writer.rewrite(dependent, drop_owner)

    def _release(self, record: Record, finalizer: str) -> None:
        self._writer.rewrite(record, lambda obj: drop_finalizer(obj, finalizer))

    def _finish_foreground(self, uid: str) -> None:
        owner = self._storage.by_uid(uid)
        if owner is None or FOREGROUND not in finalizers(owner.decode()):
            return
        if not any(self._blocks(dependent, uid) for dependent in self._storage.owned_by(uid)):
            self._release(owner, FOREGROUND)

    @staticmethod
    def _blocks(dependent: Record, uid: str) -> bool:
        owners = entries(dig(dependent.decode(), "metadata", "ownerReferences"))
        return any(owner.get("uid") == uid and owner.get("blockOwnerDeletion") is True for owner in owners)

    def _finish_namespace(self, name: str) -> None:
        record = self._storage.get(NAMESPACES, "", name)
        if record is None or record.fields["status.phase"] != "Terminating":
            return
        for resource in self._catalog.resources():
            if resource.namespaced and next(self._storage.scan(resource, name), None) is not None:
                return

        def finalize(obj: JsonObject) -> bool:
            section(obj, "spec").pop("finalizers", None)
            return True

        self._writer.rewrite(record, finalize)
