"""The same snapshot with its rows in another order: nodes, pods, PodGroups, queues and shapes shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from vcray.core.snapshot import Snapshot

T = TypeVar("T")


def shuffled(snapshot: Snapshot, rng: Random) -> Snapshot:
    """A snapshot that says the same in other rows."""
    nodes, tasks = _order(rng, len(snapshot.nodes)), _order(rng, len(snapshot.tasks))
    jobs, queues = _order(rng, len(snapshot.jobs)), _order(rng, len(snapshot.queues))
    shapes = _order(rng, len(snapshot.shapes))
    node_table = _reordered(snapshot.nodes, nodes)
    images = {name: (_moved(rows, nodes), sizes) for name, (rows, sizes) in snapshot.nodes.images.items()}
    labels = replace(snapshot.nodes.labels, column=snapshot.nodes.labels.column[:, nodes])
    task_table = _reordered(snapshot.tasks, tasks)
    job_table = _reordered(snapshot.jobs, jobs)
    queue_table = _reordered(snapshot.queues, queues)
    return replace(
        snapshot,
        nodes=replace(node_table, images=images, labels=labels),
        shapes=tuple(snapshot.shapes[row] for row in shapes),
        tasks=replace(
            task_table,
            job=_moved(task_table.job, jobs),
            shape=_moved(task_table.shape, shapes),
            node=_moved(task_table.node, nodes),
            nominated=_moved(task_table.nominated, nodes),
        ),
        jobs=replace(job_table, queue=_moved(job_table.queue, queues)),
        queues=replace(queue_table, parent=_moved(queue_table.parent, queues)),
    )


UNMOVED = {"taints", "ports", "anti_terms", "preferred_terms", "labels", "images"}
"""Fields of the node table that are not by node."""


def _reordered(table: T, order: Sequence[int]) -> T:
    """Every column of a table (last axis of arrays, items of tuples) in that order."""
    assert is_dataclass(table)
    moved: dict[str, object] = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if field.name in UNMOVED and not isinstance(value, np.ndarray):
            continue
        if isinstance(value, tuple):
            moved[field.name] = tuple(value[row] for row in order) if value else value
        elif isinstance(value, np.ndarray):
            moved[field.name] = np.ascontiguousarray(value[..., list(order)])
    return replace(table, **moved)  # type: ignore[type-var]


def _order(rng: Random, count: int) -> list[int]:
    order = list(range(count))
    rng.shuffle(order)
    return order


def _moved(rows: npt.NDArray[np.int32], order: Sequence[int]) -> npt.NDArray[np.int32]:
    """Row numbers after the table they point into was put in `order`; negative ones stay."""
    place = np.empty(len(order), dtype=rows.dtype)
    place[list(order)] = np.arange(len(order), dtype=rows.dtype)
    out = rows.copy()
    known = rows >= 0
    out[known] = place[rows[known]]
    return out
