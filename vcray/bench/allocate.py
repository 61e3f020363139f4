"""`vcray bench allocate`: how fast one `decide()` places gangs on an empty cluster.

Measured is the wall time of `decide()` with Volcano's Helm default configuration over a prepared snapshot; building the
snapshot and JSON bodies stay outside. Every pod fits. One warm-up round is discarded.
"""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import dataclass

import numpy as np

from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide, open_session, run
from vcray.core.snapshot import Snapshot, tie_ranks
from vcray.core.space import ResourceSpace
from vcray.core.tables import (
    MISSING,
    GroupStatus,
    JobTable,
    LabelColumns,
    NodeTable,
    Phase,
    PodFacts,
    QueueTable,
    ShapeSpec,
    TaskTable,
)
from vcray.registry import discover

GI = 2**30
NODE = {"cpu": 64_000, "memory": 256 * GI, "nvidia.com/gpu": 8_000, "pods": 110}


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One run. Times in microseconds of wall time; `cpu_us_per_pod` is processor time; `peak_rss_mib` of the process."""

    nodes: int
    pods: int
    gang: int
    shapes: int
    placed: int
    wall_s: float
    pods_per_s: float
    gang_p50_us: float
    gang_p99_us: float
    cpu_us_per_pod: float
    peak_rss_mib: float


def helm_policy() -> Policy:
    """Volcano's Helm default configuration with the built-in plugins."""
    registry = discover()
    return build_policy(load_scheduler_config(HELM_CONF), registry)


