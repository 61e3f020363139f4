"""The frozen tables of a snapshot. Resource-major, int64 amounts, a row is an index.

Axes: R resources, N nodes, P tasks (pods), J jobs (PodGroups), Q queues, S selectors, A anti-affinity terms,
W preferred terms, K host ports, T taints, L label keys.
Two readings of a node live side by side, as in Volcano: `used` (Volcano's own: terminating pods count, pipelined
ones do not) and `requested` (kube-scheduler's: what nodeorder, ports, affinity and spread see).
At the opening of a session they are equal: every pod with a node that is neither Succeeded nor Failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from vcray.core.arrays import Bool, Int, Int8, Int32

Notes: TypeAlias = tuple[tuple[str, str], ...]
"""Annotations and labels of an object that plugins read (`vcray.api.names`), as sorted pairs; an annotation goes before a
label of the same key."""

MISSING = -1
"""A row that is not there: no node, no job, no label value."""


class Status(IntEnum):
    """Volcano's task statuses."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9


ALLOCATED_STATUS = (Status.BOUND, Status.BINDING, Status.RUNNING, Status.ALLOCATED)
READY_STATUS = (*ALLOCATED_STATUS, Status.SUCCEEDED)
WAITING_STATUS = (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)
STATUSES = len(Status)


class Phase(IntEnum):
    """PodGroup phases; EMPTY until a scheduler has written one."""

    EMPTY = 0
    PENDING = 1
    INQUEUE = 2
    RUNNING = 3
    UNKNOWN = 4
    COMPLETED = 5


PHASE_NAMES = ("", "Pending", "Inqueue", "Running", "Unknown", "Completed")


class QueueState(IntEnum):
    """Queue states; EMPTY counts as Open."""

    EMPTY = 0
    OPEN = 1
    CLOSED = 2
    CLOSING = 3
    UNKNOWN = 4


QUEUE_STATE_NAMES = ("", "Open", "Closed", "Closing", "Unknown")


@dataclass(frozen=True, slots=True)
class Taint:
    """A node taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod toleration; empty `key` with operator Exists tolerates everything, empty `effect` all effects."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a node selector term: operator In, NotIn, Exists, DoesNotExist, Gt, Lt.

    `field` is True for matchFields (only `metadata.name`)."""

    key: str
    operator: str
    values: tuple[str, ...]
    field: bool = False


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A node selector term: all requirements must hold; an empty one matches no node. `weight` for preferred ones."""

    requirements: tuple[Requirement, ...]
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A pod (anti-)affinity term: `selector` is a row of the (S, N) counters, `key` the topology key.

    `weight` for preferred ones (negative for preferred anti-affinity); `self_match`: the pod satisfies its own term."""

    selector: int
    key: str
    weight: int = 0
    self_match: bool = False


