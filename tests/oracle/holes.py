"""The oracle's holes: gangs that had started and lack pods, their turns before the others, and room for what they lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle import filters, readiness
from tests.oracle.facts import BEING_PLACED, Cluster, Job, Node, Pod

if TYPE_CHECKING:
    from tests.oracle.scheduler import Scheduler


def broken(cluster: Cluster) -> list[Job]:
    """Gangs on nodes that had started, with fewer pods than their minimum, when the session opens."""
    return [
        job
        for job in cluster.jobs.values()
        if job.phase in ("Running", "Unknown") and job.count(*BEING_PLACED) and not readiness.is_ready(job)
    ]


def broken_first(s: Scheduler, work: dict[str, list[Job]], tasks: dict[str, list[Pod]]) -> None:
    """A turn for each of them and for queue-mates of higher priority; then what they lack is kept."""
    if not s.broken or s.enabled("gang", "enableJobReady") is None:
        return
    first: dict[str, list[Job]] = {}
    for name, jobs in work.items():
        own = [job.priority for job in s.broken if job.queue == name]
        first[name] = [job for job in jobs if own and (job in s.broken or job.priority > min(own))]
    while first:
        name = min(first, key=lambda q: s.queue_key(s.cluster.queues[q]))
        if not first[name] or s.overused(name):
            del first[name]
            continue
        job = min(first[name], key=s.job_key)
        first[name].remove(job)
        if not s.turn(job, tasks[job.id]):
            work[name].remove(job)
    for job in sorted(s.broken, key=s.job_key):
        if not job.count(*BEING_PLACED):
            continue
        if job.phase not in ("", "Pending") and not s.job_ready(job) and not s.job_pipelined(job):
            keep(s, job)


def keep(s: Scheduler, job: Job) -> None:
    inside: set[str] | None = None
    if job.topology is not None and (limit := s.topology.limit(job)) is not None:
        held = s.topology.held[job.id]
        around = None if held is None else s.topology.around(held, "<cluster-top-hypernode>", limit)
        if around is None:
            return
        inside = s.topology.nodes[around]
    waiting = s.in_task_order(
        [p for p in job.pods if p.status == "Pending" and not p.gated and not p.best_effort]
    )
    need = lacks(job, waiting)
    overused = s.overused(job.queue)
    for pod in waiting[:need]:
        if not overused and s.allocatable(job, pod):
            set_aside(s, job, pod, inside)
    for _ in range(need - len(waiting)):
        for_one_to_come(s, job, inside)


def set_aside(s: Scheduler, job: Job, pod: Pod, inside: set[str] | None) -> None:
    group: list[Node] = [
        node
        for name, node in s.cluster.nodes.items()
        if (inside is None or name in inside)
        and s.possible(pod, node)
        and filters.fits(pod.request, node.idle())
    ]
    if group:
        s.ranked(pod, group, job, s.topology.held.get(job.id))[0].aside.append(pod.request)


def for_one_to_come(s: Scheduler, job: Job, inside: set[str] | None) -> None:
    """On the node of a failed pod, else on one like those of the job's pods; of equal ones the first by rank."""
    nodes, request = s.cluster.nodes, example(s, job).request
    known = [
        taint
        for pod in job.pods
        if pod.status in BEING_PLACED and pod.node in nodes
        for taint in nodes[pod.node].taints
    ]
    able = [
        name
        for name, node in nodes.items()
        if (inside is None or name in inside)
        and node.ready
        and not node.unschedulable
        and all(t["effect"] == "PreferNoSchedule" or t in known for t in node.taints)
        and all(
            min(sums.get(k, 0) for sums in (node.idle(), node.future_idle())) >= v
            for k, v in request.items()
            if v
        )
    ]
    failed = sorted((p for p in job.pods if p.status == "Failed"), key=lambda p: f"{p.namespace}/{p.name}")
    chosen = [pod.node for pod in failed if pod.node in able] or sorted(able, key=lambda n: -s.rank[n])
    if chosen:
        nodes[chosen[0]].aside.append(request)


def lacks(job: Job, waiting: list[Pod]) -> int:
    """So many pods more, of those that wait in their order and then of any, make the job ready."""
    free = sum(pod.status == "Pending" and pod.best_effort for pod in job.pods)
    short: dict[str, int] = {}
    if job.min_available >= sum(job.role_minimum.values()):
        for role, least in job.role_minimum.items():
            mine = [pod for pod in job.pods if pod.role == role]
            have = sum(
                p.status in BEING_PLACED | {"Succeeded"} or (p.status == "Pending" and p.best_effort)
                for p in mine
            )
            if have < least:
                short[role] = least - have
    taken = 0
    for pod in waiting if short else []:
        taken += 1
        if pod.role in short:
            short[pod.role] -= 1
            if not short[pod.role]:
                del short[pod.role]
        if not short:
            break
    return max(1, job.min_available - readiness.ready_count(job) - free, taken + sum(short.values()))


def example(s: Scheduler, job: Job) -> Pod:
    """The least valuable one on a node, of a role that lacks pods if any role does and has one."""
    held = [pod for pod in job.pods if pod.status in BEING_PLACED]
    roles = [pod.role for pod in held]
    of_short = [pod for pod in held if roles.count(pod.role) < job.role_minimum.get(pod.role, 0)]
    return s.in_task_order(of_short or held)[-1]