def run_allocate(nodes: int, pods: int, gang: int, shapes: int) -> BenchResult:
    """Measure one round. ValueError when a size is below 1 or the pods cannot all fit."""
    snapshot = prepared(nodes, pods, gang, shapes)
    policy = helm_policy()
    decide(snapshot, policy)
    turns: list[float] = []
    started = 0.0

    def watch(what: str, job: int) -> None:
        nonlocal started
        now = time.perf_counter()
        if what == "turn":
            started = now
        else:
            turns.append(now - started)

    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    decisions = run(open_session(snapshot, policy, watch))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    placed = sum(len(commit.binds) for commit in decisions.commits)
    p50, p99 = np.percentile(np.array(turns or [0.0]), (50, 99)).tolist()
    return BenchResult(
        nodes=nodes,
        pods=pods,
        gang=gang,
        shapes=shapes,
        placed=placed,
        wall_s=round(wall, 6),
        pods_per_s=round(placed / wall, 1),
        gang_p50_us=round(p50 * 1e6, 1),
        gang_p99_us=round(p99 * 1e6, 1),
        cpu_us_per_pod=round(cpu / max(placed, 1) * 1e6, 2),
        peak_rss_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def shape_specs(count: int) -> list[ShapeSpec]:
    """Different pods of moderate size; every fourth wants a GPU."""
    specs = []
    for i in range(count):
        cpu, memory = 500 + 250 * (i % 7), (1 + i % 5) * GI + 2**20 * (i // 35)
        requests = {"cpu": cpu, "memory": memory, "pods": 1}
        if i % 4 == 0:
            requests["nvidia.com/gpu"] = 1000
        specs.append(ShapeSpec(tuple(sorted(requests.items())), (cpu, memory)))
    return specs


def prepared(nodes: int, pods: int, gang: int, shapes: int) -> Snapshot:
    """An empty cluster and pending gangs, shapes in turn; the last gang takes the rest."""
    if min(nodes, pods, gang, shapes) < 1:
        raise ValueError("nodes, pods, gang and shapes must be at least 1")
    space = ResourceSpace.of(NODE)
    specs = shape_specs(shapes)
    jobs = -(-pods // gang)
    job_of = np.arange(pods, dtype=np.int32) // gang
    sizes = np.bincount(job_of, minlength=jobs)
    shape_of = job_of % shapes
    need = sum(space.vector(dict(spec.requests)) * int((shape_of == s).sum()) for s, spec in enumerate(specs))
    if (need > space.vector(NODE) * nodes * 0.9).any():
        raise ValueError(
            f"{pods} pods need more than nine tenths of {nodes} nodes; use fewer pods or more nodes"
        )
    return Snapshot(
        generation=1,
        now=1_700_000_000.0,
        seed=1,
        space=space,
        nodes=_nodes(nodes, space),
        shapes=tuple(specs),
        selectors=(),
        tasks=_tasks(pods, gang, job_of, shape_of),
        roles=("",),
        jobs=_jobs(jobs, sizes, specs, space, shapes),
        queues=_queues(space),
        pod_facts=(PodFacts(),),
        label_sets=((),),
    )


def _nodes(count: int, space: ResourceSpace) -> NodeTable:
    names = tuple(f"node-{i:06d}" for i in range(count))
    allocatable = np.repeat(space.vector(NODE)[:, None], count, axis=1)
    zeros = np.zeros_like(allocatable)
    labels = np.arange(count, dtype=np.int32)[None, :]
    return NodeTable(
        names=names,
        allocatable=allocatable,
        kube_allocatable=allocatable.copy(),
        used=zeros,
        releasing=zeros,
        requested=zeros,
        requested_floor=np.zeros((2, count), dtype=np.int64),
        ready=np.ones(count, dtype=bool),
        unschedulable=np.zeros(count, dtype=bool),
        taints=(),
        tainted=np.zeros((0, count), dtype=bool),
        labels=LabelColumns({"kubernetes.io/hostname": 0}, (names,), labels),
        tie=tie_ranks(1, names),
        ports=(),
        port_count=np.zeros((0, count), dtype=np.int32),
        match=np.zeros((0, count), dtype=np.int32),
        anti_terms=(),
        anti_owner=np.zeros((0, count), dtype=np.int32),
        preferred_terms=(),
        preferred_weight=np.zeros((0, count), dtype=np.int64),
        images={},
        notes=((),) * count,
    )


def _tasks(pods: int, gang: int, job_of: np.ndarray, shape_of: np.ndarray) -> TaskTable:
    index = np.arange(pods, dtype=np.int32) % gang
    names = tuple(
        f"bench/job-{j:06d}-worker-{i}" for j, i in zip(job_of.tolist(), index.tolist(), strict=True)
    )
    return TaskTable(
        names=names,
        uids=tuple(f"uid-{name}" for name in names),
        job=job_of,
        shape=shape_of.astype(np.int32),
        node=np.full(pods, MISSING, dtype=np.int32),
        status=np.zeros(pods, dtype=np.int8),
        priority=np.ones(pods, dtype=np.int32),
        created=np.zeros(pods, dtype=np.int64),
        index=index,
        role=np.zeros(pods, dtype=np.int32),
        gated=np.zeros(pods, dtype=bool),
        nominated=np.full(pods, MISSING, dtype=np.int32),
        facts=np.zeros(pods, dtype=np.int32),
        labels=np.zeros(pods, dtype=np.int32),
        started=np.zeros(pods, dtype=np.int64),
        scheduled=np.zeros(pods, dtype=np.int64),
    )


def _jobs(
    count: int, sizes: np.ndarray, specs: list[ShapeSpec], space: ResourceSpace, shapes: int
) -> JobTable:
    names = tuple(f"bench/job-{j:06d}" for j in range(count))
    each = np.stack([space.vector(dict(specs[j % shapes].requests)) for j in range(count)], axis=1)
    resources = each * sizes
    return JobTable(
        names=names,
        uids=tuple(f"uid-{name}" for name in names),
        queue=np.zeros(count, dtype=np.int32),
        queue_names=("default",) * count,
        min_available=sizes.astype(np.int32),
        priority=np.zeros(count, dtype=np.int32),
        created=np.arange(count, dtype=np.int64),
        preemptable=np.zeros(count, dtype=bool),
        min_resources=resources,
        min_resources_set=np.ones(count, dtype=bool),
        min_resources_named=resources > 0,
        role_minimum=((),) * count,
        status=(GroupStatus(Phase.PENDING, 0, 0, 0, ()),) * count,
        resource_version=("1",) * count,
        requested_gated=np.zeros_like(resources),
        notes=((),) * count,
        closeness=(None,) * count,
        subgroups=((),) * count,
        never_preempts=np.zeros(count, dtype=bool),
        released=np.zeros(count, dtype=bool),
    )


def _queues(space: ResourceSpace) -> QueueTable:
    amounts = np.zeros((len(space), 2), dtype=np.int64)
    named = np.zeros((len(space), 2), dtype=bool)
    return QueueTable(
        names=("default", "root"),
        uids=("uid-default", "uid-root"),
        weight=np.ones(2, dtype=np.int32),
        priority=np.zeros(2, dtype=np.int32),
        created=np.zeros(2, dtype=np.int64),
        parent=np.array([1, MISSING], dtype=np.int32),
        state=np.ones(2, dtype=np.int8),
        reclaimable=np.array([True, False]),
        capability=amounts,
        capability_named=named,
        deserved=amounts,
        deserved_named=named,
        guarantee=amounts,
        guarantee_named=named,
        allocated=(None, None),
        resource_version=("1", "1"),
        notes=((), ()),
    )
