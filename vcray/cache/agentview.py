"""The snapshot of the agent's fast path: the same nodes as everybody's, and as tasks only the pods that wait for it.

All of them stand in one job of one queue that exist nowhere else, since such pods know neither. What is being freed on a node
does not count: the fast path looks at idle room alone.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Final

import numpy as np

from vcray.cache.delta import Field
from vcray.cache.freeze import fixed, node_table, shapes_in_use, task_table
from vcray.cache.groups import AGENT_JOB
from vcray.cache.interning import Interner
from vcray.cache.jobcolumns import JobColumns, queue_table
from vcray.cache.podcolumns import AGENT, SHAPE
from vcray.cache.rows import GroupRow, QueueRow
from vcray.cache.state import State
from vcray.cache.translate_cluster import cluster_row
from vcray.core.arrays import Int
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, JobTable, NodeTable, QueueTable, ShapeSpec, Status

QUEUE: Final = "agent"


def freeze_agent(state: State, generation: int, now: float, seed: int, left_out: Set[str]) -> Snapshot:
    """The snapshot of a settled state for the fast path; pods whose keys are in `left_out` are not in it."""
    table, frozen = state.tables[False], state.frozen
    rows = waiting_rows(state)
    if left_out:
        kept = [row for row in rows.tolist() if table.keys[row] not in left_out]
        rows = np.array(kept, dtype=np.int64)
    shapes, shape_row = shapes_in_use(table.data[SHAPE, rows], state.resolver.shapes)
    job_row = np.zeros(len(state.strings), np.int64)
    tasks = task_table(table, job_row, state.node_column, shape_row, rows)
    jobs, queues = _owners(state)
    return Snapshot(
        generation=generation,
        now=now,
        seed=seed,
        space=state.space,
        nodes=_nodes(state, seed, shapes),
        shapes=shapes,
        selectors=tuple(state.resolver.labels.selectors),
        tasks=replace(tasks, index=fixed(np.full(len(rows), MISSING, np.int32))),
        roles=tuple(state.roles.values),
        jobs=jobs,
        queues=queues,
        pod_facts=tuple(state.facts.values),
        label_sets=state.resolver.labels.sets(),
        details=frozen.details.get(state),
    )


def waiting_rows(state: State) -> Int:
    """Rows of the pods that wait for the fast path and are not gated."""
    used = state.tables[False].used
    waits = (used(Field.JOB) == AGENT) & (used(Field.STATUS) == Status.PENDING) & (used(Field.GATED) == 0)
    return np.flatnonzero(waits)


def _owners(state: State) -> tuple[JobTable, QueueTable]:
    group = cluster_row("PodGroup", {"metadata": {"name": QUEUE}, "spec": {"queue": QUEUE}})
    queue = cluster_row("Queue", {"metadata": {"name": QUEUE}, "status": {"state": "Open"}})
    assert isinstance(group, GroupRow)
    assert isinstance(queue, QueueRow)
    columns = JobColumns(state.space)
    columns.put(group._replace(key=AGENT_JOB), 0, 0, Interner([""]))
    gated = np.zeros((len(state.space), 1), np.int64)
    jobs = columns.table(np.zeros(1, np.int64), gated)
    return jobs, queue_table({QUEUE: queue}, state.space)


def _nodes(state: State, seed: int, shapes: tuple[ShapeSpec, ...]) -> NodeTable:
    statics = state.nodes.statics(state.space)
    ties = state.nodes.ties(seed, statics.names)
    named = frozenset(image for shape in shapes for image in shape.images)
    known = state.frozen.nodes
    images = state.nodes.images(named) if named or known is None else known.images
    if known is None or known.tie is not ties:
        known = node_table(
            statics, state.sums, state.resolver.shapes, state.resolver.labels, ties, dict(images)
        )
    return replace(known, images=images, releasing=fixed(np.zeros_like(known.releasing)))
