"""From what a client sent to what is stored: unknown fields dropped, defaults filled in, rules of single kinds applied,
the whole checked against its schema.

The order is the API server's: prune and default, then the mutating rules, then validation.
"""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    DAEMONSETS,
    DEPLOYMENTS,
    JOBS,
    KUBERNETES_JOBS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SERVICES,
    STATEFULSETS,
    Resource,
)
from vcray.clock import rfc3339
from vcray.cluster.admission.podrules import check_pod_update, missing_in_pod_spec
from vcray.cluster.admission.pods import default_pod, default_pod_spec, first_status, resolve_priority
from vcray.cluster.definitions.registrar import check_definition, complete, complete_new
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.record import dig, section, text
from vcray.cluster.objects.storage import Storage
from vcray.cluster.schema.defaulting import apply_defaults
from vcray.cluster.schema.pruning import drop_nulls, prune
from vcray.cluster.schema.validation import validate
from vcray.webhooks.jobs_defaults import default_job

EXEMPT_NAMESPACES = ("kube-system", "volcano-system")
"""Namespaces that Volcano's admission passes over."""

_FIRST_STATUS: dict[Resource, JsonObject] = {
    NAMESPACES: {"phase": "Active"},
    PERSISTENTVOLUMES: {"phase": "Pending"},
    PERSISTENTVOLUMECLAIMS: {"phase": "Pending"},
    SERVICES: {"loadBalancer": {}},
}
_WITH_TEMPLATE = frozenset(
    {DAEMONSETS, DEPLOYMENTS, KUBERNETES_JOBS, REPLICASETS, REPLICATIONCONTROLLERS, STATEFULSETS}
)


class Admission:
    """The rules that new and changed objects pass through."""

    def __init__(self, storage: Storage, scheduler_name: str) -> None:
        self._storage = storage
        self._scheduler_name = scheduler_name

    def shape(self, kind: Kind, obj: JsonObject) -> None:
        """Prune and default a custom object, default the pod template of a workload, in place."""
        if kind.schema is not None:
            prune(obj, kind.schema)
            apply_defaults(obj, kind.schema)
            drop_nulls(obj, kind.schema)
        elif kind.resource in _WITH_TEMPLATE:
            template = dig(obj, "spec", "template", "spec")
            if isinstance(template, dict):
                default_pod_spec(template)

    def check(self, kind: Kind, obj: JsonObject, old: JsonObject | None = None) -> None:
        """Validate custom objects against their schema, pods and pod templates for what they need. Raises Invalid."""
        causes: list[str] = []
        if kind.schema is not None:
            causes = validate(obj, kind.schema, old)
        elif kind.resource == PODS:
            causes = missing_in_pod_spec(section(obj, "spec"), "spec")
        elif kind.resource in _WITH_TEMPLATE:
            template = dig(obj, "spec", "template", "spec")
            causes = missing_in_pod_spec(template, "spec.template.spec") if isinstance(template, dict) else []
        if causes:
            raise refusals.invalid(kind.resource, text(dig(obj, "metadata", "name")), causes)

    def shape_new(self, kind: Kind, obj: JsonObject, now: float) -> JsonObject:
        """A new object pruned, with defaults and its first status, before anybody is asked. Raises Forbidden."""
        resource = kind.resource
        if kind.has_status and resource != NODES:
            obj.pop("status", None)
        self.shape(kind, obj)
        if resource == JOBS and text(dig(obj, "metadata", "namespace")) not in EXEMPT_NAMESPACES:
            obj = default_job(obj, self._scheduler_name)
        elif resource == PODS:
            self._new_pod(obj, now)
        elif resource == NAMESPACES:
            section(obj, "spec")["finalizers"] = ["kubernetes"]
            self._name_label(obj)
        elif resource == CUSTOMRESOURCEDEFINITIONS:
            complete_new(obj)
        if resource in _FIRST_STATUS:
            obj["status"] = dict(_FIRST_STATUS[resource])
        return obj

    def check_new(self, kind: Kind, obj: JsonObject) -> None:
        """Refuse a new object that breaks its schema or the rules of its kind. Raises Invalid."""
        self.check(kind, obj)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS:
            check_definition(obj, None)

    def shape_changed(self, kind: Kind, old: JsonObject, obj: JsonObject) -> JsonObject:
        """A changed object pruned and with defaults, before anybody is asked; `old` is what it was."""
        self.shape(kind, obj)
        if kind.resource == PODS:
            default_pod(obj)
        elif kind.resource == CUSTOMRESOURCEDEFINITIONS:
            complete(obj)
        return obj

    def check_changed(self, kind: Kind, old: JsonObject, obj: JsonObject) -> None:
        """Refuse a change that breaks the schema or the rules of the kind. Raises Invalid."""
        if kind.resource == PODS:
            check_pod_update(old, obj)
        self.check(kind, obj, old)
        if kind.resource == CUSTOMRESOURCEDEFINITIONS:
            check_definition(obj, old)

    def _new_pod(self, obj: JsonObject, now: float) -> None:
        default_pod(obj)
        resolve_priority(obj, self._storage)
        first_status(obj, rfc3339(now))

    @staticmethod
    def _name_label(obj: JsonObject) -> None:
        metadata = section(obj, "metadata")
        section(metadata, "labels")["kubernetes.io/metadata.name"] = metadata.get("name")
