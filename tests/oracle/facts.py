"""The oracle's reading of plain Kubernetes objects: pods, nodes, jobs and queues as dicts of amounts and lists.

Part of a slow second scheduler that shares no code with the real one, so that an error in either shows as a
difference. Amounts are whole numbers: cpu and extended resources in thousandths, memory, ephemeral-storage and
hugepages in bytes, pods in pods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

GROUP_NAME = "scheduling.k8s.io/group-name"
ROLE = "volcano.sh/task-spec"
TASK_PRIORITY = "volcano.sh/task-priority"
PREEMPTABLE = "volcano.sh/preemptable"
CRITICAL = ("system-cluster-critical", "system-node-critical")
SUFFIXES = {
    "m": Fraction(1, 1000),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
BEING_PLACED = {"Bound", "Binding", "Running", "Allocated"}
"""Statuses that Volcano sums as allocated."""
FINISHED = {"Succeeded", "Failed"}

Amounts = dict[str, float]
Object = dict[str, Any]


@dataclass(eq=False)
class Pod:
    """A pod as the session sees it; `status` and `node` change while scheduling."""

    object: Object
    name: str
    namespace: str
    uid: str
    labels: dict[str, str]
    request: Amounts
    floor: tuple[int, int]
    status: str
    node: str | None
    role: str
    priority: int
    created: float
    gated: bool
    best_effort: bool
    held: bool = False
    preemptable: bool = True
    never_preempts: bool = False
    critical: bool = False
    evicted: bool = False
    """Evicted in this session: it still holds its room, but the Kubernetes reading of its node no longer sees it."""

    @property
    def spec(self) -> Object:
        return self.object["spec"]  # type: ignore[no-any-return]


@dataclass(eq=False)
class Node:
    """A node and the pods on it that have not finished (pipelined ones included)."""

    name: str
    labels: dict[str, str]
    taints: list[Object]
    unschedulable: bool
    ready: bool
    allocatable: Amounts
    kube_allocatable: Amounts
    images: dict[str, int]
    pods: list[Pod] = field(default_factory=list)
    aside: list[Amounts] = field(default_factory=list)
    """Requests of pods that gangs lack, for which room is kept."""

    def seen(self) -> list[Pod]:
        """The kube-scheduler's reading: pipelined pods too, those evicted in this session no longer."""
        return [pod for pod in self.pods if not pod.evicted]

    def used(self) -> Amounts:
        """Volcano's own reading: terminating pods count, pipelined ones do not."""
        return total_of(pod.request for pod in self.pods if pod.status != "Pipelined")

    def idle(self) -> Amounts:
        return minus(self.allocatable, self.used())

    def future_idle(self) -> Amounts:
        leaving = total_of(pod.request for pod in self.pods if pod.status == "Releasing")
        promised = total_of(pod.request for pod in self.pods if pod.status == "Pipelined")
        return minus(plus(self.idle(), leaving), plus(promised, total_of(self.aside)))

    def requested(self) -> Amounts:
        return total_of(pod.request for pod in self.seen())


@dataclass(eq=False)
class Job:
    """A PodGroup and its pods."""

    id: str
    queue: str
    min_available: int
    priority: int
    created: float
    phase: str
    min_resources: Amounts | None
    role_minimum: dict[str, int]
    topology: Object | None = None
    released: bool = False
    pods: list[Pod] = field(default_factory=list)

    def count(self, *statuses: str) -> int:
        return sum(pod.status in statuses for pod in self.pods)

    def allocated(self) -> Amounts:
        return total_of(pod.request for pod in self.pods if pod.status in BEING_PLACED)

    def claimed(self) -> Amounts:
        """Allocated plus promised: what the share plugins see."""
        return total_of(pod.request for pod in self.pods if pod.status in BEING_PLACED | {"Pipelined"})

    def gated_request(self) -> Amounts:
        return total_of(pod.request for pod in self.pods if pod.status == "Pending" and pod.gated)


@dataclass(eq=False)
class Queue:
    """A queue; `state` empty counts as open."""

    name: str
    weight: int
    priority: int
    created: float
    parent: str
    open: bool
    reclaimable: bool
    capability: Amounts
    deserved: Amounts
    guarantee: Amounts
    recorded: Amounts | None
    notes: dict[str, str]


