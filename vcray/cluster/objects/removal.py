"""How an object goes: at once, marked until its finalizers or its grace are done, and what its end sets in motion."""

from __future__ import annotations

from collections.abc import Callable

from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES
from vcray.clock import Clock
from vcray.cluster.definitions.registrar import Registrar
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.deletion import (
    FOREGROUND,
    ORPHAN,
    DeleteOptions,
    add_finalizer,
    drop_finalizer,
    finalizers,
    grace_of,
    is_done,
    mark,
    propagation_of,
)
from vcray.cluster.objects.garbage import Collector
from vcray.cluster.objects.record import Record, dig, section
from vcray.cluster.objects.storage import Storage


class Removal:
    """Deletes without preconditions or reviews.

    With `collects`, what kube-controller-manager does later (dependents, contents of a namespace) is done within the
    delete; without, others do it and objects wait for them as they wait behind a real server.
    """

    def __init__(self, storage: Storage, catalog: Catalog, clock: Clock, collects: bool = True) -> None:
        self._storage = storage
        self._clock = clock
        self.collector = Collector(storage, catalog, self, clock.now) if collects else None
        self._registrar = Registrar(storage, catalog, self, clock.now)

    def changed(self, record: Record) -> None:
        """An object was created or changed: what a definition describes is served from now on."""
        if record.resource == CUSTOMRESOURCEDEFINITIONS:
            self._registrar.changed(record)
        self._collect()

    def resume(self) -> None:
        """Go on with what an earlier run of the store was doing when it ended."""
        self._registrar.resume()

    def created(self, record: Record) -> None:
        """A new object is there: it goes again if all of its owners are gone."""
        self.changed(record)

    def _collect(self) -> None:
        """Let the collector act on what it has seen."""
        if self.collector is not None:
            self.collector.work()

    def delete_record(self, record: Record, options: DeleteOptions) -> Record:
        """The same as `delete`, under the name that the collector knows."""
        return self.delete(record, options)

    def delete(self, record: Record, options: DeleteOptions) -> Record:
        """Delete or mark an object; returns the version after it."""
        obj = record.decode()
        if record.resource == CUSTOMRESOURCEDEFINITIONS and not dig(obj, "metadata", "deletionTimestamp"):
            return self._registrar.deleting(record)
        grace = grace_of(record, obj, options)
        waits = self._waits(record, obj, options)
        namespace_waits = record.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
        if grace == 0 and not finalizers(obj) and not namespace_waits:
            if "deletionGracePeriodSeconds" in section(obj, "metadata"):
                section(obj, "metadata")["deletionGracePeriodSeconds"] = 0
            return self.remove(record, obj)
        changed = mark(obj, grace, self._clock.now())
        if namespace_waits:
            section(obj, "status")["phase"] = "Terminating"
        if not changed and not waits:
            return record
        marked = self._storage.put(record.resource, obj)
        if self.collector is not None and namespace_waits:
            self.collector.empty_namespace(record.name)
        self._collect()
        return marked

    def _waits(self, record: Record, obj: JsonObject, options: DeleteOptions) -> bool:
        """Put the finalizer of the propagation in place of others, if somebody will take it away again."""
        propagation = propagation_of(record.resource, obj, options)
        for name, asked in ((FOREGROUND, "Foreground"), (ORPHAN, "Orphan")):
            if propagation != asked:
                drop_finalizer(obj, name)
        if propagation == "Background":
            return False
        if self.collector is not None and not self._storage.owned_by(record.uid):
            return False
        return add_finalizer(obj, FOREGROUND if propagation == "Foreground" else ORPHAN)

    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None:
        """Change the present version of an object as the server itself; done if `change` returns False."""
        present = self._storage.get(record.resource, record.namespace, record.name)
        if present is None or present.uid != record.uid:
            return
        obj = present.decode()
        if not change(obj):
            return
        waiting_namespace = record.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
        if is_done(obj) and not waiting_namespace:
            self.remove(present, obj)
        else:
            self._storage.put(record.resource, obj)
            self._collect()

    def remove(self, record: Record, last: JsonObject) -> Record:
        """Take an object away, whatever it waits for."""
        gone = self._storage.remove(record, last)
        self._collect()
        self._registrar.removed(record)
        return gone