@dataclass(frozen=True, slots=True)
class SpreadTerm:
    """A topology spread constraint; `hard` is whenUnsatisfiable DoNotSchedule.

    `selector` is a row of the (S, N) counters (matchLabelKeys already folded in); `system` marks the cluster's
    default constraints, which score pods of a Service or workload that state none of their own."""

    selector: int
    key: str
    max_skew: int
    hard: bool
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    self_match: bool = True
    system: bool = False


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host port as scheduling sees it; ip `0.0.0.0` clashes with every ip of the same protocol and port."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class ContainerAsk:
    """Extended resources that one container asks for, in whole units, sorted by name; `kind` is main, sidecar or init."""

    kind: str
    amounts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ShapeSpec:
    """All that placement reads of a pod: equal pods share one. Hashable, made of plain values, so it can cross a
    process and be interned anywhere. Selector numbers are rows of the snapshot's selector table.

    `requests`: sorted (resource, amount) pairs in the units of `core.space`, `pods` 1 included; `floor`: milli-cpu and
    bytes with the scoring defaults of 100m and 200Mi per container that states none.
    `matches`: selectors (rows) that such a pod satisfies, only live ones. `hold`: why no node may take it yet (a claim
    that is missing or unbound), empty otherwise. `images`: normalised names, for ImageLocality, with `containers` the
    number of containers and init containers. `claims`, `devices`: keys of its volume claims and ResourceClaims, in order
    (`core.storage`, `core.claims_dra`); of a pod with a node only claims that no second pod may use. `asks`: containers that ask for devices; `pinned`: milli-cpu of each container of a
    Guaranteed pod that asks for whole cpus. `guaranteed` and the like are not here until something reads them."""

    requests: tuple[tuple[str, int], ...]
    floor: tuple[int, int] = (0, 0)
    node_selector: tuple[tuple[str, str], ...] = ()
    node_required: tuple[NodeTerm, ...] | None = None
    node_preferred: tuple[NodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadTerm, ...] = ()
    matches: tuple[int, ...] = ()
    images: tuple[str, ...] = ()
    containers: int = 1
    hold: str = ""
    notes: Notes = ()
    claims: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    asks: tuple[ContainerAsk, ...] = ()
    pinned: tuple[int, ...] = ()
    limits: tuple[int, int] = (0, 0)
    """cpu in milli and memory in bytes where the pod's limits are above its requests, else 0."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What plugins read of a pod beside its shape; equal pods share one.

    `priority`: spec.priority as written; `never_preempts`: preemptionPolicy Never; `qos`: the Kubernetes class;
    `preemptable`: `volcano.sh/preemptable`, True where it is absent; `leaving`: it is being deleted; `queue_gated`: it waits for
    nothing but the gate of queue admission, which it asked for."""

    notes: Notes = ()
    priority_class: str = ""
    priority: int | None = None
    never_preempts: bool = False
    qos: str = "BestEffort"
    preemptable: bool = True
    leaving: bool = False
    queue_gated: bool = False


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Node labels as interned columns. `column[keys[k]]` is (N,) i32, a value's number or MISSING;
    `values[keys[k]]` are that key's values by number. A topology domain of key k is such a number."""

    keys: Mapping[str, int]
    values: tuple[tuple[str, ...], ...]
    column: Int32  # (L, N)


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Nodes by row, in no particular order: nothing may depend on it."""

    names: tuple[str, ...]
    allocatable: Int  # (R, N) with oversubscription
    kube_allocatable: Int  # (R, N) status.allocatable alone
    used: Int  # (R, N)
    releasing: Int  # (R, N)
    requested: Int  # (R, N)
    requested_floor: Int  # (2, N) cpu, memory with scoring defaults
    ready: Bool  # (N,)
    unschedulable: Bool  # (N,) spec.unschedulable
    taints: tuple[Taint, ...]
    tainted: Bool  # (T, N)
    labels: LabelColumns
    tie: Int  # (N,) unique rank of BLAKE2b(seed, name), < 2**20; higher wins a tie
    ports: tuple[HostPort, ...]
    port_count: Int32  # (K, N) pods holding that port
    match: Int32  # (S, N) pods that satisfy a selector
    anti_terms: tuple[PodTerm, ...]
    anti_owner: Int32  # (A, N) pods that carry this required anti-affinity term
    preferred_terms: tuple[PodTerm, ...]  # weight 0 here; the weights are in the sums
    preferred_weight: Int  # (W, N) sum of the weights of pods that carry this preferred term
    images: Mapping[str, tuple[Int32, Int]]  # name -> node rows, size in bytes on each
    notes: tuple[Notes, ...]  # annotations per node (`names.NODE_NOTES`)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class TaskTable:
    """Pods that belong to a job of the snapshot. Foreign pods are only in the node sums."""

    names: tuple[str, ...]  # namespace/name
    uids: tuple[str, ...]
    job: Int32  # (P,)
    shape: Int32  # (P,)
    node: Int32  # (P,) MISSING while pending
    status: Int8  # (P,) Status
    priority: Int32  # (P,)
    created: Int  # (P,) seconds
    index: Int32  # (P,) integer after the last dash of names with three or more dash-separated parts, else MISSING
    role: Int32  # (P,) row of Snapshot.roles; 0 is the empty role
    gated: Bool  # (P,) spec.schedulingGates not empty
    nominated: Int32  # (P,) node of status.nominatedNodeName
    facts: Int32  # (P,) row of Snapshot.pod_facts
    labels: Int32  # (P,) row of Snapshot.label_sets
    started: Int  # (P,) seconds of status.startTime, 0 for none
    scheduled: Int  # (P,) seconds when condition PodScheduled became True, 0 when it is not

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Condition:
    """A PodGroup condition; `transition` is its transitionID, `since` its lastTransitionTime (RFC 3339)."""

    type: str
    status: str
    reason: str
    message: str
    transition: str
    since: str


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A PodGroup's status as the API server has it."""

    phase: Phase
    running: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Closeness:
    """A `networkTopology`: how near in the network pods must be (soft: are wanted). `tier`: highestTierAllowed, None when it
    is not stated; then `tier_name`, if any, names it."""

    soft: bool
    tier: int | None
    tier_name: str = ""


