"""A slow scheduler, one task at a time, nothing cached: enqueue, allocate, backfill over flat jobs.

Where Volcano is random or faulty the choice is fixed: every node is a candidate; a tie goes to the higher rank of
BLAKE2b(seed, node name); a node with room now beats any that only will have it; queues and jobs fall back to creation,
then name; heaps are as if sorted anew at each pop; a refusal of one node is never remembered for another task.
A gang whose best-effort members count as ready is committed without them, as in Volcano.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cmp_to_key
from hashlib import blake2b
from typing import Any

from tests.oracle import filters, holes, readiness, scores, shares
from tests.oracle.capacity import Capacity
from tests.oracle.claims import Claims
from tests.oracle.closing import Outcome, close
from tests.oracle.facts import (
    BEING_PLACED,
    Cluster,
    Job,
    Node,
    Object,
    Pod,
    Queue,
    plus,
    pod_index,
    read_cluster,
)
from tests.oracle.hierarchy import Hierarchy
from tests.oracle.topology import NearTurn, Topology

PENDING_PHASES = ("", "Pending")


def decide(objects: list[Object], conf: Object, seed: int) -> Outcome:
    """One round over plain Kubernetes objects with a parsed volcano-scheduler.conf."""
    return Scheduler(read_cluster(objects), conf, seed).run()


def ranks(seed: int, names: list[str]) -> dict[str, int]:
    salt = seed.to_bytes(8, "little", signed=True)
    order = sorted(names, key=lambda n: (blake2b(n.encode(), digest_size=8, salt=salt).digest(), n))
    return {name: row for row, name in enumerate(order)}


@dataclass(eq=False)
class Scheduler:
    """One session."""

    cluster: Cluster
    conf: Object
    seed: int
    bound: dict[str, str] = field(default_factory=dict)
    failed_roles: dict[str, set[str]] = field(default_factory=dict)
    keeping: list[Pod] = field(default_factory=list)
    journal: list[tuple[Pod, str]] = field(default_factory=list)
    """Each step: the pod and the status that it had before."""
    evicted: dict[str, str] = field(default_factory=dict)
    to_come: bool = False
    """Is an `allocate` still to come?"""
    also_vetoes: tuple[str, ...] = ("priority", "conformance")

    def run(self) -> Outcome:
        self.rank = ranks(self.seed, list(self.cluster.nodes))
        self.total = shares.cluster_total(self.cluster)
        self.broken = holes.broken(self.cluster)
        self.share = shares.open_shares(self.cluster)
        self.capacity = self.open_capacity()
        self.hierarchy = Hierarchy(self.cluster, self.total)
        self.topology = Topology(self, self.cluster.hypernodes)
        self.actions = [word.strip() for word in self.conf["actions"].split(",")]
        claims = Claims(self)
        steps = {
            "enqueue": self.enqueue,
            "allocate": self.allocate,
            "backfill": self.backfill,
            "preempt": claims.preempt,
            "reclaim": claims.reclaim,
        }
        for number, action in enumerate(self.actions):
            self.to_come = "allocate" in self.actions[number + 1 :]
            steps[action]()
        return close(self)

    def open_capacity(self) -> Capacity | None:
        for tier in self.conf["tiers"]:
            for plugin in tier["plugins"]:
                if plugin["name"] == "capacity":
                    level = (plugin.get("arguments") or {}).get("ancestorReclaimLevel", 0)
                    return Capacity(self.cluster, plugin.get("enableHierarchy", False), level)
        return None

    # Configuration

    def tiers(self, flag: str) -> list[list[Object]]:
        """Plugins by tier, those with the flag on (absent means on)."""
        return [[p for p in tier["plugins"] if p.get(flag, True)] for tier in self.conf["tiers"]]

    def enabled(self, name: str, flag: str) -> Object | None:
        """The arguments of a plugin that is listed with the flag on, else None."""
        for tier in self.tiers(flag):
            for plugin in tier:
                if plugin["name"] == name:
                    return plugin.get("arguments") or {}
        return None

    def queue_key(self, queue: Queue) -> tuple[Any, ...]:
        keys: tuple[Any, ...] = ()
        for tier in self.tiers("enableQueueOrder"):
            for plugin in tier:
                if plugin["name"] == "proportion":
                    deserved = self.share[queue.name].deserved if queue.name in self.share else {}
                    share = shares.share_of(shares.claimed(self.cluster, queue), deserved)
                    keys = (*keys, -queue.priority, share)
                elif plugin["name"] == "capacity" and self.capacity is not None:
                    keys = (*keys, *self.capacity.key(queue))
                elif plugin["name"] == "drf" and plugin.get("enableHierarchy"):
                    keys = (*keys, self.hierarchy.key(queue.name))
        return (*keys, queue.created, queue.name)

    def job_key(self, job: Job) -> tuple[Any, ...]:
        keys: list[Any] = []
        for tier in self.tiers("enableJobOrder"):
            for plugin in tier:
                if plugin["name"] == "priority":
                    keys.append(-job.priority)
                elif plugin["name"] == "gang":
                    keys.append(1 if self.is_ready(job) else -1 if job in self.broken else 0)
                elif plugin["name"] == "drf":
                    keys.append(shares.share_of(job.claimed(), self.total))
        return (*keys, job.created, job.id)

    def in_task_order(self, pods: list[Pod]) -> list[Pod]:
        """By the plugins, then by index where all have one, creation and uid."""
        by_priority = self.enabled("priority", "enableTaskOrder") is not None
        indexed = all(pod_index(pod.name) is not None for pod in pods)

        def compare(left: Pod, right: Pod) -> int:
            if by_priority and left.priority != right.priority:
                return -1 if left.priority > right.priority else 1
            a, b = pod_index(left.name), pod_index(right.name)
            if indexed and a is not None and b is not None and a != b:
                return -1 if a < b else 1
            return -1 if (left.created, left.uid) < (right.created, right.uid) else 1

        return sorted(pods, key=cmp_to_key(compare))

    def is_ready(self, job: Job) -> bool:
        return readiness.is_ready(job)

    def job_ready(self, job: Job) -> bool:
        if self.enabled("gang", "enableJobReady") is None:
            return True
        return readiness.roles_hold(job, BEING_PLACED | {"Succeeded"}, True) and readiness.is_ready(job)

    def job_pipelined(self, job: Job) -> bool:
        return self.enabled("gang", "enableJobPipelined") is None or readiness.may_wait(job)

    def job_valid(self, job: Job) -> bool:
        if not any(p["name"] == "gang" for tier in self.conf["tiers"] for p in tier["plugins"]):
            return True
        return readiness.is_valid(job)

    # Actions

    def enqueue(self) -> None:
        queues = {job.queue: self.cluster.queues[job.queue] for job in self.cluster.jobs.values()}
        for queue in sorted(queues.values(), key=self.queue_key):
            pending = [
                j for j in shares.jobs_of(self.cluster, queue) if j.phase in PENDING_PHASES and not j.released
            ]
            for job in sorted(pending, key=self.job_key):
                if job.min_resources is None or self.enqueueable(job):
                    self.admit(job)

    def enqueueable(self, job: Job) -> bool:
        for tier in self.tiers("enableJobEnqueued"):
            permitted = False
            for plugin in tier:
                arguments = plugin.get("arguments") or {}
                if plugin["name"] == "overcommit":
                    vote = shares.overcommit_admits(self.cluster, arguments, job)
                elif plugin["name"] == "proportion":
                    vote = shares.proportion_admits(self.cluster, self.share[job.queue], job)
                elif plugin["name"] == "capacity" and self.capacity is not None:
                    vote = self.capacity.admits(job)
                else:
                    continue
                if not vote:
                    return False
                permitted = True
            if permitted:
                return True
        return True

    def admit(self, job: Job) -> None:
        job.phase = "Inqueue"
        if job.min_resources is not None:
            share = self.share[job.queue]
            share.admitted = plus(share.admitted, shares.deduct(job.min_resources, job.gated_request()))
        if self.capacity is not None:
            self.capacity.admit(job)

    def allocate(self) -> None:
        work: dict[str, list[Job]] = {}
        tasks: dict[str, list[Pod]] = {}
        for job in self.cluster.jobs.values():
            if job.phase in PENDING_PHASES:
                if "enqueue" in self.actions or job.released:
                    continue
                job.phase = "Inqueue"
            if not self.job_valid(job):
                continue
            waiting = [p for p in job.pods if p.status == "Pending" and not p.best_effort and not p.gated]
            if waiting:
                tasks[job.id] = self.in_task_order(waiting)
                work.setdefault(job.queue, []).append(job)
        self.kept_first(work, tasks)
        holes.broken_first(self, work, tasks)
        while work:
            name = min(work, key=lambda q: self.queue_key(self.cluster.queues[q]))
            if not work[name] or self.overused(name):
                del work[name]
                continue
            job = min(work[name], key=self.job_key)
            work[name].remove(job)
            if self.turn(job, tasks[job.id]):
                work[name].append(job)

    def kept_first(self, work: dict[str, list[Job]], tasks: dict[str, list[Pod]]) -> None:
        """Turns of jobs with pods that are nominated to a node with room, and of queue-mates of higher priority before them."""
        kept = {
            job.id: [pod for pod in tasks[job.id] if self.has_kept(pod)] for js in work.values() for job in js
        }
        self.keeping = [pod for pods in kept.values() for pod in pods]
        first = {name: [job for job in jobs if kept[job.id]] for name, jobs in work.items()}
        waiting = {name: list(jobs) for name, jobs in first.items() if jobs}
        for name in waiting:
            for job in first[name]:
                tasks[job.id].sort(key=lambda pod, job=job: pod not in kept[job.id])  # type: ignore[misc]
            if self.enabled("priority", "enablePreemptable") is None:
                continue
            least = min(job.priority for job in first[name])
            first[name] += [job for job in work[name] if not kept[job.id] and job.priority > least]
        while waiting:
            name = min(waiting, key=lambda q: self.queue_key(self.cluster.queues[q]))
            if not waiting[name] or self.overused(name):
                del waiting[name]
                continue
            job = min(first[name], key=self.job_key)
            again = self.turn(job, tasks[job.id])
            if not again:
                first[name].remove(job)
                work[name].remove(job)
            left = [pod for pod in kept[job.id] if pod.status == "Pending"]
            if job in waiting[name] and not (again and left):
                waiting[name].remove(job)
                self.keeping = [pod for pod in self.keeping if pod not in job.pods]
            if not again and left:
                self.hold(kept[job.id])

    def hold(self, kept: list[Pod]) -> None:
        """While some nominated node is being cleared, pods of the job that still wait are promised theirs."""
        nodes = {pod.name: self.cluster.nodes[pod.object["status"]["nominatedNodeName"]] for pod in kept}
        if any(self.is_cleared_for(pod, nodes[pod.name]) for pod in kept):
            for pod in kept:
                if pod.status == "Pending" and self.has_kept(pod):
                    self.put(pod, nodes[pod.name], "Pipelined")

    def is_cleared_for(self, pod: Pod, node: Node, before: bool = False) -> bool:
        """Is something on its way out, or was it before this session, of a node that could take the pod by its object?"""
        leaving = [other for other in node.pods if other.status == "Releasing"]
        return self.allowed_by_object(pod, node) and any(not (before and other.evicted) for other in leaving)

    def has_kept(self, pod: Pod) -> bool:
        node = self.nominated(pod)
        allowed = node is not None and self.allowed_by_object(pod, node)
        return allowed and filters.fits(pod.request, node.future_idle())

    def overused(self, name: str) -> bool:
        if self.enabled("proportion", "enabledOverused") is None:
            return False
        queue = self.cluster.queues[name]
        return shares.at_most(self.share[name].deserved, shares.claimed(self.cluster, queue))

    def allocatable(self, job: Job, pod: Pod) -> bool:
        queue = self.cluster.queues[job.queue]
        asked = self.capacity is not None and self.enabled("capacity", "enabledAllocatable") is not None
        if asked and self.capacity is not None and not self.capacity.allows(job, pod):
            return False
        if self.enabled("proportion", "enabledAllocatable") is None:
            return True
        after = plus(shares.claimed(self.cluster, queue), pod.request)
        return queue.open and shares.within(after, self.share[queue.name].deserved, pod.request)

    def may_take(self, job: Job, pod: Pod) -> bool:
        """May the queue take from others for this pod?"""
        queue = self.cluster.queues[job.queue]
        asked = self.capacity is not None and self.enabled("capacity", "enablePreemptive") is not None
        if asked and self.capacity is not None and not self.capacity.may_take(queue, pod.request):
            return False
        if self.enabled("proportion", "enablePreemptive") is None:
            return True
        after, deserved = (
            plus(shares.claimed(self.cluster, queue), pod.request),
            self.share[queue.name].deserved,
        )
        slots = after.get("pods", 0) <= deserved.get("pods", 0)
        return queue.open and slots and shares.within(after, deserved, pod.request)

    def turn(self, job: Job, tasks: list[Pod]) -> bool:
        """One turn of a job; consumes the tasks it tries. True if the job is to be asked again."""
        if job.topology is not None and self.topology.limit(job) is not None:
            return NearTurn(self, job, tasks).run()
        mark = len(self.journal)
        self.fill(job, tasks, None)
        placed = [pod for pod, _ in self.journal[mark:]]
        if not self.job_ready(job) and not self.job_pipelined(job):
            self.undo(mark)
            return False
        if not self.job_ready(job):
            return False
        self.bind([pod for pod in placed if pod.status == "Allocated"])
        return bool(tasks)

    def fill(self, job: Job, tasks: list[Pod], inside: set[str] | None) -> None:
        """Place tasks, on these nodes if any are named, until the job is ready after one; what is tried is consumed."""
        failed = self.failed_roles.setdefault(job.id, set())
        running = self.topology.held.get(job.id)
        while tasks:
            pod = tasks.pop(0)
            if not self.allocatable(job, pod) or (pod.role and pod.role in failed):
                continue
            candidates = self.candidates(pod, inside)
            if not candidates:
                failed.add(pod.role)
                if readiness.goes_on(job, failed):
                    continue
                break
            idle = [node for node in candidates if filters.fits(pod.request, node.idle())]
            node = self.ranked(pod, idle or candidates, job, running)[0]
            self.put(pod, node, "Allocated" if idle else "Pipelined")
            leaf = self.topology.leaf(node.name)
            if job.topology is not None and leaf is not None:
                running = self.topology.lca(leaf, running)
            if self.job_ready(job):
                break

    def candidates(self, pod: Pod, inside: set[str] | None = None) -> list[Node]:
        nodes = [node for name, node in self.cluster.nodes.items() if inside is None or name in inside]
        able = [node for node in nodes if self.possible(pod, node)]
        nominated = self.nominated(pod)
        if nominated in nodes:
            idle = [node for node in able if filters.fits(pod.request, node.idle())]
            spared = [
                self.nominated(other)
                for other in self.keeping
                if other is not pod and other.status == "Pending"
            ]
            free = [nominated] if nominated in idle else [node for node in idle if node not in spared]
            if free:
                return free
        return [nominated] if nominated is not None and nominated in able else able

    def nominated(self, pod: Pod) -> Node | None:
        return self.cluster.nodes.get(pod.object.get("status", {}).get("nominatedNodeName", ""))

    def possible(self, pod: Pod, node: Node) -> bool:
        return filters.fits(pod.request, node.future_idle()) and self.passes(pod, node)

    def passes(self, pod: Pod, node: Node) -> bool:
        arguments = self.enabled("predicates", "enablePredicate")
        return arguments is None or filters.feasible(self.cluster, arguments, pod, node)

    def best(self, pod: Pod, group: list[Node]) -> Node:
        return self.ranked(pod, group)[0]

    def ranked(
        self, pod: Pod, group: list[Node], job: Job | None = None, running: str | None = None
    ) -> list[Node]:
        """The nodes, best first; of a job with a topology `running` is the HyperNode over its tasks so far."""
        near: dict[str, float] = {}
        if len(group) and self.enabled("network-topology-aware", "enableNodeOrder") is not None:
            near = self.topology.node_scores(pod, job, running, group)
        scorers = [
            (plugin["name"], plugin.get("arguments") or {})
            for tier in self.tiers("enableNodeOrder")
            for plugin in tier
        ]
        return scores.best_first(self.cluster, scorers, pod, group, self.rank, near)

    def allowed_by_object(self, pod: Pod, node: Node) -> bool:
        """Is nothing of the node's object against the pod?"""
        arguments = self.enabled("predicates", "enablePredicate")
        return arguments is None or filters.allowed_by_object(arguments, pod, node)

    def backfill(self) -> None:
        jobs = [
            job
            for job in self.cluster.jobs.values()
            if job.phase not in PENDING_PHASES and self.job_valid(job)
        ]
        by_queue: dict[str, list[Job]] = {}
        for job in jobs:
            by_queue.setdefault(job.queue, []).append(job)
        todo = [
            (job, pod)
            for name in sorted(by_queue, key=lambda q: self.queue_key(self.cluster.queues[q]))
            for job in sorted(by_queue[name], key=self.job_key)
            for pod in self.in_task_order(
                [
                    pod
                    for pod in job.pods
                    if pod.status in ("Pending", "Pipelined") and pod.best_effort and not pod.gated
                ]
            )
        ]
        kept = [pod for job in jobs for pod in job.pods if pod.status == "Pending" and self.has_kept(pod)]
        spared = {pod.object["status"]["nominatedNodeName"] for pod in kept} if self.to_come else set()
        todo.sort(key=lambda pair: pair[1] not in kept)
        for job, pod in todo:
            promised = None if pod.node is None else self.cluster.nodes[pod.node]
            if promised is not None:
                promised.pods.remove(pod)
                pod.status, pod.node = "Pending", None
            group = [
                node
                for node in self.cluster.nodes.values()
                if self.passes(pod, node)
                and (pod in kept or node.name not in spared)
                and self.topology.lets(job, node.name)
            ]
            settled = [node for node in group if not any(other.evicted for other in node.pods)]
            if settled:
                self.put(pod, self.best(pod, settled), "Allocated")
                if self.job_ready(job):
                    self.bind([member for member in job.pods if member.status == "Allocated"])
            elif promised is not None or group:
                self.put(pod, promised or self.best(pod, group), "Pipelined")
            self.topology.joins(job, pod)

    # Placement

    def put(self, pod: Pod, node: Node, status: str) -> None:
        self.journal.append((pod, pod.status))
        pod.status, pod.node = status, node.name
        node.pods.append(pod)

    def evict(self, pod: Pod, reason: str) -> None:
        self.journal.append((pod, pod.status))
        pod.status, pod.evicted = "Releasing", True
        self.evicted[f"{pod.namespace}/{pod.name}"] = reason

    def undo(self, mark: int) -> None:
        while len(self.journal) > mark:
            pod, before = self.journal.pop()
            if pod.evicted:
                pod.status, pod.evicted = before, False
                del self.evicted[f"{pod.namespace}/{pod.name}"]
                continue
            self.cluster.nodes[str(pod.node)].pods.remove(pod)
            pod.status, pod.node = before, None

    def bind(self, pods: list[Pod]) -> None:
        for pod in pods:
            pod.status = "Binding"
            self.bound[f"{pod.namespace}/{pod.name}"] = str(pod.node)
