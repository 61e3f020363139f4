"""The vcjob controller: requests in, one action of the lifecycle table out.

It remembers delayed actions (see `policies`) and evictions that were not answered yet (see `evictions`) and nothing else
that counts; parsed jobs are kept by resourceVersion to save time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Final

from vcray.api.batch import JobAction, JobEvent, JobPhase
from vcray.api.duration import SECOND, format_duration
from vcray.api.jobsize import too_many_pods
from vcray.api.resources import COMMANDS, JOBS, PODGROUPS, PODS, PRIORITYCLASSES, QUEUES, Resource
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    Change,
    Delete,
    Effects,
    Emit,
    ReconcileError,
    Request,
    Seen,
    one_object_each,
)
from vcray.controllers.job import events
from vcray.controllers.job.evictions import Evictions
from vcray.controllers.job.kill import kill_all, kill_target, target_of
from vcray.controllers.job.lifecycle import TABLE, TARGETED, Do, step_for, unfinished
from vcray.controllers.job.policies import SYNC, Answer, Delayed, Timers, has_policies, has_timeouts, resolve
from vcray.controllers.job.request import CommandRequest, JobRequest
from vcray.controllers.job.sync import sync_job
from vcray.controllers.job.turn import Turn
from vcray.controllers.job.view import JobView, view_job

_INTERNAL_ACTIONS: Final = (JobAction.SYNC_JOB, JobAction.ENQUEUE_JOB, JobAction.SYNC_QUEUE)
_NOTICING: Final = (JobPhase.PENDING, JobPhase.RUNNING)
_MAX_VIEWS: Final = 10_000


class JobController:
    """Keeps pods and PodGroup of every vcjob, and moves the job through its phases."""

    name: ClassVar[str] = "job-controller"
    watches: ClassVar[tuple[Resource, ...]] = (JOBS, PODS, PODGROUPS, QUEUES, COMMANDS, PRIORITYCLASSES)
    starts_anew: bool = False

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self.timers = Timers()
        self.evictions = Evictions()
        self._told: set[str] = set()
        self._views: dict[str, tuple[str, JobView | None]] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """See `events` for what each change means."""
        if change.resource == QUEUES:
            return events.queue_requests(change, seen)
        found = (self._request(each, seen) for each in one_object_each(change))
        return [request for request in found if request is not None]

    def _request(self, change: Change, seen: Seen) -> JobRequest | CommandRequest | None:
        if change.resource == PODS:
            return self._pod_request(change, seen)
        if change.resource == PODGROUPS:
            return self._group_request(change, seen)
        if change.resource == JOBS:
            if change.new is None:
                self._forget(change)
            return events.job_request(change)
        return events.command_request(change) if change.resource == COMMANDS else None

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Carry out a request; one for a job that is gone, that cannot be read or asks for too many pods, is dropped."""
        if isinstance(request, CommandRequest):
            yield from self._take_command(request, seen)
        elif isinstance(request, JobRequest):
            job = self._view(request.namespace, request.job, seen)
            if job is not None and job.phase in TABLE:
                self._told.discard(job.uid)
                yield from self._handle(request, Turn(job, seen, now))
            else:
                self.evictions.answered(request)
                yield from self._tell_too_many(request, seen)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """A request that failed too often ends its job."""
        if not isinstance(request, JobRequest):
            return
        self.evictions.answered(request)
        job = self._view(request.namespace, request.job, seen)
        if job is None or job.phase not in TABLE:
            return
        turn = Turn(job, seen, now)
        delayed = self.timers.due(request)
        if delayed:
            action = delayed.action
            self.timers.drop(request.key, [delayed])
        else:
            taken_up, answer = self._answer(request, turn)
            action = answer.action
            self.evictions.answered(taken_up)
        message = f"Job failed on action {action} for retry limit reached"
        yield from turn.event("Normal", "ExecuteAction", message)
        yield from self._act(turn, JobAction.TERMINATE_JOB.value, request)

    def _pod_request(self, change: Change, seen: Seen) -> JobRequest | None:
        pod = change.object
        job = self._view(raw.namespace(pod), raw.text(raw.controller(pod), "name"), seen)
        request = events.pod_request(change, job, seen)
        if request is None:
            return None
        if job is not None and not has_timeouts(job) and resolve(request, job) == SYNC:
            # No policy cares: all such events of the job are one request, so that n pods do not cost n * n steps.
            return JobRequest(namespace=request.namespace, job=request.job)
        if request.event == JobEvent.POD_EVICTED and (job is None or resolve(request, job) != SYNC):
            self.evictions.note(request)  # at the start the job may not be known yet; `reconcile` knows
        return request

    def _group_request(self, change: Change, seen: Seen) -> JobRequest | None:
        """A group that is Unknown when it is first seen counts, unless the answer leaves it so: then it was given already."""
        request = events.podgroup_request(change, seen)
        if request is None or change.old is not None or request.event != JobEvent.UNKNOWN:
            return request
        job = self._view(request.namespace, request.job, seen)
        if job is not None and resolve(request, job).action in TARGETED:
            return JobRequest(namespace=request.namespace, job=request.job)
        return request

    def _handle(self, request: JobRequest, turn: Turn) -> Effects:
        if request.timer:
            delayed = self.timers.due(request)
            if delayed is not None and delayed.request.uid in ("", turn.job.uid):
                yield from self._act(turn, delayed.action, delayed.request, delayed)
                self.timers.drop(request.key, [delayed])
                self.timers.on_action(delayed.request, delayed.action)
            return
        self.timers.on_event(request, turn.seen.get(PODS, request.namespace, request.pod))
        if request.event == JobEvent.POD_EVICTED and not self.evictions.waits(request):
            request = JobRequest(
                namespace=request.namespace, job=request.job
            )  # a sync has answered it already
        asked = request
        request, answer = self._answer(asked, turn)
        if answer.delay_s:
            yield from self._delay(request, answer, turn)
            answer = SYNC
        if answer.action != JobAction.SYNC_JOB:
            yield from turn.event("Normal", "ExecuteAction", f"Start to execute action {answer.action} ")
        yield from self._act(turn, answer.action, request)
        for each in (asked, request):
            self.evictions.answered(each)
        if answer.action not in _INTERNAL_ACTIONS:
            self.timers.on_action(request, answer.action)

    def _answer(self, request: JobRequest, turn: Turn) -> tuple[JobRequest, Answer]:
        """The action of a request. Where that is but a sync, an event whose policy has not acted yet goes first: it may
        have been missed, and a sync might end the job for good."""
        answer = resolve(request, turn.job)
        return (answer == SYNC and self._unanswered(turn, request)) or (request, answer)

    def _unanswered(self, turn: Turn, request: JobRequest) -> tuple[JobRequest, Answer] | None:
        """An event other than this request that pods still show, or an eviction, whose policy has not acted yet."""
        if turn.job.phase not in _NOTICING or turn.job.deleting or not has_policies(turn.job):
            return None
        for shown in (*self.evictions.of(request.key), *events.shown_by_pods(turn.job, turn.seen)):
            due = resolve(shown, turn.job)
            if shown == request:
                continue
            if due.action == JobAction.RESTART_PARTITION and not shown.partition:
                continue
            if due.delay_s and self.timers.is_armed(shown, due.action):
                continue
            if step_for(turn.job.phase, due.action).do is not Do.SYNC:
                return shown, due
        return None

    def _delay(self, request: JobRequest, answer: Answer, turn: Turn) -> Effects:
        delayed = self.timers.arm(request, answer, turn.now)
        if delayed is None:
            return
        after = format_duration(round(answer.delay_s * SECOND))
        message = f"Execute action {answer.action} after {after}"
        yield from turn.event("Normal", "ExecuteAction", message)
        yield Again(answer.delay_s, replace(request, timer=delayed.serial))

    def _act(self, turn: Turn, action: str, request: JobRequest, delayed: Delayed | None = None) -> Effects:
        step = step_for(turn.job.phase, action)
        if step.do is Do.SYNC:
            held = self.timers.awaits_failure(request.key, turn.job.uid, delayed)
            then = unfinished(step.then) if held else step.then
            if not (yield from sync_job(turn, then, lambda: self._unanswered(turn, request) is not None)):
                yield Again(0, JobRequest(namespace=request.namespace, job=request.job))
        elif step.do is Do.KILL_TARGET:
            chosen = target_of(turn, action, request.task, request.pod, request.partition)
            if chosen is None:
                yield from self._act(turn, JobAction.SYNC_JOB.value, request)
            else:
                yield from kill_target(turn, chosen, step.then)
        else:
            yield from kill_all(turn, step.do is Do.KILL_UNFINISHED, step.then)

    def _take_command(self, request: CommandRequest, seen: Seen) -> Effects:
        """Delete the command first, so that it acts once at most; then queue its action."""
        outcome = yield Delete(COMMANDS, request.namespace, request.command, uid=request.command_uid)
        if outcome.not_found or outcome.conflict:
            return
        if not outcome.ok:
            raise ReconcileError(f"delete Command {request.command}: {outcome.message}", counts=False)
        job = seen.get(JOBS, request.namespace, request.job)
        if job is None:
            return
        message = f"Start to execute command {request.action}, and clean it up to make sure executed not more than once."
        yield Emit(JOBS, job, "Normal", "CommandIssued", message)
        event = JobEvent.COMMAND_ISSUED.value
        yield Again(
            0, JobRequest(namespace=request.namespace, job=request.job, event=event, action=request.action)
        )

    def _tell_too_many(self, request: JobRequest, seen: Seen) -> Effects:
        """Say once of a job that no webhook refused that it asks for more pods than it may have."""
        stored = seen.get(JOBS, request.namespace, request.job)
        if stored is None or raw.uid(stored) in self._told:
            return
        message = too_many_pods(stored)
        if message:
            self._told.add(raw.uid(stored))
            yield Emit(JOBS, stored, "Warning", "TooManyPods", message)

    def _view(self, namespace: str, name: str, seen: Seen) -> JobView | None:
        stored = seen.get(JOBS, namespace, name)
        if stored is None:
            return None
        uid, version = raw.uid(stored), raw.version(stored)
        known = self._views.get(uid)
        if known is None or known[0] != version or not version:
            if len(self._views) >= _MAX_VIEWS:
                self._views.clear()
            known = self._views[uid] = (version, view_job(stored))
        return known[1]

    def _forget(self, change: Change) -> None:
        gone = change.object
        key = f"{raw.namespace(gone)}/{raw.name(gone)}"
        waiting = self.timers.jobs.get(key, {})
        self.timers.drop(key, [item for item in waiting.values() if item.request.uid in ("", raw.uid(gone))])
        self.evictions.forget(key, raw.uid(gone))
        self._views.pop(raw.uid(gone), None)
        self._told.discard(raw.uid(gone))
