"""The oracle's queue and job shares: proportion, drf, overcommit.

Choices: the water-filling of proportion is in floats, `remaining * weight / total weight` from left to right, queues in
name order; an all-zero total weight counts as equal weights; in its first round no queue counts as unchanged (every
queue newly gets keys). Totals count nodes that are ready and schedulable, plus what runs on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from tests.oracle import filters
from tests.oracle.facts import Amounts, Cluster, Job, Object, Queue, minus, plus, positive, total_of

EPSILON = 0.1


@dataclass(eq=False)
class Share:
    """A queue in the water-filling; `open` and `admitted` are used by the checks."""

    name: str
    weight: int
    request: Amounts
    real: Amounts
    guarantee: Amounts
    deserved: Amounts = field(default_factory=dict)
    admitted: Amounts = field(default_factory=dict)


def cluster_total(cluster: Cluster) -> Amounts:
    return total_of(
        node.allocatable if node.ready and not node.unschedulable else node.used()
        for node in cluster.nodes.values()
    )


def at_most(left: Amounts, right: Amounts) -> bool:
    """Every dimension of the left, cpu and memory always, with the tolerance of 0.1."""
    pairs = [(left.get(name, 0), right.get(name, 0)) for name in {"cpu", "memory", *left}]
    return all(a < b or abs(a - b) < EPSILON for a, b in pairs)


def within(sum_: Amounts, limit: Amounts, asked: Amounts) -> bool:
    """Only what is asked for, no tolerance, pods left out."""
    return all(
        sum_.get(name, 0) <= limit.get(name, 0)
        for name, value in asked.items()
        if value > 0 and name != "pods"
    )


def jobs_of(cluster: Cluster, queue: Queue) -> list[Job]:
    return [job for job in cluster.jobs.values() if job.queue == queue.name]


def open_shares(cluster: Cluster) -> dict[str, Share]:
    """proportion at the session's start: one share per queue that has jobs, with its deserved filled in."""
    total = cluster_total(cluster)
    reserved = total_of(queue.guarantee for queue in cluster.queues.values())
    shares = {}
    for name, queue in sorted(cluster.queues.items()):
        jobs = jobs_of(cluster, queue)
        if jobs:
            pods = [pod for job in jobs for pod in job.pods]
            request = total_of(
                pod.request for pod in pods if pod.status in ("Bound", "Binding", "Running", "Pending")
            )
            shares[name] = Share(
                name, queue.weight, request, real_capability(total, reserved, queue), queue.guarantee
            )
            for job in jobs:
                if job.min_resources is not None:
                    shares[name].admitted = plus(shares[name].admitted, admitted_at_open(job))
    fill(total, list(shares.values()))
    return shares


def real_capability(total: Amounts, reserved: Amounts, queue: Queue) -> Amounts:
    real = plus(positive(minus(total, reserved)), queue.guarantee)
    for name in ("cpu", "memory"):
        limit = queue.capability.get(name, 0)
        real[name] = min(real.get(name, 0), limit if limit > 0 else inf)
    for name, limit in queue.capability.items():
        if name in real and name not in ("cpu", "memory"):
            real[name] = min(real[name], limit)
    return real


def admitted_at_open(job: Job) -> Amounts:
    """What an admitted job still holds back: minResources without what it has and without gated pods."""
    minimum = job.min_resources or {}
    if job.phase == "Inqueue" or (job.phase == "Running" and has_started(job)):
        left = positive(minus(minimum, job.allocated()))
        return deduct({name: left[name] for name in minimum}, job.gated_request())
    return {}


def deduct(amounts: Amounts, gated: Amounts) -> Amounts:
    return {name: max(value - gated.get(name, 0), 0) for name, value in amounts.items()}


