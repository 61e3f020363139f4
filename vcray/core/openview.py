"""Opens a session: a snapshot's columns become the live sums that the ledger then moves.

Node sums live in one int64 matrix, so that a placement is one indexed addition and a node's row one gather; the arrays
of `LiveNodes` are windows on it. Sums per job use exact integer addition, never float weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import overload

import numpy as np

from vcray.core.arrays import Bool, Int, Int32
from vcray.core.hypernodes import hypernodes_of
from vcray.core.queuetree import QueueTree, queue_tree
from vcray.core.snapshot import Snapshot
from vcray.core.space import CPU, MEMORY, PODS, ResourceSpace
from vcray.core.subjobs import find_subjobs, requests_nothing
from vcray.core.tables import (
    ALLOCATED_STATUS,
    MISSING,
    STATUSES,
    HostPort,
    NodeTable,
    Phase,
    ShapeSpec,
    Status,
)
from vcray.core.view import LiveJobs, LiveNodes, LiveQueues, Shape, View

ANY_IP = "0.0.0.0"


class Groups(Sequence[Int]):
    """Row numbers grouped by another row: `groups[g]` is an array; one sorted array and offsets behind it."""

    __slots__ = ("offsets", "rows")

    def __init__(self, owner: Int32 | Int, size: int) -> None:
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner[owner >= 0], minlength=size)
        skipped = int((owner < 0).sum())
        self.rows: Int = order[skipped:].astype(np.int64)
        self.offsets: list[int] = np.concatenate(([0], np.cumsum(counts))).tolist()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, group: int) -> Int: ...
    @overload
    def __getitem__(self, group: slice) -> Sequence[Int]: ...
    def __getitem__(self, group: int | slice) -> Int | Sequence[Int]:
        if isinstance(group, slice):
            return [self[g] for g in range(*group.indices(len(self)))]
        if group < 0 or group >= len(self):
            raise IndexError(group)
        return self.rows[self.offsets[group] : self.offsets[group + 1]]

    def __iter__(self) -> Iterator[Int]:
        return (self[g] for g in range(len(self)))


def by_owner(owners: Int32 | Int, rows: Int) -> Iterator[tuple[int, list[int]]]:
    """(owner, its rows) for each owner of any of the rows, rising; one owner a row."""
    order = np.argsort(owners, kind="stable")
    sorted_owners, sorted_rows = owners[order], rows[order].tolist()
    starts = np.flatnonzero(np.diff(sorted_owners, prepend=-1))
    ends = pairwise([*starts.tolist(), len(sorted_rows)])
    for owner, (start, end) in zip(sorted_owners[starts].tolist(), ends, strict=True):
        yield owner, sorted_rows[start:end]


@dataclass(frozen=True, slots=True)
class NodeMatrix:
    """All node sums as rows of `block` (M, N); `start[name]` is the first row of each part.

    The first `visible` rows are what a row hook may see: used, idle, future, requested, requested_floor, allocatable,
    kube_allocatable. Then releasing and pipelined."""

    block: Int
    resources: int
    visible: int
    start: Mapping[str, int]

    def part(self, name: str) -> Int:
        """The rows of a part, as a window."""
        first = self.start[name]
        return self.block[first : first + (2 if name == "requested_floor" else self.resources)]


PARTS = ("used", "idle", "future", "requested", "requested_floor", "allocatable", "kube_allocatable")
HIDDEN = ("releasing", "pipelined")


def node_matrix(nodes: NodeTable, resources: int) -> NodeMatrix:
    """Copies the table's columns into one matrix; nothing is pipelined yet."""
    start: dict[str, int] = {}
    row = 0
    for name in PARTS:
        start[name] = row
        row += 2 if name == "requested_floor" else resources
    visible = row
    for name in HIDDEN:
        start[name] = row
        row += resources
    matrix = NodeMatrix(np.zeros((row, len(nodes)), dtype=np.int64), resources, visible, start)
    matrix.part("used")[:] = nodes.used
    matrix.part("idle")[:] = nodes.allocatable - nodes.used
    matrix.part("future")[:] = matrix.part("idle") + nodes.releasing
    matrix.part("requested")[:] = nodes.requested
    matrix.part("requested_floor")[:] = nodes.requested_floor
    matrix.part("allocatable")[:] = nodes.allocatable
    matrix.part("kube_allocatable")[:] = nodes.kube_allocatable
    matrix.part("releasing")[:] = nodes.releasing
    return matrix


