"""What the counters of a job show: the conditions under which a phase is left (api-controllers.md 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from vcray.controllers.job.status import Status
from vcray.controllers.job.view import JobView


class Sign(StrEnum):
    """A condition, in the words of the documentation."""

    STARTED = "running, succeeded and failed pods reach minAvailable"
    EMPTY = "the job has no replicas"
    ENOUGH = "minSuccess pods succeeded"
    WELL = "all pods ended, enough of them well"
    OVER = "all pods ended"
    WAITING = "more pods wait than minAvailable leaves over"
    SPENT = "retryCount has reached maxRetry"
    CLEARED = "minAvailable pods are not being deleted any more"
    LIFELESS = "no pod is left"


def shows(sign: Sign, job: JobView, status: Status) -> bool:
    """Whether the job with these counters shows a sign."""
    return _RULES[sign](job, status)


def _started(job: JobView, status: Status) -> bool:
    counts = status.counts
    return job.min_available <= counts.running + counts.succeeded + counts.failed


def _enough(job: JobView, status: Status) -> bool:
    least = job.spec.min_success
    return least is not None and status.counts.succeeded >= least


def _over(job: JobView, status: Status) -> bool:
    return status.counts.succeeded + status.counts.failed == job.replicas


def _well(job: JobView, status: Status) -> bool:
    """With a minSuccess nothing else is good enough; a task that counts no pod is not asked for its minimum."""
    if job.spec.min_success is not None or not _over(job, status):
        return False
    return _tasks_succeeded(job, status) and status.counts.succeeded >= job.min_available


def _tasks_succeeded(job: JobView, status: Status) -> bool:
    """Every task reached its minimum; not asked when the job's own minimum is smaller than theirs together."""
    if job.min_available < sum(task.needed for task in job.tasks):
        return True
    tasks = status.counts.tasks
    return all(
        tasks[task.name].get("Succeeded", 0) >= task.needed for task in job.tasks if task.name in tasks
    )


def _waiting(job: JobView, status: Status) -> bool:
    """Never what starts a job at the same time: counters from before a scaling may show both, and the phase would swing
    between Pending and Running for as long as nothing is counted anew."""
    return status.counts.pending > job.replicas - job.min_available and not _started(job, status)


def _lifeless(job: JobView, status: Status) -> bool:
    counts = status.counts
    return not (counts.terminating or counts.pending or counts.running)


_RULES: Final[Mapping[Sign, Callable[[JobView, Status], bool]]] = {
    Sign.STARTED: _started,
    Sign.EMPTY: lambda job, status: job.replicas == 0,
    Sign.ENOUGH: _enough,
    Sign.WELL: _well,
    Sign.OVER: _over,
    Sign.WAITING: _waiting,
    Sign.SPENT: lambda job, status: status.retry_count >= job.max_retry,
    Sign.CLEARED: lambda job, status: job.replicas - status.counts.terminating >= status.min_available,
    Sign.LIFELESS: _lifeless,
}
