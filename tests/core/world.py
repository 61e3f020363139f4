"""Small clusters for kernel tests, written as Python values and turned into a `Snapshot` column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vcray.core.details import NO_DETAILS, Details
from vcray.core.snapshot import Snapshot, tie_ranks
from vcray.core.space import ResourceSpace
from vcray.core.tables import (
    MISSING,
    Closeness,
    GroupStatus,
    HostPort,
    JobTable,
    LabelColumns,
    NodeTable,
    Phase,
    PodFacts,
    PodTerm,
    QueueTable,
    ShapeSpec,
    Status,
    SubGroupPolicy,
    Taint,
    TaskTable,
)

GI = 2**30
ON_NODE = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING, Status.RELEASING, Status.UNKNOWN)


def amounts(cpu: float = 0, mem: float = 0, gpu: float = 0) -> dict[str, int]:
    """cpu in cores, mem in Gi, gpu in whole devices."""
    out = {"cpu": round(cpu * 1000), "memory": round(mem * GI), "nvidia.com/gpu": round(gpu * 1000)}
    return {name: amount for name, amount in out.items() if amount}


@dataclass
class Node:
    name: str
    cpu: float = 4
    mem: float = 16
    gpu: float = 0
    pods: int = 110
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    notes: dict[str, str] = field(default_factory=dict)


@dataclass
class Pod:
    name: str
    cpu: float = 0
    mem: float = 0
    gpu: float = 0
    status: Status = Status.PENDING
    node: str = ""
    role: str = ""
    priority: int = 1
    created: int = 0
    gated: bool = False
    nominated: str = ""
    index: int = MISSING
    spec: dict[str, object] = field(default_factory=dict)
    """Further fields of `ShapeSpec`."""
    facts: PodFacts = field(default_factory=PodFacts)
    labels: dict[str, str] = field(default_factory=dict)
    started: int = 0
    scheduled: int = 0

    def shape(self) -> ShapeSpec:
        requests = {**amounts(self.cpu, self.mem, self.gpu), "pods": 1}
        floor = (round(self.cpu * 1000) or 100, round(self.mem * GI) or 200 * 2**20)
        return ShapeSpec(tuple(sorted(requests.items())), floor, **self.spec)  # type: ignore[arg-type]


@dataclass
class Job:
    name: str
    pods: Sequence[Pod]
    least: int | None = None
    queue: str = "default"
    priority: int = 0
    created: int = 0
    phase: Phase = Phase.INQUEUE
    min_resources: dict[str, int] | None = None
    roles: dict[str, int] = field(default_factory=dict)
    status: GroupStatus | None = None
    notes: dict[str, str] = field(default_factory=dict)
    closeness: Closeness | None = None
    never_preempts: bool = False
    released: bool = False
    subgroups: tuple[SubGroupPolicy, ...] = ()


@dataclass
class Queue:
    name: str
    parent: str = ""
    priority: int = 0
    allocated: dict[str, int] | None = None
    notes: dict[str, str] = field(default_factory=dict)


def equal_pods(prefix: str, count: int, **kw: object) -> list[Pod]:
    return [Pod(f"{prefix}-{i}", **kw) for i in range(count)]  # type: ignore[arg-type]


def snapshot(
    nodes: Sequence[Node],
    jobs: Sequence[Job] = (),
    queues: Sequence[Queue] = (Queue("default"),),
    selectors: int = 0,
    anti_terms: tuple[PodTerm, ...] = (),
    preferred_terms: tuple[PodTerm, ...] = (),
    generation: int = 1,
    seed: int = 7,
    details: Details = NO_DETAILS,
) -> Snapshot:
    """All tables; pods on nodes are added to the node sums."""
    space = ResourceSpace.of(["nvidia.com/gpu"])
    pods = [(pod, j) for j, job in enumerate(jobs) for pod in job.pods]
    specs = list(dict.fromkeys(pod.shape() for pod, _ in pods))
    names = [node.name for node in nodes]
    ports = tuple(dict.fromkeys(port for spec in specs for port in spec.ports))
    table = _nodes(nodes, space, ports, selectors, (anti_terms, preferred_terms), seed)
    for pod, _ in pods:
        if pod.node and pod.status in ON_NODE:
            _put(table, names.index(pod.node), pod, space, ports)
    roles = ("", *sorted({pod.role for pod, _ in pods if pod.role} | {r for job in jobs for r in job.roles}))
    return Snapshot(
        generation=generation,
        now=1_700_000_000.0,
        seed=seed,
        space=space,
        nodes=table,
        shapes=tuple(specs),
        selectors=(),
        tasks=_tasks(pods, jobs, specs, names, roles),
        roles=roles,
        jobs=_jobs(jobs, queues, space, roles),
        queues=_queues(queues, space),
        pod_facts=tuple(dict.fromkeys([PodFacts(), *(pod.facts for pod, _ in pods)])),
        label_sets=tuple(dict.fromkeys(tuple(sorted(pod.labels.items())) for pod, _ in pods)) or ((),),
        details=details,
    )


def _nodes(
    nodes: Sequence[Node],
    space: ResourceSpace,
    ports: tuple[HostPort, ...],
    selectors: int,
    terms: tuple[tuple[PodTerm, ...], tuple[PodTerm, ...]],
    seed: int,
) -> NodeTable:
    n, r = len(nodes), len(space)
    allocatable = np.zeros((r, n), dtype=np.int64)
    for i, node in enumerate(nodes):
        allocatable[:, i] = space.vector({**amounts(node.cpu, node.mem, node.gpu), "pods": node.pods})
    keys = sorted({key for node in nodes for key in node.labels})
    values = [tuple(dict.fromkeys(node.labels[k] for node in nodes if k in node.labels)) for k in keys]
    column = np.full((len(keys), n), MISSING, dtype=np.int32)
    for k, key in enumerate(keys):
        for i, node in enumerate(nodes):
            if key in node.labels:
                column[k, i] = values[k].index(node.labels[key])
    taints = tuple(dict.fromkeys(taint for node in nodes for taint in node.taints))
    tainted = np.array([[t in node.taints for node in nodes] for t in taints], dtype=bool).reshape(
        len(taints), n
    )
    node_names = tuple(node.name for node in nodes)
    zeros = np.zeros((r, n), dtype=np.int64)
    return NodeTable(
        names=node_names,
        allocatable=allocatable,
        kube_allocatable=allocatable.copy(),
        used=zeros.copy(),
        releasing=zeros.copy(),
        requested=zeros.copy(),
        requested_floor=np.zeros((2, n), dtype=np.int64),
        ready=np.array([node.ready for node in nodes], dtype=bool),
        unschedulable=np.array([node.cordoned for node in nodes], dtype=bool),
        taints=taints,
        tainted=tainted,
        labels=LabelColumns({key: k for k, key in enumerate(keys)}, tuple(values), column),
        tie=tie_ranks(seed, node_names),
        ports=ports,
        port_count=np.zeros((len(ports), n), dtype=np.int32),
        match=np.zeros((selectors, n), dtype=np.int32),
        anti_terms=terms[0],
        anti_owner=np.zeros((len(terms[0]), n), dtype=np.int32),
        preferred_terms=terms[1],
        preferred_weight=np.zeros((len(terms[1]), n), dtype=np.int64),
        images={},
        notes=tuple(tuple(sorted(node.notes.items())) for node in nodes),
    )


def _put(table: NodeTable, node: int, pod: Pod, space: ResourceSpace, ports: tuple[HostPort, ...]) -> None:
    spec = pod.shape()
    request = space.vector(dict(spec.requests))
    table.used[:, node] += request
    table.requested[:, node] += request
    table.requested_floor[:, node] += np.array(spec.floor)
    if pod.status is Status.RELEASING:
        table.releasing[:, node] += request
    for port in spec.ports:
        table.port_count[ports.index(port), node] += 1
    for selector in spec.matches:
        table.match[selector, node] += 1
    for row, term in enumerate(table.anti_terms):
        table.anti_owner[row, node] += any(
            (t.selector, t.key) == (term.selector, term.key) for t in spec.anti_affinity
        )
    for row, term in enumerate(table.preferred_terms):
        for t in spec.preferred:
            if (t.selector, t.key) == (term.selector, term.key):
                table.preferred_weight[row, node] += t.weight


def _tasks(
    pods: Sequence[tuple[Pod, int]],
    jobs: Sequence[Job],
    specs: Sequence[ShapeSpec],
    nodes: Sequence[str],
    roles: Sequence[str],
) -> TaskTable:
    def column(values: Sequence[object], dtype: type[np.generic]) -> np.ndarray:
        return np.array(values, dtype=dtype)

    row = {name: i for i, name in enumerate(nodes)}
    facts = list(dict.fromkeys([PodFacts(), *(pod.facts for pod, _ in pods)]))
    labels = list(dict.fromkeys(tuple(sorted(pod.labels.items())) for pod, _ in pods))
    return TaskTable(
        names=tuple(f"ns/{pod.name}" for pod, _ in pods),
        uids=tuple(f"uid-{pod.name}" for pod, _ in pods),
        job=column([j for _, j in pods], np.int32),
        shape=column([specs.index(pod.shape()) for pod, _ in pods], np.int32),
        node=column([row.get(pod.node, MISSING) for pod, _ in pods], np.int32),
        status=column([pod.status for pod, _ in pods], np.int8),
        priority=column([pod.priority for pod, _ in pods], np.int32),
        created=column([pod.created for pod, _ in pods], np.int64),
        index=column([pod.index for pod, _ in pods], np.int32),
        role=column([roles.index(pod.role) for pod, _ in pods], np.int32),
        gated=column([pod.gated for pod, _ in pods], np.bool_),
        nominated=column([row.get(pod.nominated, MISSING) for pod, _ in pods], np.int32),
        facts=column([facts.index(pod.facts) for pod, _ in pods], np.int32),
        labels=column([labels.index(tuple(sorted(pod.labels.items()))) for pod, _ in pods], np.int32),
        started=column([pod.started for pod, _ in pods], np.int64),
        scheduled=column([pod.scheduled for pod, _ in pods], np.int64),
    )


def _jobs(
    jobs: Sequence[Job], queues: Sequence[Queue], space: ResourceSpace, roles: Sequence[str]
) -> JobTable:
    row = {queue.name: i for i, queue in enumerate(queues)}
    least = [len(job.pods) if job.least is None else job.least for job in jobs]
    resources = np.zeros((len(space), len(jobs)), dtype=np.int64)
    for j, job in enumerate(jobs):
        resources[:, j] = space.vector(job.min_resources or {})
    return JobTable(
        names=tuple(f"ns/{job.name}" for job in jobs),
        uids=tuple(f"uid-{job.name}" for job in jobs),
        queue=np.array([row.get(job.queue, MISSING) for job in jobs], dtype=np.int32),
        queue_names=tuple(job.queue for job in jobs),
        min_available=np.array(least, dtype=np.int32),
        priority=np.array([job.priority for job in jobs], dtype=np.int32),
        created=np.array([job.created for job in jobs], dtype=np.int64),
        preemptable=np.zeros(len(jobs), dtype=bool),
        min_resources=resources,
        min_resources_set=np.array([job.min_resources is not None for job in jobs], dtype=bool),
        min_resources_named=resources > 0,
        role_minimum=tuple(
            tuple(sorted((roles.index(role), least) for role, least in job.roles.items())) for job in jobs
        ),
        status=tuple(job.status or GroupStatus(job.phase, 0, 0, 0, ()) for job in jobs),
        resource_version=tuple("1" for _ in jobs),
        requested_gated=np.zeros((len(space), len(jobs)), dtype=np.int64),
        notes=tuple(tuple(sorted(job.notes.items())) for job in jobs),
        closeness=tuple(job.closeness for job in jobs),
        subgroups=tuple(job.subgroups for job in jobs),
        never_preempts=np.array([job.never_preempts for job in jobs], dtype=bool),
        released=np.array([job.released for job in jobs], dtype=bool),
    )


def _queues(queues: Sequence[Queue], space: ResourceSpace) -> QueueTable:
    row = {queue.name: i for i, queue in enumerate(queues)}
    q, r = len(queues), len(space)

    def table() -> np.ndarray:
        return np.zeros((r, q), dtype=np.int64)

    def named() -> np.ndarray:
        return np.zeros((r, q), dtype=bool)

    return QueueTable(
        names=tuple(queue.name for queue in queues),
        uids=tuple(f"uid-{queue.name}" for queue in queues),
        weight=np.ones(q, dtype=np.int32),
        priority=np.array([queue.priority for queue in queues], dtype=np.int32),
        created=np.zeros(q, dtype=np.int64),
        parent=np.array([row.get(queue.parent, MISSING) for queue in queues], dtype=np.int32),
        state=np.ones(q, dtype=np.int8),
        reclaimable=np.ones(q, dtype=bool),
        capability=table(),
        capability_named=named(),
        deserved=table(),
        deserved_named=named(),
        guarantee=table(),
        guarantee_named=named(),
        allocated=tuple(
            None if queue.allocated is None else tuple(sorted(queue.allocated.items())) for queue in queues
        ),
        resource_version=tuple("1" for _ in queues),
        notes=tuple(tuple(sorted(queue.notes.items())) for queue in queues),
    )
