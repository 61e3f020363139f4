"""`vcray bench hierarchy`: what a tree of queues costs, against the same queues side by side.

`allocate` of gangs on an empty cluster, as in `vcray bench allocate`, with the groups spread over leaf queues in three levels:
once with hierarchical capacity, whose limits are looked at on every level, and once with proportion, which knows the leaves
alone. Both place every pod. Rounds of the two take turns, and the best processor time of each counts.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, replace

import numpy as np

from vcray.bench.allocate import prepared
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.policy import Policy, build_policy
from vcray.core.session import open_session, run
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, JobTable, QueueTable
from vcray.registry import discover

WIDTH = 10
"""Leaf queues of a department."""


@dataclass(frozen=True, slots=True)
class HierarchyResult:
    """Processor time of a round in seconds, pods a second of it, and tree / flat."""

    nodes: int
    pods: int
    gang: int
    shapes: int
    queues: int
    placed: int
    flat_s: float
    tree_s: float
    flat_pods_per_s: float
    tree_pods_per_s: float
    ratio: float


def policies() -> tuple[Policy, Policy]:
    """(flat, tree): Volcano's Helm default with proportion, and with capacity as a tree in its place."""
    tree = HELM_CONF.replace("- name: proportion\n", "- name: capacity\n    enableHierarchy: true\n")
    registry = discover()
    flat, deep = (build_policy(load_scheduler_config(conf), registry) for conf in (HELM_CONF, tree))
    return flat, deep


def spread(nodes: int, pods: int, gang: int, shapes: int, leaves: int) -> Snapshot:
    """Gangs in turn over leaf queues; each leaf, its department and root may hold the whole cluster."""
    snapshot = prepared(nodes, pods, gang, shapes)
    departments = -(-leaves // WIDTH)
    names = [f"leaf-{i:04d}" for i in range(leaves)]
    names += [f"dept-{i:03d}" for i in range(departments)] + ["root"]
    root = len(names) - 1
    parent = [leaves + i // WIDTH for i in range(leaves)] + [root] * departments + [MISSING]
    return replace(
        snapshot,
        queues=_queues(snapshot, names, parent),
        jobs=_jobs(snapshot.jobs, names[:leaves]),
    )


def _jobs(jobs: JobTable, names: list[str]) -> JobTable:
    queue = (np.arange(len(jobs)) % len(names)).astype(np.int32)
    return replace(jobs, queue=queue, queue_names=tuple(names[row] for row in queue.tolist()))


def _queues(snapshot: Snapshot, names: list[str], parent: list[int]) -> QueueTable:
    count = len(names)
    whole = np.repeat(snapshot.nodes.allocatable.sum(axis=1)[:, None], count, axis=1)
    named = np.ones_like(whole, dtype=bool)
    return replace(
        snapshot.queues,
        names=tuple(names),
        uids=tuple(f"uid-{name}" for name in names),
        weight=np.ones(count, dtype=np.int32),
        priority=np.zeros(count, dtype=np.int32),
        created=np.zeros(count, dtype=np.int64),
        parent=np.array(parent, dtype=np.int32),
        state=np.ones(count, dtype=np.int8),
        reclaimable=np.ones(count, dtype=bool),
        capability=whole,
        capability_named=named,
        deserved=whole // count,
        deserved_named=named,
        guarantee=np.zeros_like(whole),
        guarantee_named=~named,
        allocated=(None,) * count,
        resource_version=("1",) * count,
        notes=((),) * count,
    )


def run_hierarchy(
    nodes: int, pods: int, gang: int, shapes: int, queues: int, rounds: int = 3
) -> HierarchyResult:
    """Measure. ValueError when a size is below 1 or the pods cannot all fit."""
    if queues < 1:
        raise ValueError("queues must be at least 1")
    snapshot = spread(nodes, pods, gang, shapes, queues)
    best = [float("inf"), float("inf")]
    placed = pods
    for number in range(rounds + 1):
        for which, policy in enumerate(policies()):
            gc.collect()
            session = open_session(snapshot, policy)
            started = time.process_time()
            decisions = run(session)
            took = time.process_time() - started
            placed = min(placed, sum(len(commit.binds) for commit in decisions.commits))
            if number:
                best[which] = min(best[which], took)
    flat, tree = best
    return HierarchyResult(
        nodes=nodes,
        pods=pods,
        gang=gang,
        shapes=shapes,
        queues=queues,
        placed=placed,
        flat_s=round(flat, 4),
        tree_s=round(tree, 4),
        flat_pods_per_s=round(placed / flat, 1),
        tree_pods_per_s=round(placed / tree, 1),
        ratio=round(tree / flat, 3),
    )
