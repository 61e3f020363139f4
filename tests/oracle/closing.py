"""The oracle's end of a session: phases of PodGroups, counts, what queues hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracle import shares
from tests.oracle.facts import BEING_PLACED, FINISHED, Amounts, Job, plus, total_of

if TYPE_CHECKING:
    from tests.oracle.scheduler import Scheduler


@dataclass(frozen=True)
class Outcome:
    """What a round decides: pods by `namespace/name`, by job its phase and how many members are running, succeeded and
    failed, allocated amounts (without zeros) by queue."""

    bound: dict[str, str]
    pipelined: dict[str, str]
    evicted: dict[str, str]
    phases: dict[str, str]
    counts: dict[str, tuple[int, int, int]]
    queues: dict[str, Amounts]


def close(s: Scheduler) -> Outcome:
    jobs = s.cluster.jobs.values()
    return Outcome(
        bound=dict(sorted(s.bound.items())),
        evicted=dict(s.evicted),
        pipelined={
            f"{pod.namespace}/{pod.name}": str(pod.node)
            for job in jobs
            for pod in job.pods
            if pod.status == "Pipelined"
        },
        phases={job.id: phase(s, job) for job in jobs},
        counts={job.id: (job.count("Running"), job.count("Succeeded"), job.count("Failed")) for job in jobs},
        queues=queue_allocated(s),
    )


def phase(s: Scheduler, job: Job) -> str:
    started = job.count("Running", "Bound", *FINISHED) + leaving(s, job)
    if job.released and not started:
        return "Pending"
    if job.phase == "Completed" and not job.pods:
        return "Completed"
    if job.count("Running") and reported_unschedulable(s, job):
        return "Unknown"
    if started >= job.min_available:
        present = job.count("Pending", "Pipelined", *BEING_PLACED)
        return "Completed" if started == job.count(*FINISHED) and not present else "Running"
    return "Inqueue" if job.phase == "Inqueue" else "Pending"


def leaving(s: Scheduler, job: Job) -> int:
    """Terminating members that still hold room on a node of the session."""
    return sum(pod.status == "Releasing" and pod.node in s.cluster.nodes for pod in job.pods)


def reported_unschedulable(s: Scheduler, job: Job) -> bool:
    """Whether gang's close sets the condition Unschedulable."""
    if not any(p["name"] == "gang" for tier in s.conf["tiers"] for p in tier["plugins"]):
        return False
    if not job.pods or s.is_ready(job):
        return False
    ending = leaving(s, job)
    started = job.count("Running", "Bound", *FINISHED) + ending
    only_leaving = ending and not job.count("Pending", "Pipelined")
    return not (only_leaving and started >= job.min_available)


def queue_allocated(s: Scheduler) -> dict[str, Amounts]:
    """Own jobs, and for every ancestor that exists those of its descendants."""
    sums: dict[str, Amounts] = {name: {} for name in s.cluster.queues}
    for name, queue in s.cluster.queues.items():
        own = total_of(job.allocated() for job in shares.jobs_of(s.cluster, queue))
        holders, above = [name], queue
        while above.name != "root" and above.parent in s.cluster.queues:
            if above.parent in holders:
                break
            above = s.cluster.queues[above.parent]
            holders.append(above.name)
        for holder in holders:
            sums[holder] = plus(sums[holder], own)
    return {name: {k: v for k, v in total.items() if v} for name, total in sums.items()}