def build_shape(row: int, spec: ShapeSpec, space: ResourceSpace, ports: Mapping[HostPort, int]) -> Shape:
    """A shape with its vectors for this resource space and port table."""
    request = space.vector(dict(spec.requests))
    req: list[int] = request.tolist()
    nonzero = tuple(r for r, amount in enumerate(req) if amount)
    clashes = {
        other
        for want in spec.ports
        for port, other in ports.items()
        if port.protocol == want.protocol
        and port.port == want.port
        and (port.ip == want.ip or ANY_IP in (port.ip, want.ip))
    }
    return Shape(
        row=row,
        spec=spec,
        request=request,
        req=req,
        nonzero=nonzero,
        nonzero_but_pods=tuple(r for r in nonzero if r != PODS),
        best_effort=requests_nothing(spec),
        ports=tuple(sorted({ports[port] for port in spec.ports})),
        port_clashes=tuple(sorted(clashes)),
    )


def fit_rows(shape: Shape, space: ResourceSpace) -> tuple[int, ...]:
    """Resources that decide whether a node has room: cpu and memory always, and all that the pod names, 0 included."""
    return tuple(sorted({CPU, MEMORY} | {space.rows[name] for name, _ in shape.spec.requests}))


def _live_jobs(snapshot: Snapshot, shapes: Sequence[Shape], requests: Int, best_effort: Bool) -> LiveJobs:
    tasks, jobs, resources = snapshot.tasks, snapshot.jobs, len(snapshot.space)
    size = len(jobs)
    flat = tasks.job.astype(np.int64) * STATUSES + tasks.status
    count = np.bincount(flat, minlength=size * STATUSES).reshape(size, STATUSES).T.astype(np.int32)
    allocated = np.zeros((resources, size), dtype=np.int64)
    claimed = np.zeros((resources, size), dtype=np.int64)
    holds = np.flatnonzero(np.isin(tasks.status, ALLOCATED_STATUS))
    promised = np.flatnonzero(tasks.status == Status.PIPELINED)
    for r in range(resources):
        np.add.at(allocated[r], tasks.job[holds], requests[r, tasks.shape[holds]])
        np.add.at(claimed[r], tasks.job[promised], requests[r, tasks.shape[promised]])
    claimed += allocated
    pending = tasks.status == Status.PENDING
    waiting = tasks.job[pending & best_effort[tasks.shape]] if len(shapes) else tasks.job[:0]
    role_count = _role_counts(snapshot, shapes)
    phase = np.array([status.phase for status in jobs.status], dtype=np.int8)
    phase[jobs.released] = Phase.PENDING
    return LiveJobs(
        count=count,
        allocated=allocated,
        claimed=claimed,
        pending_best_effort=np.bincount(waiting, minlength=size).astype(np.int32),
        phase=phase,
        role_count=role_count,
    )


def _role_counts(snapshot: Snapshot, shapes: Sequence[Shape]) -> dict[tuple[int, int], list[int]]:
    jobs, tasks = snapshot.jobs, snapshot.tasks
    with_roles = [job for job, minimums in enumerate(jobs.role_minimum) if minimums]
    if not with_roles:
        return {}
    counts = {(job, role): [0] * (STATUSES + 1) for job in with_roles for role, _ in jobs.role_minimum[job]}
    marked = np.zeros(len(jobs), dtype=bool)
    marked[with_roles] = True
    rows = np.flatnonzero(marked[tasks.job])
    columns = (tasks.job, tasks.role, tasks.status, tasks.shape)
    for job, role, status, shape in zip(*(column[rows].tolist() for column in columns), strict=True):
        entry = counts.setdefault((job, role), [0] * (STATUSES + 1))
        entry[status] += 1
        entry[STATUSES] += status == Status.PENDING and shapes[shape].best_effort
    return counts


