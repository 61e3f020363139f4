"""The verbs of the API server on stored objects: create, read, list, update, patch, apply, delete, bind, evict.

Synchronous and without I/O: each verb either changes the storage and returns, or raises the `ApiError` that a
kube-apiserver would answer with. Time comes from a `Clock`, identities from a counter, so a run repeats exactly.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, PRIORITYCLASSES, Resource
from vcray.clock import Clock, WallClock, rfc3339
from vcray.cluster.admission.chain import Admission
from vcray.cluster.admission.pods import SYSTEM_PRIORITIES
from vcray.cluster.changes.apply import applied, apply_manager, track_update
from vcray.cluster.changes.managers import write_owners
from vcray.cluster.changes.patches import check_media_type, patched
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog, Kind, default_catalog
from vcray.cluster.objects.definitions import serve
from vcray.cluster.objects.deletion import (
    FOREGROUND,
    ORPHAN,
    DeleteOptions,
    add_finalizer,
    check_preconditions,
    finalizers,
    grace_of,
    is_done,
    mark,
)
from vcray.cluster.objects.garbage import Collector
from vcray.cluster.objects.metadata import (
    Identities,
    check_identity,
    check_namespace,
    check_type,
    count_change,
    keep_server_fields,
    stamp_new,
)
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.record import ObjectKey, Record, dig, make_record, section, text
from vcray.cluster.objects.selectors import record_test
from vcray.cluster.objects.storage import HISTORY, Storage
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest, Gone

DEFAULT_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes and how: field manager, dry run, force of an apply, subresource."""

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    subresource: str = ""


PLAIN = Write()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch asks for. An empty namespace means all; `version` None means the present."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: records, the version they were read at, the token of the next page (empty at the end)."""

    records: list[Record]
    version: int
    token: str
    remaining: int


