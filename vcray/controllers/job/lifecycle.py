"""What an action does to a job, by the phase that the job is in. This table is the rule book.

A step is *what to do* (sync the pods with the spec, kill all pods, kill the pods of a target), whether finished pods
are kept when all are killed, and *what follows*: a function from the job and its new counters to the next status.
Phases move in two steps on purpose: Restarting, Aborting, Terminating and Completing are written while pods are
still being deleted, and left by a later turn, so that a watcher sees each of them.

Volcano's states are the model (pkg/controllers/job/state), with one departure: a resume is not a retry
(volcano-sh/volcano#3067).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from vcray.api.batch import JobAction, JobPhase
from vcray.controllers.job.status import Status
from vcray.controllers.job.view import JobView

OTHER: Final = "other"
"""Stands in the table for every action that has no row of its own."""

TARGETED: Final = (JobAction.RESTART_TASK, JobAction.RESTART_POD, JobAction.RESTART_PARTITION)
FINISHED: Final = (JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED)
RESTING: Final = (*FINISHED, JobPhase.ABORTED)
"""Phases that nothing but a resume (of Aborted) leaves."""


class Do(Enum):
    """What a step does before its status is worked out."""

    SYNC = "sync"
    KILL_ALL = "kill all"
    KILL_UNFINISHED = "kill unfinished"
    KILL_TARGET = "kill target"


Follow: TypeAlias = Callable[[JobView, Status], Status]


@dataclass(frozen=True, slots=True)
class Step:
    """One cell of the table."""

    do: Do
    then: Follow


def stay(job: JobView, status: Status) -> Status:
    """Keep the phase."""
    return status


def restart(job: JobView, status: Status) -> Status:
    """Enter Restarting, at the cost of a retry."""
    return replace(status, phase=JobPhase.RESTARTING.value, retry_count=status.retry_count + 1)


def resume(job: JobView, status: Status) -> Status:
    """Enter Restarting; a resume costs no retry."""
    return replace(status, phase=JobPhase.RESTARTING.value)


def abort(job: JobView, status: Status) -> Status:
    """Enter Aborting."""
    return replace(status, phase=JobPhase.ABORTING.value)


def terminate(job: JobView, status: Status) -> Status:
    """Enter Terminating."""
    return replace(status, phase=JobPhase.TERMINATING.value)


def complete(job: JobView, status: Status) -> Status:
    """Enter Completing."""
    return replace(status, phase=JobPhase.COMPLETING.value)


def start(job: JobView, status: Status) -> Status:
    """Running once as many pods as the minimum run or have run."""
    counts = status.counts
    if job.min_available <= counts.running + counts.succeeded + counts.failed:
        return replace(status, phase=JobPhase.RUNNING.value)
    return status


def finish(job: JobView, status: Status) -> Status:
    """Completed or Failed when all pods have ended (or enough succeeded); Pending when too many wait again."""
    counts, total, least = status.counts, job.replicas, job.spec.min_success
    if total == 0:
        return status
    if least is not None and counts.succeeded >= least:
        return replace(status, phase=JobPhase.COMPLETED.value)
    if counts.succeeded + counts.failed == total:
        good = least is None and _tasks_succeeded(job, status) and counts.succeeded >= job.min_available
        return replace(status, phase=(JobPhase.COMPLETED if good else JobPhase.FAILED).value)
    if counts.pending > total - job.min_available:
        return replace(status, phase=JobPhase.PENDING.value)
    return status


def _tasks_succeeded(job: JobView, status: Status) -> bool:
    """Every task reached its minimum; not asked when the job's own minimum is smaller than theirs together."""
    if job.min_available < sum(task.needed for task in job.tasks):
        return True
    tasks = status.counts.tasks
    return all(
        tasks[task.name].get("Succeeded", 0) >= task.needed for task in job.tasks if task.name in tasks
    )


def restarted(job: JobView, status: Status) -> Status:
    """Failed when the retries are used up; Pending once enough pods are no longer being deleted."""
    if status.retry_count >= job.max_retry:
        return replace(status, phase=JobPhase.FAILED.value)
    if job.replicas - status.counts.terminating >= status.min_available:
        return replace(status, phase=JobPhase.PENDING.value)
    return status


def _ended(phase: JobPhase) -> Follow:
    def follow(job: JobView, status: Status) -> Status:
        counts = status.counts
        alive = counts.terminating or counts.pending or counts.running
        return status if alive else replace(status, phase=phase.value)

    follow.__name__ = f"{phase.value} when no pod is left"
    return follow


_aborted = _ended(JobPhase.ABORTED)
_terminated = _ended(JobPhase.TERMINATED)
_completed = _ended(JobPhase.COMPLETED)


def unfinished(then: Follow) -> Follow:
    """The same, but not into an end phase: an action that is due later still has to find the job alive."""

    def follow(job: JobView, status: Status) -> Status:
        after = then(job, status)
        return status if after.phase in FINISHED else after

    return follow


def _alive(sync: Follow) -> Mapping[str, Step]:
    return {
        JobAction.RESTART_JOB: Step(Do.KILL_ALL, restart),
        **{action: Step(Do.KILL_TARGET, restart) for action in TARGETED},
        JobAction.ABORT_JOB: Step(Do.KILL_UNFINISHED, abort),
        JobAction.TERMINATE_JOB: Step(Do.KILL_UNFINISHED, terminate),
        JobAction.COMPLETE_JOB: Step(Do.KILL_UNFINISHED, complete),
        OTHER: Step(Do.SYNC, sync),
    }


TABLE: Final[Mapping[str, Mapping[str, Step]]] = {
    "": _alive(start),
    JobPhase.PENDING: _alive(start),
    JobPhase.RUNNING: _alive(finish),
    JobPhase.RESTARTING: {
        **{action: Step(Do.KILL_TARGET, restarted) for action in TARGETED},
        JobAction.SYNC_JOB: Step(Do.SYNC, restarted),
        OTHER: Step(Do.KILL_ALL, restarted),
    },
    JobPhase.ABORTING: {
        JobAction.RESUME_JOB: Step(Do.KILL_UNFINISHED, resume),
        OTHER: Step(Do.KILL_UNFINISHED, _aborted),
    },
    JobPhase.ABORTED: {
        JobAction.RESUME_JOB: Step(Do.KILL_UNFINISHED, resume),
        OTHER: Step(Do.KILL_UNFINISHED, stay),
    },
    JobPhase.TERMINATING: {OTHER: Step(Do.KILL_UNFINISHED, _terminated)},
    JobPhase.COMPLETING: {OTHER: Step(Do.KILL_UNFINISHED, _completed)},
    **{phase: {OTHER: Step(Do.KILL_UNFINISHED, stay)} for phase in FINISHED},
}
"""phase -> action -> step."""


def step_for(phase: str, action: str) -> Step:
    """The cell of the table for a phase and an action."""
    row = TABLE[phase]
    return row.get(action, row[OTHER])
