"""`vcray bench preempt` and `vcray bench reclaim`: how long one decision takes on a cluster that is full.

Every GPU of every node runs a pod that is a job of its own, and as many such jobs wait: for `preempt` with a higher
priority in the same queue, for `reclaim` in another queue of equal weight, so that half of what runs must go. Measured is the
wall time of one `decide()` over a prepared snapshot; one warm-up is discarded.
"""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import dataclass, replace

import numpy as np

from vcray.bench.allocate import NODE, prepared
from vcray.config.scheduler import load_scheduler_config
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import GroupStatus, Phase, QueueTable, Status
from vcray.registry import discover

CONF = """
actions: "allocate, {action}, backfill"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang, enablePreemptable: false, enableReclaimable: false}}
  - {{name: conformance}}
  - {{name: proportion}}
- plugins:
  - {{name: drf, enablePreemptable: false}}
  - {{name: predicates}}
  - {{name: nodeorder}}
  - {{name: binpack}}
"""
PER_NODE = NODE["nvidia.com/gpu"] // 1000


@dataclass(frozen=True, slots=True)
class CrowdedResult:
    """One run. `claims_per_s`: pods that got a promise a second."""

    nodes: int
    running: int
    pending: int
    evicted: int
    promised: int
    wall_s: float
    claims_per_s: float
    peak_rss_mib: float


def crowded_policy(action: str) -> Policy:
    """The plugins of Volcano's default configuration with `proportion` in the first tier, and one action that evicts."""
    return build_policy(load_scheduler_config(CONF.format(action=action)), discover())


def run_crowded(action: str, nodes: int, pending: int) -> CrowdedResult:
    """Measure one round of `preempt` or `reclaim`."""
    snapshot, policy = crowded(action, nodes, pending), crowded_policy(action)
    decide(snapshot, policy)
    gc.collect()
    wall = time.perf_counter()
    decisions = decide(snapshot, policy)
    wall = time.perf_counter() - wall
    return CrowdedResult(
        nodes=nodes,
        running=nodes * PER_NODE,
        pending=pending,
        evicted=len(decisions.evictions),
        promised=len(decisions.pipelined),
        wall_s=round(wall, 6),
        claims_per_s=round(len(decisions.pipelined) / wall, 1),
        peak_rss_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def crowded(action: str, nodes: int, pending: int) -> Snapshot:
    """A full cluster of one-GPU jobs with `pending` more that claim."""
    running = nodes * PER_NODE
    pods = running + pending
    base = prepared(-(-pods // PER_NODE) * 2, pods, 1, 1)
    table = prepared(nodes, 1, 1, 1).nodes
    seat = np.arange(running, dtype=np.int32) // PER_NODE
    claims = np.arange(pods) >= running
    request = base.space.vector(dict(base.shapes[0].requests))
    used = request[:, None] * np.full(nodes, PER_NODE, dtype=np.int64)
    floor = np.array(base.shapes[0].floor, dtype=np.int64)[:, None] * np.full(nodes, PER_NODE)
    reclaims = action == "reclaim"
    return replace(
        base,
        nodes=replace(table, used=used, requested=used.copy(), requested_floor=floor),
        tasks=replace(
            base.tasks,
            node=np.concatenate([seat, base.tasks.node[running:]]),
            status=np.where(claims, Status.PENDING, Status.RUNNING).astype(np.int8),
        ),
        jobs=replace(
            base.jobs,
            queue=np.where(claims & reclaims, 1, 0).astype(np.int32),
            queue_names=tuple("claimants" if claim and reclaims else "default" for claim in claims.tolist()),
            priority=np.where(claims & (not reclaims), 100, 0).astype(np.int32),
            status=tuple(
                GroupStatus(Phase.INQUEUE if claim else Phase.RUNNING, int(not claim), 0, 0, ())
                for claim in claims.tolist()
            ),
        ),
        queues=_two_queues(base),
    )


def _two_queues(base: Snapshot) -> QueueTable:
    queues = base.queues
    return replace(
        queues,
        names=("default", "claimants"),
        parent=np.full(2, -1, dtype=np.int32),
        reclaimable=np.ones(2, dtype=bool),
    )
