"""Columns -> tables of a snapshot: copies, narrowed and frozen, so that nothing handed out ever changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from vcray.cache.delta import Field
from vcray.cache.details import PODS, DetailTables
from vcray.cache.jobcolumns import queue_table
from vcray.cache.labelsets import LabelSets
from vcray.cache.nodecolumns import NodeStatics
from vcray.cache.podcolumns import SHAPE, PodColumns
from vcray.cache.shapes import ShapeTable
from vcray.cache.sums import NodeSums
from vcray.core.arrays import Int, Int32
from vcray.core.snapshot import Snapshot
from vcray.core.tables import (
    MISSING,
    HostPort,
    JobTable,
    NodeTable,
    PodTerm,
    QueueTable,
    ShapeSpec,
    Status,
    TaskTable,
)

if TYPE_CHECKING:
    from vcray.cache.state import State

A = TypeVar("A", bound=npt.NDArray[np.generic])


def fixed(array: A) -> A:
    """The array, never to be written again."""
    array.flags.writeable = False
    return array


def task_table(
    tasks: PodColumns, job_row: Int, node_column: Int, shape_row: Int, rows: Int | None = None
) -> TaskTable:
    """The tasks, or some rows of them; the three arrays translate numbers of names and internal shape rows."""
    if rows is None:
        used = tasks.used
        names, uids = tasks.names()
    else:
        names = tuple(tasks.keys[row] for row in rows.tolist())
        uids = tuple(tasks.uids[row] for row in rows.tolist())

        def used(field: int) -> Int:
            column: Int = tasks.data[field, rows]
            return column

    def narrow(column: Int) -> Int32:
        return fixed(column.astype(np.int32))

    return TaskTable(
        names=names,
        uids=uids,
        job=fixed(job_row.astype(np.int32)[used(Field.JOB)]),
        shape=fixed(shape_row.astype(np.int32)[used(SHAPE)]),
        node=fixed(node_column.astype(np.int32)[used(Field.NODE)]),
        status=fixed(used(Field.STATUS).astype(np.int8)),
        priority=narrow(used(Field.PRIORITY)),
        created=fixed(used(Field.CREATED).copy()),
        index=narrow(used(Field.ORDINAL)),
        role=narrow(used(Field.ROLE)),
        gated=fixed(used(Field.GATED) != 0),
        nominated=fixed(node_column.astype(np.int32)[used(Field.NOMINATED)]),
        facts=narrow(used(Field.FACTS)),
        labels=narrow(used(Field.LABELS)),
        started=fixed(used(Field.STARTED).copy()),
        scheduled=fixed(used(Field.SCHEDULED).copy()),
    )


def shapes_in_use(used: Int, shapes: ShapeTable) -> tuple[tuple[ShapeSpec, ...], Int]:
    """Shapes that some task has (`used`: the tasks' internal rows), and (capacity,) their rows in the snapshot."""
    count = np.bincount(used, minlength=max(1, len(shapes)))
    rows = np.flatnonzero(count)
    out = np.full(len(count), -1, np.int64)
    out[rows] = np.arange(len(rows))
    return tuple(shapes.specs[row] for row in rows.tolist()), out


def gated_requests(tasks: PodColumns, shapes: ShapeTable, job_row: Int, jobs: int) -> Int:
    """(R, J) requests of gated tasks that wait."""
    out = np.zeros((len(shapes.request), jobs), np.int64)
    rows = np.flatnonzero((tasks.used(Field.GATED) != 0) & (tasks.used(Field.STATUS) == Status.PENDING))
    if len(rows):
        job, shape = job_row[tasks.data[Field.JOB, rows]], tasks.data[SHAPE, rows]
        for resource in range(len(out)):
            np.add.at(out[resource], job, shapes.request[resource, shape])
    return out


def node_table(
    statics: NodeStatics,
    sums: NodeSums,
    shapes: ShapeTable,
    labels: LabelSets,
    ties: Int,
    images: dict[str, tuple[Int32, Int]],
) -> NodeTable:
    """The nodes with their sums."""
    sums.fit(shapes.counters)
    rows: dict[str, list[tuple[HostPort | PodTerm | int, int]]] = {
        "port": [],
        "match": [],
        "anti": [],
        "preferred": [],
    }
    for (kind, item), counter in shapes.counter_of.items():
        rows[kind].append((item, counter))
    used = fixed(sums.used.copy())
    match = np.zeros((len(labels.selectors), len(statics.names)), np.int32)
    for selector, counter in rows["match"]:
        assert isinstance(selector, int)
        match[selector] = sums.counter[counter]

    def counters(kind: str) -> Int:
        numbers = [counter for _, counter in rows[kind]]
        out: Int = sums.counter[numbers].reshape(len(numbers), len(statics.names))
        return fixed(out)

    return NodeTable(
        names=statics.names,
        allocatable=statics.allocatable,
        kube_allocatable=statics.kube_allocatable,
        used=used,
        releasing=fixed(sums.releasing.copy()),
        requested=used,
        requested_floor=fixed(sums.floor.copy()),
        ready=statics.ready,
        unschedulable=statics.unschedulable,
        taints=statics.taints,
        tainted=statics.tainted,
        labels=statics.labels,
        tie=ties,
        ports=tuple(item for item, _ in rows["port"] if isinstance(item, HostPort)),
        port_count=fixed(counters("port").astype(np.int32)),
        match=fixed(match),
        anti_terms=tuple(item for item, _ in rows["anti"] if isinstance(item, PodTerm)),
        anti_owner=fixed(counters("anti").astype(np.int32)),
        preferred_terms=tuple(item for item, _ in rows["preferred"] if isinstance(item, PodTerm)),
        preferred_weight=counters("preferred"),
        images=images,
        notes=statics.notes,
    )


class Frozen:
    """Tables of the last snapshot that are still true, None where something changed."""

    def __init__(self) -> None:
        self.nodes: NodeTable | None = None
        self.tasks: TaskTable | None = None
        self.shapes: tuple[ShapeSpec, ...] = ()
        self.jobs: JobTable | None = None
        self.gated = False
        self.queues: QueueTable | None = None
        self.details = DetailTables()

    def pods_changed(self) -> None:
        """A pod came, went or changed."""
        self.nodes = self.tasks = None
        self.details.changed(PODS)


def freeze(state: State, generation: int, now: float, seed: int) -> Snapshot:
    """The snapshot of a settled state; tables in which nothing changed are those of the last one."""
    frozen, shapes = state.frozen, state.resolver.shapes
    tasks = state.tables[True]
    if frozen.tasks is None:
        frozen.shapes, shape_row = shapes_in_use(tasks.used(SHAPE), shapes)
        frozen.tasks = task_table(tasks, state.job_row, state.node_column, shape_row)
    gated = bool(frozen.tasks.gated.any())
    if frozen.queues is None:
        frozen.queues = queue_table(state.knowledge.queues, state.space)
        frozen.jobs = None
    if frozen.jobs is None or gated or frozen.gated:
        queue_row = np.full(len(state.strings), MISSING, np.int64)
        for row, name in enumerate(frozen.queues.names):
            if name in state.strings.of:
                queue_row[state.strings.of[name]] = row
        requests = gated_requests(tasks, shapes, state.job_row, len(state.jobs))
        frozen.jobs, frozen.gated = state.jobs.table(queue_row, requests), gated
    statics = state.nodes.statics(state.space)
    ties = state.nodes.ties(seed, statics.names)
    if frozen.nodes is None or frozen.nodes.tie is not ties:
        images = frozenset(image for shape in frozen.shapes for image in shape.images)
        frozen.nodes = node_table(
            statics, state.sums, shapes, state.resolver.labels, ties, state.nodes.images(images)
        )
    return Snapshot(
        generation=generation,
        now=now,
        seed=seed,
        space=state.space,
        nodes=frozen.nodes,
        shapes=frozen.shapes,
        selectors=tuple(state.resolver.labels.selectors),
        tasks=frozen.tasks,
        roles=tuple(state.roles.values),
        jobs=frozen.jobs,
        queues=frozen.queues,
        pod_facts=tuple(state.facts.values),
        label_sets=state.resolver.labels.sets(),
        details=frozen.details.get(state),
    )
