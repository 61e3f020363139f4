"""What an action does to a job, by the phase that the job is in. This table is the rule book.

A step is *what to do* (sync the pods with the spec, kill all pods, kill the pods of a target), whether finished pods
are kept when all are killed, and *what follows*: the phase that is entered, or the ways out, of which the first whose sign
the new counters show is taken (`signs`).
Phases move in two steps on purpose: Restarting, Aborting, Terminating and Completing are written while pods are
still being deleted, and left by a later turn, so that a watcher sees each of them.

Volcano's states are the model (api-controllers.md 2.4), with one departure: a resume is not a retry
(volcano-sh/volcano#3067). docs/controllers.md shows the table and draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias

from vcray.api.batch import JobAction, JobPhase
from vcray.controllers.job.signs import Sign, shows
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


Then: TypeAlias = Callable[[JobView, Status], Status]
"""From the job and its new counters to the next status."""


@dataclass(frozen=True, slots=True)
class Follow:
    """What becomes of the phase: `enters` one at once, perhaps as a retry, or takes the first of `ways` that shows."""

    name: str
    enters: JobPhase | None = None
    is_retry: bool = False
    ways: tuple[tuple[Sign, JobPhase], ...] = ()

    def __call__(self, job: JobView, status: Status) -> Status:
        if self.enters is not None:
            retries = status.retry_count + (1 if self.is_retry else 0)
            return replace(status, phase=self.enters.value, retry_count=retries)
        for sign, phase in self.ways:
            if shows(sign, job, status):
                return replace(status, phase=phase.value)
        return status

    @property
    def targets(self) -> tuple[JobPhase, ...]:
        """Phases that it may lead to, beside the one that it starts from."""
        return (self.enters,) if self.enters is not None else tuple(phase for _, phase in self.ways)


@dataclass(frozen=True, slots=True)
class Step:
    """One cell of the table."""

    do: Do
    then: Follow


stay: Final = Follow("stay")
restart: Final = Follow("Restarting, retryCount + 1", JobPhase.RESTARTING, is_retry=True)
resume: Final = Follow("Restarting", JobPhase.RESTARTING)
abort: Final = Follow("Aborting", JobPhase.ABORTING)
terminate: Final = Follow("Terminating", JobPhase.TERMINATING)
complete: Final = Follow("Completing", JobPhase.COMPLETING)
start: Final = Follow("start", ways=((Sign.STARTED, JobPhase.RUNNING),))
finish: Final = Follow(
    "finish",
    ways=(
        (Sign.EMPTY, JobPhase.RUNNING),
        (Sign.ENOUGH, JobPhase.COMPLETED),
        (Sign.WELL, JobPhase.COMPLETED),
        (Sign.OVER, JobPhase.FAILED),
        (Sign.WAITING, JobPhase.PENDING),
    ),
)
restarted: Final = Follow("restarted", ways=((Sign.SPENT, JobPhase.FAILED), (Sign.CLEARED, JobPhase.PENDING)))


def _ended(phase: JobPhase) -> Follow:
    return Follow(f"{phase.value} when {Sign.LIFELESS.value}", ways=((Sign.LIFELESS, phase),))


def unfinished(then: Follow) -> Then:
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
        OTHER: Step(Do.KILL_UNFINISHED, _ended(JobPhase.ABORTED)),
    },
    JobPhase.ABORTED: {
        JobAction.RESUME_JOB: Step(Do.KILL_UNFINISHED, resume),
        OTHER: Step(Do.KILL_UNFINISHED, stay),
    },
    JobPhase.TERMINATING: {OTHER: Step(Do.KILL_UNFINISHED, _ended(JobPhase.TERMINATED))},
    JobPhase.COMPLETING: {OTHER: Step(Do.KILL_UNFINISHED, _ended(JobPhase.COMPLETED))},
    **{phase: {OTHER: Step(Do.KILL_UNFINISHED, stay)} for phase in FINISHED},
}
"""phase -> action -> step. A job without a phase is written as Pending before it is synced."""


def step_for(phase: str, action: str) -> Step:
    """The cell of the table for a phase and an action."""
    row = TABLE[phase]
    return row.get(action, row[OTHER])