def _live_queues(snapshot: Snapshot, jobs: LiveJobs, tree: QueueTree) -> LiveQueues:
    size, resources = len(snapshot.queues), len(snapshot.space)
    allocated = np.zeros((resources, size), dtype=np.int64)
    claimed = np.zeros((resources, size), dtype=np.int64)
    owned = np.flatnonzero(snapshot.jobs.queue != MISSING)
    queue = snapshot.jobs.queue[owned]
    for r in range(resources):
        np.add.at(allocated[r], queue, jobs.allocated[r, owned])
        np.add.at(claimed[r], queue, jobs.claimed[r, owned])
    subtree = np.zeros((size, resources), dtype=np.int64)
    for own, path in zip(claimed.T, tree.paths, strict=True):
        subtree[list(path)] += own
    sums: list[list[int]] = subtree.tolist()
    upward = [tuple(sums[at] for at in path) for path in tree.paths]
    return LiveQueues(allocated, claimed, claimed.T.tolist(), sums, upward, [0] * size)


def cluster_total(nodes: NodeTable) -> Int:
    """(R,) allocatable of the nodes that are Ready and schedulable, plus what runs on the others.

    Volcano counts every node; a cordoned one then inflates every queue's share."""
    usable = nodes.ready & ~nodes.unschedulable
    total: Int = nodes.allocatable[:, usable].sum(axis=1) + nodes.used[:, ~usable].sum(axis=1)
    return total


def session_id(snapshot: Snapshot) -> str:
    """An id in the form of a UUID, the same for the same snapshot."""
    text = f"{snapshot.generation}/{snapshot.now!r}/{snapshot.seed}"
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


def open_view(snapshot: Snapshot) -> tuple[View, NodeMatrix]:
    """The view of a fresh session, and the matrix behind `view.nodes` for the ledger and the row views."""
    nodes, space = snapshot.nodes, snapshot.space
    matrix = node_matrix(nodes, len(space))
    ports = {port: row for row, port in enumerate(nodes.ports)}
    shapes = [build_shape(row, spec, space, ports) for row, spec in enumerate(snapshot.shapes)]
    live_nodes = LiveNodes(
        **{name: matrix.part(name) for name in ("used", "idle", "future", "requested", "requested_floor")},
        releasing=matrix.part("releasing"),
        pipelined=matrix.part("pipelined"),
        port_count=nodes.port_count.copy(),
        match=nodes.match.copy(),
        anti_owner=nodes.anti_owner.copy(),
        preferred_weight=nodes.preferred_weight.copy(),
    )
    rows = np.array([shape.req for shape in shapes], dtype=np.int64).reshape(len(shapes), len(space))
    requests = np.ascontiguousarray(rows.T)
    best_effort = np.array([shape.best_effort for shape in shapes], dtype=bool)
    jobs = _live_jobs(snapshot, shapes, requests, best_effort)
    tree = queue_tree(snapshot.queues)
    tasks_of_job = Groups(snapshot.tasks.job, len(snapshot.jobs))
    hypernodes = hypernodes_of(snapshot.details.hypernodes, nodes.names)
    view = View(
        snapshot=snapshot,
        space=space,
        total=cluster_total(nodes),
        shapes=shapes,
        requests=requests,
        best_effort=best_effort,
        nodes=live_nodes,
        jobs=jobs,
        queues=_live_queues(snapshot, jobs, tree),
        tree=tree,
        jobs_of_queue=Groups(snapshot.jobs.queue, len(snapshot.queues)),
        tasks_of_job=tasks_of_job,
        status=snapshot.tasks.status.copy(),
        session=session_id(snapshot),
        hypernodes=hypernodes,
        subjobs=find_subjobs(snapshot, hypernodes, tasks_of_job.__getitem__),
        node=snapshot.tasks.node.tolist(),
    )
    return view, matrix
