"""What the cluster says beside pods and nodes, by key: claims, classes, namespaces, Services and owners of pods.

Looked up when a form becomes a shape. Nothing here depends on the order in which objects came.
"""

from __future__ import annotations

from typing import Final

from vcray.cache.details import unpack_row
from vcray.cache.labels import Labels, normalise
from vcray.cache.podspec import SpreadForm, TermForm
from vcray.cache.rows import (
    ClusterRow,
    DetailRow,
    GroupRow,
    NamespaceRow,
    PriorityClassRow,
    QueueRow,
    WorkloadRow,
)
from vcray.core.selectors import satisfies
from vcray.core.snapshot import SelectorSpec
from vcray.core.storage import ClaimRow, StorageClassRow
from vcray.core.tables import Requirement

DEFAULT_SPREAD: Final = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
"""kube-scheduler's default constraints: (topology key, maxSkew), both ScheduleAnyway."""


DRIVER_KINDS: Final = ("CSINode", "CSIDriver")


class Knowledge:
    """Rows of the cluster kinds."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupRow] = {}
        self.queues: dict[str, QueueRow] = {}
        self.claims: dict[str, ClaimRow] = {}
        self.claims_on: dict[str, dict[str, None]] = {}
        """Volume -> claims that name it, whether or not it is there and names them."""
        self.storage_classes: dict[str, StorageClassRow] = {}
        self.priority_classes: dict[str, PriorityClassRow] = {}
        self.namespaces: dict[str, NamespaceRow] = {}
        self.services: dict[str, WorkloadRow] = {}
        self._services_at: dict[tuple[str, str, str], dict[str, WorkloadRow]] = {}
        self.owners: dict[str, WorkloadRow] = {}
        self.details: dict[str, dict[str, object]] = {}
        """Kind -> key -> what is kept, of the kinds of `vcray.cache.details`."""
        self.drivers: frozenset[str] | None = None
        """CSI drivers that anybody names (`vcray.cache.claims`); None when that must be looked up anew."""

    def put(self, row: ClusterRow) -> None:
        """Keep a row."""
        match row:
            case GroupRow():
                self.groups[row.key] = row
            case QueueRow():
                self.queues[row.name] = row
            case ClaimRow():
                self._drop_claim(row.key)
                self.claims[row.key] = row
                if row.volume:
                    self.claims_on.setdefault(row.volume, {})[row.key] = None
            case StorageClassRow():
                self.storage_classes[row.name] = row
            case PriorityClassRow():
                self.priority_classes[row.name] = row
            case NamespaceRow():
                self.namespaces[row.name] = row
            case WorkloadRow():
                kind, key = row.key.split("/", 1)
                if kind == "Service":
                    self._put_service(key, row)
                else:
                    self.owners[row.key] = row
            case DetailRow():
                self.details.setdefault(row.kind, {})[row.key] = unpack_row(row.kind, row.value)
                self.drivers = None if row.kind in DRIVER_KINDS else self.drivers

    def drop(self, kind: str, key: str) -> None:
        """Forget the object of that kind and key."""
        match kind:
            case "PodGroup":
                self.groups.pop(key, None)
            case "Queue":
                self.queues.pop(key, None)
            case "PersistentVolumeClaim":
                self._drop_claim(key)
            case "StorageClass":
                self.storage_classes.pop(key, None)
            case "PriorityClass":
                self.priority_classes.pop(key, None)
            case "Namespace":
                self.namespaces.pop(key, None)
            case "Service":
                self._drop_service(key)
            case "ReplicaSet" | "ReplicationController" | "StatefulSet":
                self.owners.pop(f"{kind}/{key}", None)
            case _:
                self.details.get(kind, {}).pop(key, None)
                self.drivers = None if kind in DRIVER_KINDS else self.drivers

    def _drop_claim(self, key: str) -> None:
        row = self.claims.pop(key, None)
        if row is not None and row.volume:
            del self.claims_on[row.volume][key]
            if not self.claims_on[row.volume]:
                del self.claims_on[row.volume]

    def _put_service(self, key: str, row: WorkloadRow) -> None:
        self._drop_service(key)
        self.services[key] = row
        if row.requirements:
            self._services_at.setdefault(_place(key, row), {})[key] = row

    def _drop_service(self, key: str) -> None:
        row = self.services.pop(key, None)
        if row is not None and row.requirements:
            place = _place(key, row)
            del self._services_at[place][key]
            if not self._services_at[place]:
                del self._services_at[place]

    def job_priority(self, group: GroupRow) -> int:
        """Value of the group's priority class, else of the global default (the smallest of several), else 0."""
        found = self._job_class(group)
        return 0 if found is None else found.value

    def never_preempts(self, group: GroupRow) -> bool:
        """Does that class say preemptionPolicy Never?"""
        found = self._job_class(group)
        return found is not None and found.never

    def _job_class(self, group: GroupRow) -> PriorityClassRow | None:
        found = self.priority_classes.get(group.priority_class)
        if found is not None:
            return found
        defaults = (item for item in self.priority_classes.values() if item.default)
        return min(defaults, key=lambda item: (item.value, item.name), default=None)

    def term_selector(self, term: TermForm) -> SelectorSpec:
        """The selector of an affinity term with its namespace selector resolved to names."""
        if term.namespace_selector is None:
            return SelectorSpec(term.namespaces, term.requirements)
        if not term.namespace_selector:
            return SelectorSpec(None, term.requirements)
        selected = [
            row.name
            for row in self.namespaces.values()
            if satisfies(term.namespace_selector, dict(row.labels))
        ]
        return SelectorSpec(tuple(sorted({*term.namespaces, *selected})), term.requirements)

    def default_spread(self, namespace: str, labels: Labels, owner: str) -> tuple[SpreadForm, ...]:
        """The cluster's default constraints for a pod that states none: only for pods of a Service or workload.

        The selector is what all matching Services select, plus the selector of the pod's controller."""
        requirements: list[Requirement] = []
        mapping = dict(labels)
        for key, value in labels if self._services_at else ():
            for service in self._services_at.get((namespace, key, value), {}).values():
                if satisfies(service.requirements, mapping):
                    requirements += service.requirements
        if owner:
            kind, _, name = owner.partition("/")
            found = self.owners.get(f"{kind}/{namespace}/{name}")
            requirements += found.requirements if found else ()
        if not requirements:
            return ()
        selector = normalise(requirements)
        return tuple(
            SpreadForm(namespace, selector, key, skew, False, 1, True, False) for key, skew in DEFAULT_SPREAD
        )


def _place(key: str, row: WorkloadRow) -> tuple[str, str, str]:
    """Namespace and the first label that a Service selects on: where pods of it are looked up."""
    first = row.requirements[0]
    return key.partition("/")[0], first.key, first.values[0]
