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

from tests.oracle import filters, scores, shares
from tests.oracle.facts import (
    BEING_PLACED,
    FINISHED,
    Amounts,
    Cluster,
    Job,
    Node,
    Object,
    Pod,
    Queue,
    plus,
    pod_index,
    read_cluster,
    total_of,
)

PENDING_PHASES = ("", "Pending")


@dataclass(frozen=True)
class Outcome:
    """What a round decides: pods by `namespace/name`, by job its phase and how many members are running, succeeded and
    failed, allocated amounts (without zeros) by queue."""

    bound: dict[str, str]
    pipelined: dict[str, str]
    phases: dict[str, str]
    counts: dict[str, tuple[int, int, int]]
    queues: dict[str, Amounts]


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

    def run(self) -> Outcome:
        self.rank = ranks(self.seed, list(self.cluster.nodes))
        self.total = shares.cluster_total(self.cluster)
        self.share = shares.open_shares(self.cluster)
        self.actions = [word.strip() for word in self.conf["actions"].split(",")]
        for action in self.actions:
            {"enqueue": self.enqueue, "allocate": self.allocate, "backfill": self.backfill}[action]()
        return self.close()

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
        if self.enabled("proportion", "enableQueueOrder") is not None:
            share = shares.share_of(shares.claimed(self.cluster, queue), self.share[queue.name].deserved)
            keys = (-queue.priority, share)
        return (*keys, queue.created, queue.name)

    def job_key(self, job: Job) -> tuple[Any, ...]:
        keys: list[Any] = []
        for tier in self.tiers("enableJobOrder"):
            for plugin in tier:
                if plugin["name"] == "priority":
                    keys.append(-job.priority)
                elif plugin["name"] == "gang":
                    keys.append(self.is_ready(job))
                elif plugin["name"] == "drf":
                    keys.append(shares.share_of(job.claimed(), self.total))
        return (*keys, job.created, job.id)

    def in_task_order(self, pods: list[Pod]) -> list[Pod]:
        by_priority = self.enabled("priority", "enableTaskOrder") is not None

        def compare(left: Pod, right: Pod) -> int:
            if by_priority and left.priority != right.priority:
                return -1 if left.priority > right.priority else 1
            a, b = pod_index(left.name), pod_index(right.name)
            if a is not None and b is not None and a != b:
                return -1 if a < b else 1
            return -1 if (left.created, left.uid) < (right.created, right.uid) else 1

        return sorted(pods, key=cmp_to_key(compare))

    def is_ready(self, job: Job) -> bool:
        free = sum(pod.status == "Pending" and pod.best_effort for pod in job.pods)
        return ready_count(job) + free >= job.min_available

    def roles_hold(self, job: Job, statuses: set[str], best_effort: bool) -> bool:
        """Every role at its minimum; not looked at when the minimums sum up to more than minMember."""
        if job.min_available < sum(job.role_minimum.values()):
            return True
        for role, minimum in job.role_minimum.items():
            members = [pod for pod in job.pods if pod.role == role]
            count = sum(
                pod.status in statuses or (best_effort and pod.status == "Pending" and pod.best_effort)
                for pod in members
            )
            if count < minimum:
                return False
        return True

    def job_ready(self, job: Job) -> bool:
        if self.enabled("gang", "enableJobReady") is None:
            return True
        return self.roles_hold(job, BEING_PLACED | {"Succeeded"}, True) and self.is_ready(job)

    def job_pipelined(self, job: Job) -> bool:
        if self.enabled("gang", "enableJobPipelined") is None:
            return True
        free = sum(pod.status == "Pending" and pod.best_effort for pod in job.pods)
        enough = job.count("Pipelined") + ready_count(job) + free >= job.min_available
        return enough and self.roles_hold(job, BEING_PLACED | {"Succeeded", "Pipelined"}, True)

    def job_valid(self, job: Job) -> bool:
        if not any(p["name"] == "gang" for tier in self.conf["tiers"] for p in tier["plugins"]):
            return True
        valid = BEING_PLACED | {"Succeeded", "Pipelined", "Pending"}
        return self.roles_hold(job, valid, False) and job.count(*valid) >= job.min_available

    # Actions

    def enqueue(self) -> None:
        queues = {job.queue: self.cluster.queues[job.queue] for job in self.cluster.jobs.values()}
        for queue in sorted(queues.values(), key=self.queue_key):
            pending = [j for j in shares.jobs_of(self.cluster, queue) if j.phase in PENDING_PHASES]
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

    def allocate(self) -> None:
        work: dict[str, list[Job]] = {}
        tasks: dict[str, list[Pod]] = {}
        for job in self.cluster.jobs.values():
            if job.phase in PENDING_PHASES:
                if "enqueue" in self.actions:
                    continue
                job.phase = "Inqueue"
            if not self.job_valid(job):
                continue
            waiting = [p for p in job.pods if p.status == "Pending" and not p.best_effort and not p.gated]
            if waiting:
                tasks[job.id] = self.in_task_order(waiting)
                work.setdefault(job.queue, []).append(job)
        while work:
            name = min(work, key=lambda q: self.queue_key(self.cluster.queues[q]))
            if not work[name] or self.overused(name):
                del work[name]
                continue
            job = min(work[name], key=self.job_key)
            work[name].remove(job)
            if self.turn(job, tasks[job.id]):
                work[name].append(job)

    def overused(self, name: str) -> bool:
        if self.enabled("proportion", "enabledOverused") is None:
            return False
        queue = self.cluster.queues[name]
        return shares.at_most(self.share[name].deserved, shares.claimed(self.cluster, queue))

    def allocatable(self, job: Job, pod: Pod) -> bool:
        if self.enabled("proportion", "enabledAllocatable") is None:
            return True
        queue = self.cluster.queues[job.queue]
        after = plus(shares.claimed(self.cluster, queue), pod.request)
        return queue.open and shares.within(after, self.share[queue.name].deserved, pod.request)

    def turn(self, job: Job, tasks: list[Pod]) -> bool:
        """One turn of a job; consumes the tasks it tries. True if the job is to be asked again."""
        placed: list[Pod] = []
        failed = self.failed_roles.setdefault(job.id, set())
        while tasks:
            pod = tasks.pop(0)
            if not self.allocatable(job, pod) or (pod.role and pod.role in failed):
                continue
            candidates = self.candidates(pod)
            if not candidates:
                failed.add(pod.role)
                if self.goes_on(job, failed):
                    continue
                break
            idle = [node for node in candidates if filters.fits(pod.request, node.idle())]
            self.put(pod, self.best(pod, idle or candidates), "Allocated" if idle else "Pipelined")
            placed.append(pod)
            if self.job_ready(job):
                break
        if not self.job_ready(job) and not self.job_pipelined(job):
            for pod in reversed(placed):
                self.take_back(pod)
            return False
        if not self.job_ready(job):
            return False
        self.bind([pod for pod in placed if pod.status == "Allocated"])
        return bool(tasks)

    def candidates(self, pod: Pod) -> list[Node]:
        nodes = list(self.cluster.nodes.values())
        nominated = self.cluster.nodes.get(pod.object.get("status", {}).get("nominatedNodeName", ""))
        if nominated is not None and self.possible(pod, nominated):
            return [nominated]
        return [node for node in nodes if self.possible(pod, node)]

    def possible(self, pod: Pod, node: Node) -> bool:
        return filters.fits(pod.request, node.future_idle()) and self.passes(pod, node)

    def passes(self, pod: Pod, node: Node) -> bool:
        arguments = self.enabled("predicates", "enablePredicate")
        return arguments is None or filters.feasible(self.cluster, arguments, pod, node)

    def best(self, pod: Pod, group: list[Node]) -> Node:
        scorers = [
            (plugin["name"], plugin.get("arguments") or {})
            for tier in self.tiers("enableNodeOrder")
            for plugin in tier
        ]
        return scores.best_node(self.cluster, scorers, pod, group, self.rank)

    def goes_on(self, job: Job, failed: set[str]) -> bool:
        """After a task found no node: can the job still become ready, so that the next task is worth a try?"""
        if job.min_available >= len(job.pods):
            return False
        if job.min_available < sum(job.role_minimum.values()):
            left = sum(pod.status == "Pending" and pod.role not in failed for pod in job.pods)
            return ready_count(job) + left >= job.min_available
        for role in failed:
            members = [pod for pod in job.pods if pod.role == role]
            have = sum(
                pod.status in BEING_PLACED | {"Succeeded"} or (pod.status == "Pending" and pod.best_effort)
                for pod in members
            )
            if have < job.role_minimum.get(role, 0):
                return False
        return True

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
            for pod in self.in_task_order(job.pods)
            if pod.status == "Pending" and pod.best_effort and not pod.gated
        ]
        for job, pod in todo:
            group = [node for node in self.cluster.nodes.values() if self.passes(pod, node)]
            if group:
                self.put(pod, self.best(pod, group), "Allocated")
                if self.job_ready(job):
                    self.bind([member for member in job.pods if member.status == "Allocated"])

    # Placement

    def put(self, pod: Pod, node: Node, status: str) -> None:
        pod.status, pod.node = status, node.name
        node.pods.append(pod)

    def take_back(self, pod: Pod) -> None:
        self.cluster.nodes[str(pod.node)].pods.remove(pod)
        pod.status, pod.node = "Pending", None

    def bind(self, pods: list[Pod]) -> None:
        for pod in pods:
            pod.status = "Binding"
            self.bound[f"{pod.namespace}/{pod.name}"] = str(pod.node)

    # Close

    def close(self) -> Outcome:
        jobs = self.cluster.jobs.values()
        return Outcome(
            bound=dict(sorted(self.bound.items())),
            pipelined={
                f"{pod.namespace}/{pod.name}": str(pod.node)
                for job in jobs
                for pod in job.pods
                if pod.status == "Pipelined"
            },
            phases={job.id: self.phase(job) for job in jobs},
            counts={
                job.id: (job.count("Running"), job.count("Succeeded"), job.count("Failed")) for job in jobs
            },
            queues=self.queue_allocated(),
        )

    def phase(self, job: Job) -> str:
        if job.phase == "Completed" and not job.pods:
            return "Completed"
        if job.count("Running") and self.reported_unschedulable(job):
            return "Unknown"
        started = job.count("Running", "Bound", *FINISHED) + self.leaving(job)
        if started >= job.min_available:
            present = job.count("Pending", "Pipelined", *BEING_PLACED)
            return "Completed" if started == job.count(*FINISHED) and not present else "Running"
        return "Inqueue" if job.phase == "Inqueue" else "Pending"

    def leaving(self, job: Job) -> int:
        """Terminating members that still hold room on a node of the session."""
        return sum(pod.status == "Releasing" and pod.node in self.cluster.nodes for pod in job.pods)

    def reported_unschedulable(self, job: Job) -> bool:
        """Whether gang's close sets the condition Unschedulable."""
        if not any(p["name"] == "gang" for tier in self.conf["tiers"] for p in tier["plugins"]):
            return False
        if not job.pods or self.is_ready(job):
            return False
        leaving = self.leaving(job)
        started = job.count("Running", "Bound", *FINISHED) + leaving
        only_leaving = leaving and not job.count("Pending", "Pipelined")
        return not (only_leaving and started >= job.min_available)

    def queue_allocated(self) -> dict[str, Amounts]:
        """Own jobs, and for every ancestor that exists those of its descendants."""
        sums: dict[str, Amounts] = {name: {} for name in self.cluster.queues}
        for name, queue in self.cluster.queues.items():
            own = total_of(job.allocated() for job in shares.jobs_of(self.cluster, queue))
            holders, above = [name], queue
            while above.name != "root" and above.parent in self.cluster.queues:
                if above.parent in holders:
                    break
                above = self.cluster.queues[above.parent]
                holders.append(above.name)
            for holder in holders:
                sums[holder] = plus(sums[holder], own)
        return {name: {k: v for k, v in total.items() if v} for name, total in sums.items()}


def ready_count(job: Job) -> int:
    return job.count(*BEING_PLACED, "Succeeded")
