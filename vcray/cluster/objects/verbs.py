"""The verbs that change objects, as generators that yield a `Review` wherever a kube-apiserver asks its webhooks.

Nothing changes before the last review is answered; then the verb looks whether its object is still the one it read
(`Moved` if not) and commits at once.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from vcray.api.jsonview import dig_object
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, Resource
from vcray.clock import Clock, rfc3339
from vcray.cluster.admission.chain import Admission
from vcray.cluster.changes.apply import applied, track_update
from vcray.cluster.changes.managers import Owners, write_owners
from vcray.cluster.changes.patches import check_media_type, patched, shown
from vcray.cluster.definitions.formats import format_warnings
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog, Kind
from vcray.cluster.objects.deletion import DeleteOptions, check_preconditions, finalizers
from vcray.cluster.objects.metadata import (
    NEVER_UNCONDITIONAL,
    Identities,
    check_identity,
    check_namespace,
    check_type,
    count_change,
    stamp_new,
)
from vcray.cluster.objects.parts import concerned, is_finished, lingers, written_part
from vcray.cluster.objects.record import Record, dig, make_record, section, text
from vcray.cluster.objects.removal import Removal
from vcray.cluster.objects.review import Gate, Moved, Review, Stage, Steps
from vcray.cluster.objects.storage import Storage
from vcray.cluster.objects.versions import decoded, stored
from vcray.cluster.objects.write import Write
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class Verbs:
    """Create, update, patch, apply and delete on one storage, by the rules of a catalog and an admission chain."""

    def __init__(
        self,
        storage: Storage,
        catalog: Catalog,
        admission: Admission,
        removal: Removal,
        identities: Identities,
        clock: Clock,
        gates: Sequence[Gate],
    ) -> None:
        self._storage = storage
        self._catalog = catalog
        self._admission = admission
        self._removal = removal
        self._identities = identities
        self._clock = clock
        self._gates = gates

    # -- creating ---------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, obj: JsonObject, write: Write) -> Steps[Record]:
        """Store a new object. `obj` is taken over and must not be used afterwards."""
        kind = self._catalog.of(resource)
        obj = yield from self._prepared(kind, namespace, obj, write, None)
        return (yield from self._inserted(kind, obj, write))

    def _prepared(
        self, kind: Kind, namespace: str, obj: JsonObject, write: Write, owners: Owners | None
    ) -> Steps[JsonObject]:
        """A new object as it may be stored; its fields are the writer's as sent, unless an apply says whose they are."""
        resource = kind.resource
        if kind.version is not None and kind.version.terminating:
            raise refusals.definition_ends("create")
        check_type(resource, obj)
        obj = self._admission.read(kind, obj, write)
        check_namespace(resource, namespace, obj)
        stamp_new(resource, obj, self._identities, self._clock.now(), kind.counts)
        self._check_namespace_open(resource, namespace, text(dig(obj, "metadata", "name")))
        if owners is None:
            track_update(kind, None, obj, write.manager, "", self._now())
        else:
            write_owners(obj, owners)
        obj = self._admission.shape_new(kind, obj, self._clock.now(), write)
        changed = yield from self.mutated(self._review(CREATE, resource, None, obj, write))
        if changed is not None:
            changed = self._admission.read(kind, changed)
            obj = self._admission.shape_changed(kind, obj, changed, self._clock.now())
        self._admission.check_new(kind, obj)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS:
            write.warnings.extend(format_warnings(obj))
        return obj

    def _check_namespace_open(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        record = self._storage.get(NAMESPACES, "", namespace)
        if record is None:
            raise refusals.not_found(NAMESPACES, namespace)
        if record.fields["status.phase"] == "Terminating":
            raise refusals.namespace_ends(resource, name, namespace)

    def _inserted(self, kind: Kind, obj: JsonObject, write: Write) -> Steps[Record]:
        resource = kind.resource
        namespace, name = text(dig(obj, "metadata", "namespace")), text(dig(obj, "metadata", "name"))
        if self._storage.get(kind.stored, namespace, name) is not None:
            raise refusals.already_exists(resource, name)
        review = self._review(CREATE, resource, None, obj, write)
        yield from self.validated(review)
        if self._storage.get(kind.stored, namespace, name) is not None:
            raise refusals.already_exists(resource, name)
        self._check_namespace_open(resource, namespace, name)
        if write.dry_run:
            return make_record(resource, obj, 0)
        self.charge(review)
        record = self._storage.put(kind.stored, stored(kind, obj))
        self._removal.created(record)
        return record

    # -- changing ---------------------------------------------------------------------------------------------

    def update(
        self, resource: Resource, namespace: str, name: str, obj: JsonObject, write: Write
    ) -> Steps[Record]:
        """Replace an object, or one subresource of it. Conflict if it names an older version than the present."""
        kind, record = self._target(resource, namespace, name, write.subresource)
        check_type(resource, obj)
        obj = self._admission.read(kind, concerned(kind, obj, write.subresource), write)
        check_namespace(resource, namespace, obj)
        names_version = kind.custom or resource.full_name in NEVER_UNCONDITIONAL
        check_identity(record, obj, must_name_version=names_version)
        return (yield from self._change(kind, record, obj, write))

    def patch(
        self, resource: Resource, namespace: str, name: str, body: JsonValue, how: str, write: Write
    ) -> Steps[Record]:
        """Change an object by a patch of media type `how`; an apply creates it if it is not there."""
        check_media_type(self._catalog.of(resource), how)
        if how == PatchType.APPLY:
            return (yield from self._apply(resource, namespace, name, body, write))
        kind, record = self._target(resource, namespace, name, write.subresource)
        old = decoded(kind, record)
        wanted = patched(kind, name, old, body, how)
        check_type(resource, wanted)
        part = concerned(kind, wanted, write.subresource)
        wanted = self._admission.read(kind, part, write, lambda: shown(kind, name, old, body, how))
        check_namespace(resource, namespace, wanted)
        check_identity(record, wanted, must_name_version=False)
        return (yield from self._change(kind, record, wanted, write))

    def _target(self, resource: Resource, namespace: str, name: str, subresource: str) -> tuple[Kind, Record]:
        kind = self._catalog.of(resource)
        if subresource and subresource not in resource.subresources:
            raise refusals.no_such_resource()
        record = self._storage.get(kind.stored, namespace, name)
        if record is None:
            raise refusals.not_found(resource, name)
        return kind, record

    def _change(self, kind: Kind, record: Record, wanted: JsonObject, write: Write) -> Steps[Record]:
        old = decoded(kind, record)
        part = written_part(kind, old, wanted, write.subresource)
        track_update(kind, old, part, write.manager, write.subresource, self._now())
        new = yield from self._settled(kind, old, part, write)
        return (yield from self._stored(kind, record, old, new, write))

    def _settled(self, kind: Kind, old: JsonObject, part: JsonObject, write: Write) -> Steps[JsonObject]:
        """The object as it may be stored: shaped, mutated, checked, counted."""
        now = self._clock.now()
        new = part if write.subresource == "finalize" else self._admission.shape_changed(kind, old, part, now)
        changed = yield from self.mutated(self._review(UPDATE, kind.resource, old, new, write))
        if changed is not None:
            changed = self._admission.read(kind, changed)
            changed = written_part(kind, old, changed, write.subresource)
            new = self._admission.shape_changed(kind, old, changed, now)
        self._admission.check_changed(kind, old, new, write.subresource)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS and old.get("spec") != new.get("spec"):
            write.warnings.extend(format_warnings(new, old))
        if kind.counts:
            count_change(old, new, kind.has_status)
        return new

    def _stored(
        self, kind: Kind, record: Record, old: JsonObject, new: JsonObject, write: Write
    ) -> Steps[Record]:
        review = self._review(UPDATE, kind.resource, old, new, write)
        yield from self.validated(review)
        if self._storage.get(record.resource, record.namespace, record.name) is not record:
            raise Moved
        if new == old:
            return record
        if write.dry_run:
            return make_record(kind.resource, new, record.version)
        self.charge(review)
        if is_finished(kind, new):
            return self._removal.remove(record, stored(kind, new))
        changed = self._storage.put(kind.stored, stored(kind, new))
        self._removal.changed(changed)
        return changed

    # -- server-side apply ------------------------------------------------------------------------------------

    def _apply(
        self, resource: Resource, namespace: str, name: str, body: JsonValue, write: Write
    ) -> Steps[Record]:
        kind = self._catalog.of(resource)
        if write.subresource and write.subresource not in resource.subresources:
            raise refusals.no_such_resource()
        document = _apply_document(resource, namespace, name, body)
        record = self._storage.get(kind.stored, namespace, name)
        if record is None:
            if write.subresource:
                raise refusals.not_found(resource, name)
            sent = {**document, "metadata": dig_object(body, "metadata")}
            fresh, owners = applied(
                kind, {}, sent, write.manager, write.subresource, self._now(), write.force
            )
            start: JsonObject = {**fresh, "metadata": section(document, "metadata")}
            new = yield from self._prepared(kind, namespace, start, write, owners)
            return (yield from self._inserted(kind, new, write))
        check_identity(record, document, must_name_version=False)
        old = decoded(kind, record)
        sent = {**document, "metadata": dig_object(body, "metadata")}
        merged, owners = applied(kind, old, sent, write.manager, write.subresource, self._now(), write.force)
        part = written_part(kind, old, self._admission.read(kind, merged, write), write.subresource)
        write_owners(part, owners)
        new = yield from self._settled(kind, old, part, write)
        return (yield from self._stored(kind, record, old, new, write))

    # -- deleting ---------------------------------------------------------------------------------------------

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions, write: Write
    ) -> Steps[tuple[Record, bool]]:
        """Delete an object, or mark it if it has to wait; returns its last version and whether it is gone."""
        kind, record = self._target(resource, namespace, name, "")
        check_preconditions(record, options)
        review = self._review(DELETE, resource, decoded(kind, record), None, write)
        yield from self.mutated(review)
        yield from self.validated(review)
        if self._storage.get(kind.stored, namespace, name) is not record:
            raise Moved
        if options.dry_run or write.dry_run:
            return record, not lingers(record, options)
        self.charge(review)
        last = self._removal.delete(record, options)
        present = self._storage.get(kind.stored, namespace, name)
        gone = present is None or present.uid != record.uid
        waited = record.resource == CUSTOMRESOURCEDEFINITIONS and bool(finalizers(last.decode()))
        return last, gone and not waited  # a definition answers before its objects go

    # -- reviews ----------------------------------------------------------------------------------------------

    def _review(
        self, operation: str, resource: Resource, old: JsonObject | None, obj: JsonObject | None, write: Write
    ) -> Review:
        metadata = section(obj or old or {}, "metadata")
        name, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
        return self.asked(operation, resource, namespace, name, obj, write, old)

    def asked(
        self,
        operation: str,
        resource: Resource,
        namespace: str,
        name: str,
        obj: JsonObject | None,
        write: Write,
        old: JsonObject | None = None,
    ) -> Review:
        """The question about one write of the object `name`; `obj` may be another kind's, as the body of a subresource is."""
        return Review(
            stage=Stage.MUTATE,
            operation=operation,
            resource=resource,
            namespace=name if resource == NAMESPACES else namespace,
            name=name,
            obj=obj,
            old=old,
            options=write.options,
            subresource=write.subresource,
            dry_run=write.dry_run,
            user=write.user,
            warnings=write.warnings,
        )

    def mutated(self, review: Review) -> Generator[Review, JsonObject | None, JsonObject | None]:
        """Ask gates, then webhooks, to change the object; None if nobody did."""
        obj = review.obj
        review = self._gated(review)
        answer = yield review
        if answer is not None:
            review = self._gated(replace(review, obj=answer, again=True))
        return review.obj if review.obj is not obj else None

    def _gated(self, review: Review) -> Review:
        """The question with the object as the gates want it."""
        for gate in self._gates:
            changed = gate.mutate(review)
            if changed is not None and review.obj is not None:
                review = replace(review, obj=changed)
        return review

    def validated(self, review: Review) -> Generator[Review, JsonObject | None, None]:
        """Ask gates, then webhooks, whether the object may be."""
        review = replace(review, stage=Stage.VALIDATE)
        for gate in self._gates:
            gate.validate(review)
        yield review

    def charge(self, review: Review) -> None:
        """Let the gates count what is about to be committed."""
        for gate in self._gates:
            gate.charge(review)

    def _now(self) -> str:
        return rfc3339(self._clock.now())


def _apply_document(resource: Resource, namespace: str, name: str, body: JsonValue) -> JsonObject:
    if not isinstance(body, dict):
        raise BadRequest("the body of an apply must be an object")
    document: JsonObject = dict(body)
    document["metadata"] = dict(section(document, "metadata"))
    version, kind = text(document.get("apiVersion")), text(document.get("kind"))
    if (version, kind) != (resource.api_version, resource.kind):
        shown = version if "/" in version else f"/{version}"
        raise BadRequest(f"invalid object type: {shown}, Kind={kind}")
    check_namespace(resource, namespace, document)
    metadata = section(document, "metadata")
    metadata.setdefault("name", name)
    if metadata.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    return document