@dataclass(frozen=True, slots=True)
class SubGroupPolicy:
    """A `subGroupPolicy`: pods that meet all requirements and have a value for each of `keys` (one at least) form a sub-group
    for each combination of values. `size`: pods that make one ready; `least`: how many must be ready for the job to be."""

    name: str
    requirements: tuple[Requirement, ...]
    keys: tuple[str, ...]
    size: int = 1
    least: int = 0
    closeness: Closeness | None = None


@dataclass(frozen=True, slots=True)
class JobTable:
    """PodGroups by row; one whose queue is missing has queue MISSING and is never scheduled, only reported."""

    names: tuple[str, ...]  # namespace/name, also Volcano's job id
    uids: tuple[str, ...]
    queue: Int32  # (J,)
    queue_names: tuple[str, ...]  # as spelled in spec.queue, for the sentence when it is missing
    min_available: Int32  # (J,)
    priority: Int32  # (J,)
    created: Int  # (J,) seconds
    preemptable: Bool  # (J,)
    min_resources: Int  # (R, J)
    min_resources_set: Bool  # (J,) spec.minResources is there
    min_resources_named: Bool  # (R, J) resource named there
    role_minimum: tuple[tuple[tuple[int, int], ...], ...]  # per job (role, minimum) of spec.minTaskMember
    status: tuple[GroupStatus, ...]
    resource_version: tuple[str, ...]
    requested_gated: Int  # (R, J) sum of the requests of pending gated tasks
    notes: tuple[Notes, ...]  # annotations and labels (`names.GROUP_NOTES`)
    closeness: tuple[Closeness | None, ...]  # spec.networkTopology
    subgroups: tuple[tuple[SubGroupPolicy, ...], ...]  # spec.subGroupPolicy
    never_preempts: Bool  # (J,) its PriorityClass says preemptionPolicy Never
    released: Bool  # (J,) it wants no room now: it has no minimum, and none of its pods is started
    quota_minimum: tuple[tuple[tuple[str, int], ...], ...] = ()
    """Per job the names of minResources that only ResourceQuotas know (`requests.cpu`, `count/pods`), in thousandths; empty
    when no job has one."""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class QueueAffinity:
    """Which node groups a queue uses: `spec.affinity`, required and preferred, to use and to avoid, in the order written."""

    required: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    anti_required: tuple[str, ...] = ()
    anti_preferred: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueTable:
    """Queues by row. `*_named` masks tell a resource that is missing from one that is 0."""

    names: tuple[str, ...]
    uids: tuple[str, ...]
    weight: Int32  # (Q,)
    priority: Int32  # (Q,)
    created: Int  # (Q,) seconds
    parent: Int32  # (Q,) MISSING for root or an unknown parent
    state: Int8  # (Q,) QueueState
    reclaimable: Bool  # (Q,)
    capability: Int  # (R, Q)
    capability_named: Bool  # (R, Q)
    deserved: Int  # (R, Q)
    deserved_named: Bool  # (R, Q)
    guarantee: Int  # (R, Q)
    guarantee_named: Bool  # (R, Q)
    allocated: tuple[
        tuple[tuple[str, int], ...] | None, ...
    ]  # status.allocated as recorded, None when absent
    resource_version: tuple[str, ...]
    notes: tuple[Notes, ...]  # annotations (`names.QUEUE_NOTES`)
    affinity: tuple[QueueAffinity | None, ...] = ()  # empty when no queue has one

    def __len__(self) -> int:
        return len(self.names)
