"""Deletes jobs some time after they ended: `ttlSecondsAfterFinished`, counted from the last status change.

Ended is Completed, Failed, Terminated and also Aborted (volcano-sh/volcano#3604): an aborted job that nobody resumes
within that time goes. Nothing is remembered; the first sight of each job arms its time again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from vcray.api.batch import JobPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, Resource
from vcray.api.times import seconds_of
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Delete, Effects, Read, ReconcileError, Request, Seen

_ENDED = (JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED, JobPhase.ABORTED)


@dataclass(frozen=True, slots=True)
class GarbageRequest:
    """Look whether this job object has outlived its time."""

    namespace: str
    job: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.job}"


class GarbageController:
    """Removes ended jobs when their time to live is over."""

    name: ClassVar[str] = "gc-controller"
    watches: ClassVar[tuple[Resource, ...]] = (JOBS,)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """An ended job with a time to live, at every change: the time counts from the last one."""
        job = change.new
        if job is not None and time_to_live(job) is not None:
            yield GarbageRequest(raw.namespace(job), raw.name(job), raw.uid(job))

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Wait for the rest of the time, or look at the live object once more and delete it."""
        assert isinstance(request, GarbageRequest)
        wait = _wait(seen.get(JOBS, request.namespace, request.job), request, now)
        if wait is None:
            return
        if wait > 0:
            yield Again(wait, request)
            return
        outcome = yield Read(JOBS, request.namespace, request.job)
        if not outcome.ok and not outcome.not_found:
            raise ReconcileError(f"read Job {request.key}: {outcome.message}", counts=False)
        wait = _wait(outcome.object, request, now) if outcome.ok else None
        if wait is None:
            return
        if wait > 0:
            yield Again(wait, request)
            return
        outcome = yield Delete(
            JOBS, request.namespace, request.job, uid=request.uid, propagation="Foreground"
        )
        if not outcome.ok and not outcome.not_found and not outcome.conflict:
            raise ReconcileError(f"delete Job {request.key}: {outcome.message}", counts=False)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Nothing: the job stays until its next change."""
        yield from ()


def time_to_live(job: JsonObject) -> int | None:
    """Seconds that an ended job may stay; None when it has not ended, is going, or may stay for ever."""
    seconds = raw.at(job, "spec", "ttlSecondsAfterFinished")
    ended = raw.text(job, "status", "state", "phase") in _ENDED and not raw.terminating(job)
    return seconds if ended and isinstance(seconds, int) else None


def _wait(job: JsonObject | None, request: GarbageRequest, now: float) -> float | None:
    """Seconds that are left, at most 0 when the time is over; None when the job is not (or no longer) to go."""
    if job is None or raw.uid(job) != request.uid:
        return None
    seconds = time_to_live(job)
    if seconds is None:
        return None
    changed = seconds_of(raw.at(job, "status", "state", "lastTransitionTime"))
    if changed is None:
        raise ReconcileError(f"Job {request.key} has ended, but its status does not say when")
    return changed + seconds - now
