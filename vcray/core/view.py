"""The read-only window that hooks receive: snapshot columns plus the session's live sums.

`LiveNodes`, `LiveJobs` and `LiveQueues` are owned and changed by the ledger alone; a hook reads them. `Rows` is one view
of some node rows, real or hypothetical (`copies` more pods of the shape already there).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from vcray.core.arrays import Bool, Float, FloatLike, Int, Int8, Int32, IntLike
from vcray.core.hypernodes import HyperNodes
from vcray.core.queuetree import QueueTree
from vcray.core.snapshot import Snapshot
from vcray.core.space import ResourceSpace
from vcray.core.subjobs import SubJobs
from vcray.core.tables import ShapeSpec

if TYPE_CHECKING:
    from vcray.core.gates import Gates
    from vcray.core.hyperuse import HyperUse


@dataclass(slots=True, eq=False)
class Shape:
    """A shape of this snapshot: its spec plus the request as a vector and as Python lists.

    `nonzero`: rows of R requested (pods included); `nonzero_but_pods` likewise without pods. `best_effort`: requests
    nothing but its pod slot. `row` is its number in the snapshot. `keys`: what plugins added to the placement class of the
    job that asks (`class_key`), by plugin name, without those that added None; only on the shape of a class."""

    row: int
    spec: ShapeSpec
    request: Int  # (R,)
    req: list[int]  # the same as Python numbers
    nonzero: tuple[int, ...]
    nonzero_but_pods: tuple[int, ...]
    best_effort: bool
    ports: tuple[int, ...]  # rows of the (K, N) port counters that it takes
    port_clashes: tuple[int, ...]  # rows that it must find at 0
    keys: Mapping[str, object] = field(default_factory=dict)


class Rows(Protocol):
    """Some node rows. Amounts are indexed by resource row: `rows.used[r]` is a number or a (k,) column.

    `index`: node rows; `copies`: None, or how many more pods of the shape are already assumed on each (then `idle`,
    `used`, `requested`, `requested_floor` and `port_count` include them)."""

    @property
    def index(self) -> IntLike: ...
    @property
    def copies(self) -> IntLike | None: ...
    @property
    def allocatable(self) -> Sequence[IntLike]: ...
    @property
    def kube_allocatable(self) -> Sequence[IntLike]: ...
    @property
    def idle(self) -> Sequence[IntLike]: ...
    @property
    def used(self) -> Sequence[IntLike]: ...
    @property
    def requested(self) -> Sequence[IntLike]: ...
    @property
    def requested_floor(self) -> Sequence[IntLike]: ...
    @property
    def port_count(self) -> Sequence[IntLike]: ...

    def take(self, column: Int | Bool | Int32 | Float) -> FloatLike | IntLike:
        """Values of a (N,) column at these rows."""
        ...


@dataclass(slots=True, eq=False)
class LiveNodes:
    """Node sums of the session; static columns are in `view.snapshot.nodes`. Changed by the ledger only.

    idle = allocatable - used; future = idle + releasing - pipelined (may be negative).
    `used` does not see pipelined pods, `requested` and the counters do."""

    used: Int  # (R, N)
    idle: Int  # (R, N)
    releasing: Int  # (R, N)
    pipelined: Int  # (R, N)
    future: Int  # (R, N)
    requested: Int  # (R, N)
    requested_floor: Int  # (2, N)
    port_count: Int32  # (K, N)
    match: Int32  # (S, N)
    anti_owner: Int32  # (A, N)
    preferred_weight: Int  # (W, N)


@dataclass(slots=True, eq=False)
class LiveJobs:
    """Job sums of the session.

    `allocated`: requests of Bound, Binding, Running, Allocated tasks; `claimed`: plus Pipelined, what drf and proportion
    see. `phase`: Phase, with admissions of this session in it. `count[s, j]`: tasks of job j in status s."""

    count: Int32  # (10, J)
    allocated: Int  # (R, J)
    claimed: Int  # (R, J)
    pending_best_effort: Int32  # (J,)
    phase: Int8  # (J,)
    role_count: Mapping[tuple[int, int], list[int]] = field(default_factory=dict)
    """(job, role) -> tasks by status, plus one last entry: pending best-effort ones; only jobs with role minimums."""


@dataclass(slots=True, eq=False)
class LiveQueues:
    """Sums of each queue's own jobs: `allocated` by status, `claimed` with pipelined tasks (R, Q); `claimed_list[q][r]` is
    `claimed` as Python numbers, kept in step, for hooks asked every turn, and `subtree_list[q][r]` what the queue and all
    below it claim. `upward[q]`: the lists of `subtree_list` that a charge of queue q goes to. `charges[q]` counts the
    changes of queue q's sums, rollbacks included. Lists are changed in place."""

    allocated: Int  # (R, Q)
    claimed: Int  # (R, Q)
    claimed_list: list[list[int]]
    subtree_list: list[list[int]]
    upward: list[tuple[list[int], ...]]
    charges: list[int]


@dataclass(slots=True, eq=False)
class View:
    """Snapshot and live sums. `total` (R,) is what can be shared out: allocatable of nodes that are Ready and schedulable,
    oversubscription included, plus what runs on the others."""

    snapshot: Snapshot
    space: ResourceSpace
    total: Int
    shapes: Sequence[Shape]
    requests: Int
    """(R, S) what a pod of each shape requests."""
    best_effort: Bool
    """(S,) do pods of a shape request nothing but their slot?"""
    nodes: LiveNodes
    jobs: LiveJobs
    queues: LiveQueues
    tree: QueueTree
    jobs_of_queue: Sequence[Int]
    tasks_of_job: Sequence[Int]
    """Per job all its task rows of the snapshot, any status, in row order."""
    status: Int8
    """(P,) live task status."""
    session: str
    """Identity of this round, written as transitionID: derived from the generation, not from dice."""
    hypernodes: HyperNodes
    """The nodes' place in the network."""
    subjobs: SubJobs
    """Parts of the jobs that have a topology or sub-groups."""
    node: list[int]
    """Live node row of each task, MISSING for none."""
    hyperuse: HyperUse = field(init=False)
    """What is requested inside each HyperNode; there once the ledger is."""
    gates: Gates | None = None
    """Pods that are admitted by their queue; None when the policy does not see to that."""
