"""The life of definitions in a store: names, serving, and the end of their objects.

Kubernetes has four controllers for this; here it happens within the write, behind the event that caused it, so that a kind
is usable as soon as its definition says Established and a run repeats exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from vcray.api.jsonview import dig_str, holds
from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS
from vcray.clock import rfc3339
from vcray.cluster.definitions.status import (
    CLEANUP,
    accept_names,
    first_status,
    keep_stored_version,
    mark_terminating,
    set_approval,
    set_defaults,
)
from vcray.cluster.definitions.validation import approval, definition_faults, is_protected
from vcray.cluster.definitions.versions import serve, withdraw
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.deletion import DeleteOptions, add_finalizer, drop_finalizer, finalizers
from vcray.cluster.objects.record import Record, section
from vcray.cluster.objects.storage import Storage


class Writer(Protocol):
    """What the registrar needs of the store."""

    def delete_record(self, record: Record, options: DeleteOptions) -> Record: ...
    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None: ...


def complete_new(definition: JsonObject) -> None:
    """Fill in the defaults and the first status of a new definition, in place."""
    set_defaults(definition)
    definition["status"] = first_status(definition)


def complete(definition: JsonObject) -> None:
    """Fill in the defaults of a changed definition, in place; its status is the old one's."""
    set_defaults(definition)
    keep_stored_version(definition)


def check_definition(definition: JsonObject, old: JsonObject | None) -> None:
    """Refuse (Invalid) a definition, new or in place of `old`, that a real server refuses."""
    faults = definition_faults(definition, old)
    if faults:
        name = dig_str(definition, "metadata", "name")
        raise refusals.invalid(CUSTOMRESOURCEDEFINITIONS, name, faults)


class Registrar:
    """Keeps statuses of definitions and the catalog in step with what clients write."""

    def __init__(self, storage: Storage, catalog: Catalog, writer: Writer, now: Callable[[], float]) -> None:
        self._storage = storage
        self._catalog = catalog
        self._writer = writer
        self._now = now

    def changed(self, record: Record) -> None:
        """A definition was created or changed: settle its names, serve what it describes, then look at its neighbours."""
        if self._settle(record):
            self._settle_neighbours(record)

    def deleting(self, record: Record) -> Record:
        """Begin to delete a definition and its objects; returns the version that says so."""
        definition, now = record.decode(), rfc3339(self._now())
        section(definition, "metadata")["deletionTimestamp"] = now
        add_finalizer(definition, CLEANUP)
        why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        mark_terminating(definition, "True", "InstanceDeletionPending", why, now)
        marked = self._storage.put(record.resource, definition)
        self._clean(marked)
        return marked

    def removed(self, record: Record) -> None:
        """Something is gone: a definition frees its names, the last object of one that waits lets it go."""
        if record.resource == CUSTOMRESOURCEDEFINITIONS:
            withdraw(self._catalog, record.decode())
            self._settle_neighbours(record)
            return
        waiting = self._storage.get(CUSTOMRESOURCEDEFINITIONS, "", record.resource.full_name)
        if waiting is not None and CLEANUP in finalizers(waiting.decode()):
            self._finish(waiting)

    def resume(self) -> None:
        """Go on with what an earlier run of the store was doing when it ended."""
        for record in list(self._storage.scan(CUSTOMRESOURCEDEFINITIONS)):
            if CLEANUP in finalizers(record.decode()):
                self._clean(record)
            else:
                self.changed(record)

    # -- steps ------------------------------------------------------------------------------------------------

    def _settle(self, record: Record) -> bool:
        """Settle one definition; True if its names changed, so that others may get theirs."""
        present = self._storage.get(record.resource, "", record.name)
        if present is None:
            return False
        definition, now = present.decode(), rfc3339(self._now())
        named = accept_names(definition, self._others(record), now)
        group = dig_str(definition, "spec", "group")
        approved = False
        if is_protected(group):
            approved = set_approval(definition, *approval(definition), now)
        if named or approved:
            self._storage.put(record.resource, definition)
        if holds(definition, "Established"):
            serve(self._catalog, definition)
        return named

    def _others(self, record: Record) -> list[JsonObject]:
        group = dig_str(record.decode(), "spec", "group")
        found = (
            other.decode()
            for other in self._storage.scan(record.resource)
            if other.name != record.name and other.name.endswith(f".{group}")
        )
        return [other for other in found if dig_str(other, "spec", "group") == group]

    def _settle_neighbours(self, record: Record) -> None:
        for other in self._others(record):
            if not holds(other, "NamesAccepted"):
                present = self._storage.get(record.resource, "", dig_str(other, "metadata", "name"))
                if present is not None:
                    self._settle(present)

    def _clean(self, marked: Record) -> None:
        """Delete every object of a definition, then the definition if nothing lingers."""

        def in_progress(definition: JsonObject) -> bool:
            why = "CustomResource deletion is in progress"
            mark_terminating(definition, "True", "InstanceDeletionInProgress", why, rfc3339(self._now()))
            return True

        self._writer.rewrite(marked, in_progress)
        present = self._storage.get(marked.resource, "", marked.name)
        if present is None:
            return
        definition = present.decode()
        if holds(definition, "Established"):
            serve(self._catalog, definition)  # as terminating: nothing new may be created
        for table in {kind.stored: None for kind in self._catalog.kinds() if kind.definition == marked.name}:
            for instance in list(self._storage.scan(table)):
                current = self._storage.get(table, instance.namespace, instance.name)
                if current is not None and current.uid == instance.uid:
                    self._writer.delete_record(current, DeleteOptions())
        self._finish(present)

    def _finish(self, record: Record) -> None:
        definition = record.decode()
        established = holds(definition, "Established")
        for kind in self._catalog.kinds():
            if kind.definition == record.name and next(self._storage.scan(kind.stored), None) is not None:
                return

        def let_go(present: JsonObject) -> bool:
            reason, why = (
                ("InstanceDeletionCompleted", "removed all instances")
                if established
                else ("NeverEstablished", "resource was never established")
            )
            mark_terminating(present, "False", reason, why, rfc3339(self._now()))
            return drop_finalizer(present, CLEANUP)

        self._writer.rewrite(record, let_go)
