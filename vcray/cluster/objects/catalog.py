"""What the store serves and by which rules: one `Kind` a resource.

Volcano's kinds come with the schema of their CRD; for Kubernetes' own kinds the rules that matter here stand in the
tables below. Further kinds can be added, as a CRD does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vcray.api.crds import schema_for
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CUSTOMRESOURCEDEFINITIONS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVENTS,
    EVENTS_V1,
    KUBERNETES_CRONJOBS,
    KUBERNETES_JOBS,
    KUBERNETES_RESOURCES,
    LEASES,
    NETWORKPOLICIES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    STATEFULSETS,
    VOLCANO_RESOURCES,
    Resource,
)
from vcray.cluster.changes.structures import structure_of
from vcray.cluster.objects import refusals

_COUNTED = frozenset(
    {
        PODS,
        DEPLOYMENTS,
        REPLICASETS,
        STATEFULSETS,
        DAEMONSETS,
        KUBERNETES_JOBS,
        KUBERNETES_CRONJOBS,
        REPLICATIONCONTROLLERS,
        PODDISRUPTIONBUDGETS,
        PRIORITYCLASSES,
        NETWORKPOLICIES,
        CUSTOMRESOURCEDEFINITIONS,
    }
)
_UNTRACKED = frozenset({PODS, NODES, EVENTS, EVENTS_V1, LEASES})


@dataclass(frozen=True, slots=True)
class Kind:
    """The rules of one resource.

    `schema` is the CRD's openAPIV3Schema (None for built-in kinds); `structure` tells list types and merge keys.
    `counts` says whether `metadata.generation` is kept. `tracks` says whether ordinary writes are recorded in
    `managedFields`; where not, only objects that were applied have them.
    """

    resource: Resource
    schema: JsonObject | None
    structure: JsonObject
    counts: bool
    tracks: bool

    @property
    def custom(self) -> bool:
        """True for kinds that a CRD brings."""
        return self.schema is not None

    @property
    def has_status(self) -> bool:
        """True if the status is written through a subresource of its own."""
        return "status" in self.resource.subresources


def _built_in(resource: Resource) -> Kind:
    structure = structure_of(resource)
    return Kind(resource, None, structure, resource in _COUNTED, resource not in _UNTRACKED)


def custom_kind(resource: Resource, schema: JsonObject) -> Kind:
    """A kind as its CRD describes it."""
    return Kind(resource, schema, structure_of(resource, schema), counts=True, tracks=True)


class Catalog:
    """The served kinds by group, version and plural."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_resource: dict[Resource, Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve one more kind."""
        resource = kind.resource
        self._by_path[resource.group, resource.version, resource.plural] = kind
        self._by_resource[resource] = kind
        self._by_kind[resource.api_version, resource.kind] = kind

    def at(self, group: str, version: str, plural: str) -> Kind:
        """The kind served under a path. ResourceMissing if there is none."""
        kind = self._by_path.get((group, version, plural))
        if kind is None:
            raise refusals.no_such_resource()
        return kind

    def of(self, resource: Resource) -> Kind:
        """The rules of a resource. ResourceMissing if it is not served."""
        kind = self._by_resource.get(resource)
        if kind is None:
            raise refusals.no_such_resource()
        return kind

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The kind that objects call themselves by, if it is served."""
        return self._by_kind.get((api_version, kind))

    def resources(self) -> list[Resource]:
        """All served resources."""
        return list(self._by_resource)


def default_catalog() -> Catalog:
    """Kubernetes' kinds that vcray uses, and all Volcano kinds by their CRDs."""
    custom = [custom_kind(item, schema_for(item.kind, item.api_version)) for item in VOLCANO_RESOURCES]
    return Catalog([*map(_built_in, KUBERNETES_RESOURCES), *custom])
