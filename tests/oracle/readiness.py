"""The oracle's gang: when a job may start, wait on promises, be scheduled at all, or go on past a task without a node."""

from __future__ import annotations

from tests.oracle.facts import BEING_PLACED, Job


def ready_count(job: Job) -> int:
    return job.count(*BEING_PLACED, "Succeeded")


def is_ready(job: Job) -> bool:
    """Enough tasks hold a node, are done, or wait for backfill."""
    free = sum(pod.status == "Pending" and pod.best_effort for pod in job.pods)
    return ready_count(job) + free >= job.min_available


def roles_hold(job: Job, statuses: set[str], best_effort: bool) -> bool:
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


def may_wait(job: Job) -> bool:
    """Are tasks that hold a node or a promise enough?"""
    free = sum(pod.status == "Pending" and pod.best_effort for pod in job.pods)
    enough = job.count("Pipelined") + ready_count(job) + free >= job.min_available
    return enough and roles_hold(job, BEING_PLACED | {"Succeeded", "Pipelined"}, True)


def is_valid(job: Job) -> bool:
    """Could it become ready with the pods it has?"""
    valid = BEING_PLACED | {"Succeeded", "Pipelined", "Pending"}
    return roles_hold(job, valid, False) and job.count(*valid) >= job.min_available


def goes_on(job: Job, failed: set[str]) -> bool:
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