class Store:
    """The objects of one embedded cluster.

    `clock` gives creation and deletion times; `seed` varies UIDs and generated names; `history` is the number of
    changes a resource remembers; `scheduler_name` is what jobs without one are given; `database` keeps all over restarts,
    of which each needs a seed of its own.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        catalog: Catalog | None = None,
        history: int = HISTORY,
        seed: int = 0,
        scheduler_name: str = "volcano",
        database: Database | None = None,
    ) -> None:
        self.clock: Clock = clock or WallClock()
        self.catalog = catalog or default_catalog()
        self.storage = Storage(history)
        self._identities = Identities(seed)
        self._admission = Admission(self.storage, scheduler_name)
        self._collector = Collector(self.storage, self.catalog, self)
        if database is not None:
            database.restore(self.storage, self.catalog)
        self._bootstrap()

    def _bootstrap(self) -> None:
        for name in DEFAULT_NAMESPACES:
            if self.storage.get(NAMESPACES, "", name) is None:
                self.create(NAMESPACES, "", {"metadata": {"name": name}})
        for name, value in SYSTEM_PRIORITIES.items():
            if self.storage.get(PRIORITYCLASSES, "", name) is None:
                self.create(PRIORITYCLASSES, "", {"metadata": {"name": name}, "value": value})

    # -- reading ----------------------------------------------------------------------------------------------

    def read(self, resource: Resource, namespace: str, name: str) -> Record:
        """One object. NotFound if it is not there."""
        self.catalog.of(resource)
        record = self.storage.get(resource, namespace, name)
        if record is None:
            raise refusals.not_found(resource, name)
        return record

    def list(self, resource: Resource, selection: Selection | None = None) -> ListPage:
        """One page of objects in key order. Gone if the page token or version is too old, BadRequest if malformed."""
        asked = selection or Selection()
        self.catalog.of(resource)
        version, after = asked.version or self.storage.version, None
        if asked.token:
            version, after = _read_token(asked.token)
        test = record_test(resource, asked.labels, asked.fields)
        try:
            found = filter(test, self.storage.scan_at(resource, version, asked.namespace, after))
            records = list(islice(found, asked.limit)) if asked.limit else list(found)
            remaining = sum(1 for _ in found) if asked.limit else 0
        except Gone as error:
            raise Gone(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter."
                if asked.token
                else error.message
            ) from error
        token = _make_token(version, records[-1].key) if remaining else ""
        return ListPage(records, version, token, remaining)

    # -- creating ---------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, obj: JsonObject, write: Write = PLAIN) -> Record:
        """Store a new object. `obj` is taken over and must not be used afterwards."""
        kind = self.catalog.of(resource)
        obj = self._prepare_new(kind, namespace, obj)
        track_update(kind, None, obj, write.manager, "", self._now())
        return self._insert(kind, obj, write)

    def _prepare_new(self, kind: Kind, namespace: str, obj: JsonObject) -> JsonObject:
        resource = kind.resource
        check_type(resource, obj)
        check_namespace(resource, namespace, obj)
        stamp_new(resource, obj, self._identities, self.clock.now(), kind.counts)
        self._check_namespace_open(resource, namespace, text(dig(obj, "metadata", "name")))
        return self._admission.on_create(kind, obj, self.clock.now())

    def _check_namespace_open(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        record = self.storage.get(NAMESPACES, "", namespace)
        if record is None:
            raise refusals.not_found(NAMESPACES, namespace)
        if record.fields["status.phase"] == "Terminating":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise refusals.forbidden(resource, name, why)

    def _insert(self, kind: Kind, obj: JsonObject, write: Write) -> Record:
        resource = kind.resource
        namespace, name = text(dig(obj, "metadata", "namespace")), text(dig(obj, "metadata", "name"))
        if self.storage.get(resource, namespace, name) is not None:
            raise refusals.already_exists(resource, name)
        if write.dry_run:
            return make_record(resource, obj, self.storage.version)
        record = self.storage.put(resource, obj)
        if resource == CUSTOMRESOURCEDEFINITIONS:
            serve(self.catalog, obj)
        self._collector.created(record)
        return record

    # -- changing ---------------------------------------------------------------------------------------------

    def update(
        self, resource: Resource, namespace: str, name: str, obj: JsonObject, write: Write = PLAIN
    ) -> Record:
        """Replace an object, or one subresource of it. Conflict if it names an older version than the present."""
        kind, record = self._target(resource, namespace, name, write.subresource)
        check_type(resource, obj)
        check_namespace(resource, namespace, obj)
        check_identity(record, obj, must_name_version=kind.custom)
        return self._change(kind, record, obj, write)

    def patch(
        self, resource: Resource, namespace: str, name: str, body: JsonValue, how: str, write: Write = PLAIN
    ) -> Record:
        """Change an object by a patch of media type `how`; an apply creates it if it is not there."""
        check_media_type(self.catalog.of(resource), how)
        if how == PatchType.APPLY:
            return self._apply(resource, namespace, name, body, write)
        kind, record = self._target(resource, namespace, name, write.subresource)
        old = record.decode()
        wanted = patched(kind, name, old, body, how)
        check_type(resource, wanted)
        check_namespace(resource, namespace, wanted)
        check_identity(record, wanted, must_name_version=False)
        return self._change(kind, record, wanted, write)

    def _target(self, resource: Resource, namespace: str, name: str, subresource: str) -> tuple[Kind, Record]:
        kind = self.catalog.of(resource)
        if subresource and subresource not in resource.subresources:
            raise refusals.no_such_resource()
        return kind, self.read(resource, namespace, name)

    def _change(self, kind: Kind, record: Record, wanted: JsonObject, write: Write) -> Record:
        old = record.decode()
        new = self._settle(kind, old, wanted, write.subresource)
        track_update(kind, old, new, write.manager, write.subresource, self._now())
        return self._store(kind, record, old, new, write)

    def _settle(self, kind: Kind, old: JsonObject, wanted: JsonObject, subresource: str) -> JsonObject:
        """The object as it may be stored: only the part that the endpoint writes differs from the old one."""
        if subresource == "status":
            new = dict(old)
            new.pop("status", None)
            if wanted.get("status") is not None:
                new["status"] = wanted["status"]
            if not kind.custom:
                new["metadata"] = wanted["metadata"]
        else:
            new = dict(wanted)
            if kind.has_status:
                new.pop("status", None)
                if "status" in old:
                    new["status"] = old["status"]
        new["metadata"] = dict(section(new, "metadata"))
        keep_server_fields(old, new)
        new = self._admission.on_update(kind, old, new)
        if kind.counts:
            count_change(old, new, kind.has_status)
        return new

    def _store(self, kind: Kind, record: Record, old: JsonObject, new: JsonObject, write: Write) -> Record:
        if new == old:
            return record
        if write.dry_run:
            return make_record(kind.resource, new, record.version)
        if is_done(new):
            return self._remove(record, new)
        return self.storage.put(kind.resource, new)

    # -- server-side apply ------------------------------------------------------------------------------------

    def _apply(self, resource: Resource, namespace: str, name: str, body: JsonValue, write: Write) -> Record:
        kind = self.catalog.of(resource)
        if write.subresource and write.subresource not in resource.subresources:
            raise refusals.no_such_resource()
        document = self._apply_document(resource, namespace, name, body)
        record = self.storage.get(resource, namespace, name)
        manager = apply_manager(kind, write.manager, write.subresource)
        if record is None:
            if write.subresource:
                raise refusals.not_found(resource, name)
            fresh, owners = applied(kind, {}, document, manager, self._now(), write.force)
            new = self._prepare_new(kind, namespace, {**fresh, "metadata": section(document, "metadata")})
            write_owners(new, owners)
            return self._insert(kind, new, write)
        check_identity(record, document, must_name_version=False)
        old = record.decode()
        merged, owners = applied(kind, old, document, manager, self._now(), write.force)
        new = self._settle(kind, old, merged, write.subresource)
        write_owners(new, owners)
        return self._store(kind, record, old, new, write)

    @staticmethod
    def _apply_document(resource: Resource, namespace: str, name: str, body: JsonValue) -> JsonObject:
        if not isinstance(body, dict):
            raise BadRequest("the body of an apply must be an object")
        document: JsonObject = dict(body)
        document["metadata"] = dict(section(document, "metadata"))
        check_type(resource, document)
        check_namespace(resource, namespace, document)
        metadata = section(document, "metadata")
        metadata.setdefault("name", name)
        if metadata.get("managedFields"):
            raise BadRequest("metadata.managedFields must be nil")
        return document

    # -- deleting ---------------------------------------------------------------------------------------------

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> tuple[Record, bool]:
        """Delete an object, or mark it if it has to wait; returns its last version and whether it is gone."""
        record = self.read(resource, namespace, name)
        asked = options or DeleteOptions()
        check_preconditions(record, asked)
        if asked.dry_run:
            return record, False
        last = self.delete_record(record, asked)
        present = self.storage.get(resource, namespace, name)
        return last, present is None or present.uid != record.uid

    def delete_record(self, record: Record, options: DeleteOptions) -> Record:
        """Delete without preconditions; returns the version after it."""
        obj = record.decode()
        grace = grace_of(record, obj, options)
        waits = False
        if options.propagation in ("Foreground", "Orphan"):
            finalizer = FOREGROUND if options.propagation == "Foreground" else ORPHAN
            if self.storage.owned_by(record.uid):
                waits = add_finalizer(obj, finalizer)
        namespace_waits = record.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
        if grace == 0 and not finalizers(obj) and not namespace_waits:
            return self._remove(record, obj)
        changed = mark(obj, grace, self.clock.now())
        if namespace_waits:
            section(obj, "status")["phase"] = "Terminating"
        if not changed and not waits:
            return record
        marked = self.storage.put(record.resource, obj)
        if waits:
            self._collector.marked(marked, obj)
        if namespace_waits:
            self._collector.empty_namespace(record.name)
        return marked

    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None:
        """Change the present version of an object as the server itself; done if `change` returns False."""
        present = self.storage.get(record.resource, record.namespace, record.name)
        if present is None or present.uid != record.uid:
            return
        obj = present.decode()
        if not change(obj):
            return
        waiting_namespace = record.resource == NAMESPACES and bool(dig(obj, "spec", "finalizers"))
        if is_done(obj) and not waiting_namespace:
            self._remove(present, obj)
        else:
            self.storage.put(record.resource, obj)

    def _remove(self, record: Record, last: JsonObject) -> Record:
        gone = self.storage.remove(record, last)
        self._collector.removed(record)
        return gone

    def _now(self) -> str:
        return rfc3339(self.clock.now())


def _make_token(version: int, key: ObjectKey) -> str:
    document = json.dumps({"v": version, "after": list(key)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, ObjectKey]:
    try:
        document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = document["after"]
        return int(document["v"]), (str(namespace), str(name))
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"continue key is not valid: {error}") from error