@dataclass(eq=False)
class Cluster:
    """Everything, by name. Jobs whose queue does not exist are not here; their pods still occupy nodes."""

    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    hypernodes: list[Object] = field(default_factory=list)


def plus(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def minus(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, 0) - right.get(name, 0) for name in {**left, **right}}


def positive(amounts: Amounts) -> Amounts:
    return {name: max(amount, 0) for name, amount in amounts.items()}


def total_of(many: Any) -> Amounts:
    total: Amounts = {}
    for amounts in many:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def quantity(text: object) -> Fraction:
    """`100m`, `2Gi`, `3`, 4 as an exact number."""
    word = str(text)
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if word.endswith(suffix):
            return Fraction(word[: -len(suffix)]) * SUFFIXES[suffix]
    return Fraction(word)


@cache
def amount(name: str, text: object) -> int | None:
    """A quantity in the unit of its resource, rounded up; None for names that do not count."""
    value = quantity(text)
    if name in ("memory", "pods", "ephemeral-storage") or name.startswith("hugepages-"):
        return ceil(value)
    extended = "/" in name and not name.startswith("requests.")
    if name == "cpu" or extended:
        return ceil(value * 1000)
    return None


def amounts(listed: Object | None) -> Amounts:
    read = {name: amount(name, text) for name, text in (listed or {}).items()}
    return {name: value for name, value in read.items() if value is not None}


def pod_index(name: str) -> int | None:
    """The number after the last dash of names with three or more parts."""
    parts = name.split("-")
    return int(parts[-1]) if len(parts) >= 3 and parts[-1].isdigit() else None


def seconds(stamp: str | None) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() if stamp else 0


def pod_request(spec: Object, default: Amounts) -> Amounts:
    """Containers and sidecars together, or the largest moment of initialisation; then overhead."""

    def of(container: Object) -> Amounts:
        return {**default, **amounts(container.get("resources", {}).get("requests"))}

    total = total_of(of(container) for container in spec["containers"])
    sidecars: Amounts = {}
    moments = []
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            sidecars = plus(sidecars, of(container))
            total = plus(total, of(container))
            moments.append(sidecars)
        else:
            moments.append(plus(sidecars, of(container)))
    for moment in moments:
        for name, value in moment.items():
            total[name] = max(total.get(name, 0), value)
    return plus(total, amounts(spec.get("overhead")))


def pod_status(pod: Object) -> str:
    phase = pod.get("status", {}).get("phase", "")
    leaving = bool(pod["metadata"].get("deletionTimestamp"))
    if phase == "Running":
        return "Releasing" if leaving else "Running"
    if phase == "Pending":
        if leaving:
            return "Releasing"
        return "Bound" if pod["spec"].get("nodeName") else "Pending"
    return phase if phase in FINISHED else "Unknown"


def read_pod(pod: Object, claims: dict[tuple[str, str], Object]) -> Pod:
    meta, spec = pod["metadata"], pod["spec"]
    notes, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    request = pod_request(spec, {})
    floor = pod_request(spec, {"cpu": 100, "memory": 200 * 2**20})
    priority = notes.get(TASK_PRIORITY, spec.get("priority"))
    held = False
    for volume in spec.get("volumes") or []:
        claim = volume.get("persistentVolumeClaim")
        if claim:
            found = claims.get((meta["namespace"], claim["claimName"]))
            held = held or found is None or found.get("status", {}).get("phase") != "Bound"
    return Pod(
        object=pod,
        name=meta["name"],
        namespace=meta["namespace"],
        uid=meta["uid"],
        labels=labels,
        request={**request, "pods": 1},
        floor=(int(floor["cpu"]), int(floor["memory"])),
        status=pod_status(pod),
        node=spec.get("nodeName"),
        role=notes.get(ROLE) or labels.get(ROLE) or "",
        priority=1 if priority is None else int(priority),
        created=seconds(meta.get("creationTimestamp")),
        gated=bool(spec.get("schedulingGates")),
        best_effort=not any(request.values()),
        held=held,
        preemptable=is_true(notes.get(PREEMPTABLE, labels.get(PREEMPTABLE, "true"))),
        never_preempts=spec.get("preemptionPolicy") == "Never",
        critical=meta["namespace"] == "kube-system" or spec.get("priorityClassName") in CRITICAL,
    )


