"""What is kept of each object: one frozen row of plain values a kind, by name, without any number of a table.

Rows cross processes and compare by value: an update that leaves the row equal (a heartbeat, a label nobody reads)
costs nothing further on.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from vcray.cache.amounts import Amounts
from vcray.cache.labels import Labels
from vcray.cache.podspec import PodForm
from vcray.core.storage import ClaimRow, StorageClassRow
from vcray.core.tables import (
    Closeness,
    GroupStatus,
    Notes,
    PodFacts,
    QueueAffinity,
    Requirement,
    SubGroupPolicy,
    Taint,
)


class PodRow(NamedTuple):
    """A pod. `owner` is `Kind/name` of its controller while it waits, else empty; `claims` are its volume claims and `devices`
    its ResourceClaims (`podspec.devices_of`) while it waits or is on a node."""

    key: str  # namespace/name
    uid: str
    version: int  # resourceVersion as a number, 0 if it has none
    job: str  # namespace/group, or empty
    node: str  # spec.nodeName, or empty
    status: int
    priority: int
    created: int
    ordinal: int  # of the name, or MISSING
    role: str
    gated: bool
    nominated: str
    form: PodForm
    labels: Labels
    owner: str
    claims: tuple[tuple[str, bool], ...]
    facts: PodFacts = PodFacts()
    started: int = 0
    scheduled: int = 0
    devices: tuple[str, ...] = ()


class NodeRow(NamedTuple):
    """A node; `allocatable` includes oversubscription."""

    name: str
    version: int
    allocatable: Amounts
    kube_allocatable: Amounts
    ready: bool
    unschedulable: bool
    taints: tuple[Taint, ...]
    labels: Labels
    images: tuple[tuple[str, int], ...]  # (normalised name, bytes)
    notes: Notes = ()
    capacity: tuple[int, int] = (0, 0)  # cpu, memory of status.capacity with oversubscription


class GroupRow(NamedTuple):
    """A PodGroup: a job of the snapshot."""

    key: str
    uid: str
    resource_version: str
    queue: str
    min_available: int
    priority_class: str
    created: int
    preemptable: bool
    min_resources: Amounts | None
    role_minimum: tuple[tuple[str, int], ...]
    status: GroupStatus
    notes: Notes = ()
    closeness: Closeness | None = None
    subgroups: tuple[SubGroupPolicy, ...] = ()
    quota_minimum: Amounts = ()
    released: bool = False


class QueueRow(NamedTuple):
    """A queue."""

    name: str
    uid: str
    resource_version: str
    weight: int
    priority: int
    created: int
    parent: str
    state: int
    reclaimable: bool
    capability: Amounts
    deserved: Amounts
    guarantee: Amounts
    allocated: Amounts | None
    notes: Notes = ()
    affinity: QueueAffinity | None = None


class PriorityClassRow(NamedTuple):
    """A priority class."""

    name: str
    value: int
    default: bool
    never: bool = False  # preemptionPolicy Never


class NamespaceRow(NamedTuple):
    """A namespace, for namespace selectors."""

    name: str
    labels: Labels


class WorkloadRow(NamedTuple):
    """A Service (`Service/namespace/name`) or an owner of pods (`ReplicaSet/namespace/name` and the like) with the
    requirements of its selector; empty when it selects nothing."""

    key: str
    requirements: tuple[Requirement, ...]


class DetailRow(NamedTuple):
    """An object of one of the kinds of `vcray.cache.details`; `value` is what is kept of it, as msgpack."""

    kind: str
    key: str
    value: bytes


ClusterRow: TypeAlias = (
    GroupRow
    | QueueRow
    | ClaimRow
    | StorageClassRow
    | PriorityClassRow
    | NamespaceRow
    | WorkloadRow
    | DetailRow
)
"""A row of a kind that is not spread over shards."""
