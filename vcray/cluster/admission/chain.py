"""From what a client sent to what is stored: read by its type, completed by the rules of its kind, checked.

The order is the API server's: decode with defaults (`read`), then what the server itself writes and the mutating rules
(`shape_new`, `shape_changed`), then validation (`check_new`, `check_changed`).
"""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, ENDPOINTS, PODS, SERVICES
from vcray.clock import rfc3339
from vcray.cluster.admission.podrules import check_pod_update
from vcray.cluster.admission.pods import (
    first_status,
    resolve_priority,
    resolve_runtime,
    tolerate_node_troubles,
)
from vcray.cluster.definitions.registrar import check_definition, complete, complete_new
from vcray.cluster.kinds.checks.kinds import validate_changed, validate_new
from vcray.cluster.kinds.checks.labels import metadata_faults
from vcray.cluster.kinds.services import ServiceAddresses
from vcray.cluster.kinds.strategies import prepare_changed, prepare_new, sign_for
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.record import dig, section, text
from vcray.cluster.objects.storage import Storage
from vcray.cluster.objects.write import PLAIN, Write
from vcray.cluster.schema.reading import Shown, read
from vcray.cluster.schema.scales import scale_faults
from vcray.cluster.schema.validation import validate


class Admission:
    """The rules that new and changed objects pass through."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._addresses = ServiceAddresses(storage)

    def read(
        self, kind: Kind, obj: JsonObject, write: Write = PLAIN, patch: Shown | None = None
    ) -> JsonObject:
        """An object as sent, decoded by its type and with defaults. `patch` shows the outcome of one.

        Raises BadRequest or Invalid for what its type cannot hold, and for unknown fields where the write asks for it.
        """
        if kind.resource == ENDPOINTS and write is not PLAIN:
            write.warnings.append(
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
            )
        return read(kind, obj, write.validation, write.warnings, write.repeated, patch)

    def shape_new(self, kind: Kind, obj: JsonObject, now: float, write: Write = PLAIN) -> JsonObject:
        """A new object completed by the server, before anybody is asked. Raises Forbidden or Invalid."""
        resource = kind.resource
        if kind.custom:
            if kind.has_status:
                obj.pop("status", None)
            return obj
        prepare_new(
            resource.full_name, resource.api_version, resource.kind, obj, rfc3339(now), kind.has_status
        )
        if resource == PODS:
            self._new_pod(obj, now)
        elif resource == SERVICES:
            self._addresses.complete(obj, None)
        elif resource == CUSTOMRESOURCEDEFINITIONS:
            complete_new(obj)
        elif resource.plural == "certificatesigningrequests":
            sign_for(obj, write.user)
        return obj

    def check_new(self, kind: Kind, obj: JsonObject) -> None:
        """Refuse a new object that breaks its schema or the rules of its kind. Raises Invalid."""
        if kind.schema is not None:
            causes = [*metadata_faults(kind.resource, obj), *validate(obj, kind.schema)]
            causes += scale_faults(obj, kind.version.scale if kind.version else None)
        else:
            causes = validate_new(kind.resource, obj)
        self._refuse(kind, obj, causes)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS:
            check_definition(obj, None)

    def shape_changed(self, kind: Kind, old: JsonObject, obj: JsonObject, now: float) -> JsonObject:
        """A changed object completed by the server, before anybody is asked; `old` is what it was."""
        if kind.custom:
            return obj
        prepare_changed(kind.resource.full_name, old, obj, rfc3339(now))
        if kind.resource == PODS:
            tolerate_node_troubles(section(obj, "spec"))
        elif kind.resource == SERVICES:
            self._addresses.complete(obj, old)
        elif kind.resource == CUSTOMRESOURCEDEFINITIONS:
            complete(obj)
        return obj

    def check_changed(self, kind: Kind, old: JsonObject, obj: JsonObject, subresource: str = "") -> None:
        """Refuse a change that breaks the schema or the rules of the kind. Raises Invalid."""
        if kind.resource == PODS and subresource not in ("ephemeralcontainers", "resize"):
            check_pod_update(old, obj)
        if kind.schema is not None:
            same = old.get("metadata") == obj.get("metadata")
            told = () if same else metadata_faults(kind.resource, obj)
            causes = [*told, *validate(obj, kind.schema, old)]
            causes += scale_faults(obj, kind.version.scale if kind.version else None, subresource)
        else:
            causes = validate_changed(kind.resource, old, obj)
        self._refuse(kind, obj, causes)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS:
            check_definition(obj, old)

    @staticmethod
    def _refuse(kind: Kind, obj: JsonObject, causes: list[str]) -> None:
        if causes:
            raise refusals.invalid(kind.resource, text(dig(obj, "metadata", "name")), causes)

    def _new_pod(self, obj: JsonObject, now: float) -> None:
        tolerate_node_troubles(section(obj, "spec"))
        resolve_priority(obj, self._storage)
        resolve_runtime(obj, self._storage)
        first_status(obj, rfc3339(now))