def is_true(text: str) -> bool:
    """As Go's ParseBool has it; what it cannot read is no."""
    return text in ("1", "t", "T", "TRUE", "true", "True")


def read_node(node: Object) -> Node:
    meta, status, spec = node["metadata"], node["status"], node.get("spec") or {}
    notes = meta.get("annotations") or {}
    kube = amounts(status["allocatable"])
    lent: Amounts = {}
    for name in ("cpu", "memory"):
        try:
            lent[name] = int(float(notes.get(f"volcano.sh/oversubscription-{name}", 0)))
        except ValueError:
            lent[name] = 0
    ready = [c["status"] for c in status.get("conditions") or [] if c["type"] == "Ready"]
    return Node(
        name=meta["name"],
        labels=meta.get("labels") or {},
        taints=spec.get("taints") or [],
        unschedulable=bool(spec.get("unschedulable")),
        ready=ready[:1] in ([], ["True"]),
        allocatable=plus(kube, lent),
        kube_allocatable=kube,
        images={name: i["sizeBytes"] for i in status.get("images") or [] for name in i["names"]},
    )


def read_job(group: Object, classes: dict[str, int], default_priority: int) -> Job:
    meta, spec = group["metadata"], group["spec"]
    needs = spec.get("minResources")
    released = bool((meta.get("annotations") or {}).get("vcray.io/released"))
    return Job(
        id=f"{meta['namespace']}/{meta['name']}",
        queue=spec.get("queue") or "default",
        min_available=0 if released else spec.get("minMember", 0),
        priority=classes.get(spec.get("priorityClassName", ""), default_priority),
        created=seconds(meta.get("creationTimestamp")),
        phase="Pending" if released else group.get("status", {}).get("phase", ""),
        min_resources=None if needs is None or released else amounts(needs),
        role_minimum={} if released else dict(spec.get("minTaskMember") or {}),
        released=released,
        topology=spec.get("networkTopology"),
    )


def read_queue(queue: Object) -> Queue:
    spec, status = queue.get("spec") or {}, queue.get("status") or {}
    recorded = status.get("allocated")
    return Queue(
        name=queue["metadata"]["name"],
        weight=spec.get("weight", 1),
        priority=spec.get("priority", 0),
        created=seconds(queue["metadata"].get("creationTimestamp")),
        parent=spec.get("parent") or "root",
        open=status.get("state", "") in ("", "Open"),
        reclaimable=spec.get("reclaimable", True),
        capability=amounts(spec.get("capability")),
        deserved=amounts(spec.get("deserved")),
        guarantee=amounts((spec.get("guarantee") or {}).get("resource")),
        recorded=None if recorded is None else amounts(recorded),
        notes=queue["metadata"].get("annotations") or {},
    )


def read_cluster(objects: list[Object]) -> Cluster:
    """All objects of a cluster, in any order."""
    kinds: dict[str, list[Object]] = {}
    for item in objects:
        kinds.setdefault(item["kind"], []).append(item)
    classes = {c["metadata"]["name"]: c["value"] for c in kinds.get("PriorityClass", [])}
    default = sum(c["value"] for c in kinds.get("PriorityClass", []) if c.get("globalDefault"))
    claims = {
        (c["metadata"]["namespace"], c["metadata"]["name"]): c for c in kinds.get("PersistentVolumeClaim", [])
    }
    cluster = Cluster(hypernodes=kinds.get("HyperNode", []))
    for node in map(read_node, kinds.get("Node", [])):
        cluster.nodes[node.name] = node
    for queue in map(read_queue, kinds.get("Queue", [])):
        cluster.queues[queue.name] = queue
    for item in kinds.get("PodGroup", []):
        job = read_job(item, classes, default)
        if job.queue in cluster.queues:
            cluster.jobs[job.id] = job
    for item in kinds.get("Pod", []):
        _place(cluster, read_pod(item, claims))
    return cluster


def _place(cluster: Cluster, pod: Pod) -> None:
    if pod.spec.get("schedulerName") != "volcano" and not pod.node:
        return
    if pod.node in cluster.nodes and pod.status not in FINISHED:
        cluster.nodes[pod.node].pods.append(pod)
    group = (pod.object["metadata"].get("annotations") or {}).get(GROUP_NAME)
    job = cluster.jobs.get(f"{pod.namespace}/{group}")
    if group and job is not None:
        job.pods.append(pod)