def fill(total: Amounts, shares: list[Share]) -> None:
    """Hand out `total` by weight, round after round, until every queue has what it asks for or nothing is left."""
    remaining = {name: float(value) for name, value in total.items()}
    unmet = list(shares)
    first = True
    while unmet:
        weights = {share.name: share.weight for share in unmet}
        if sum(weights.values()) == 0:
            weights = dict.fromkeys(weights, 1)
        whole = sum(weights.values())
        at_start = dict(remaining)
        more: Amounts = {}
        less: Amounts = {}
        for share in list(unmet):
            before = dict(share.deserved)
            after = {}
            for name in {"cpu", "memory", *before, *at_start}:
                value = before.get(name, 0.0) + at_start.get(name, 0.0) * weights[share.name] / whole
                if name in ("cpu", "memory") or name in share.real:
                    value = min(value, share.real.get(name, 0))
                after[name] = min(value, share.request.get(name, 0))
            for name, value in share.guarantee.items():
                after[name] = max(after.get(name, 0), value)
            share.deserved = after
            unchanged = all(after[name] == before.get(name, 0) for name in after)
            if at_most(share.request, after) or (unchanged and not first):
                unmet.remove(share)
            for name, value in after.items():
                more[name] = more.get(name, 0) + max(value - before.get(name, 0), 0)
                less[name] = less.get(name, 0) + max(before.get(name, 0) - value, 0)
        remaining = {
            name: max(value + less.get(name, 0) - more.get(name, 0), 0.0) for name, value in at_start.items()
        }
        first = False
        if all(value < EPSILON for name, value in remaining.items() if name != "pods"):
            return
        if remaining == at_start:
            return


def share_of(part: Amounts, whole: Amounts) -> float:
    """The dominant share: the largest part of a dimension of which there is any."""
    return max((part.get(name, 0) / value for name, value in whole.items() if value >= EPSILON), default=0)


def claimed(cluster: Cluster, queue: Queue) -> Amounts:
    return total_of(job.claimed() for job in jobs_of(cluster, queue))


def proportion_admits(cluster: Cluster, share: Share, job: Job) -> bool:
    """May a job with minResources be admitted by its queue? Elastic members do not stand in its way."""
    queue = cluster.queues[job.queue]
    if not queue.open:
        return False
    elastic = total_of(
        positive(minus(other.allocated(), other.min_resources or {})) for other in jobs_of(cluster, queue)
    )
    asked = job.min_resources or {}
    return within(
        minus(plus(plus(asked, claimed(cluster, queue)), share.admitted), elastic), share.real, asked
    )


def overcommit_admits(cluster: Cluster, arguments: Object, job: Job) -> bool:
    """Is there room for the job's minResources in the cluster, as overcommitted by the factor?

    An Inqueue group holds room only against groups of equal or lower priority; groups that could run on the same nodes
    hold no more of a dimension together than these nodes have."""
    factor = arguments.get("overcommit-factor", 1.2)
    if not isinstance(factor, int | float) or factor < 1:
        factor = 1.2
    held: Amounts = {}
    waiting: dict[frozenset[str], Amounts] = {}
    for other in cluster.jobs.values():
        minimum = other.min_resources or {}
        if other.phase == "Inqueue" and other.priority >= job.priority:
            places = frozenset(could_run_on(cluster, other))
            asked = deduct(minimum, other.gated_request())
            waiting[places] = plus(waiting.get(places, {}), asked)
        elif other.phase == "Running" and has_started(other):
            left = positive(minus(minimum, other.allocated()))
            held = plus(held, deduct({name: left[name] for name in minimum}, other.gated_request()))
    for places, sums in waiting.items():
        limit = room(cluster, places, factor)
        held = plus(held, {name: min(value, max(limit.get(name, 0), 0)) for name, value in sums.items()})
    asked = job.min_resources or {}
    return within(plus(held, asked), room(cluster, frozenset(cluster.nodes), factor), asked)


def room(cluster: Cluster, places: frozenset[str], factor: float) -> Amounts:
    """Total of some nodes times the factor, without what is used there."""
    some = Cluster(nodes={name: node for name, node in cluster.nodes.items() if name in places})
    used = total_of(node.used() for node in some.nodes.values())
    return {name: value * factor - used.get(name, 0) for name, value in cluster_total(some).items()}


def could_run_on(cluster: Cluster, job: Job) -> list[str]:
    """Nodes that would take a waiting pod of the job if they were empty; all while it has none."""
    pods = [pod for pod in job.pods if pod.status == "Pending"]
    return [
        name
        for name, node in cluster.nodes.items()
        if not pods or any(filters.reachable(pod, node) for pod in pods)
    ]


def has_started(job: Job) -> bool:
    return job.count("Bound", "Binding", "Running", "Allocated") >= job.min_available
