"""The JobFlow controller: makes the jobs that are due, writes the status, deletes the jobs of a flow that succeeded.

A phase is written before it is left, so a watcher sees each; a flow whose phase has just changed is looked at once more,
since no event may follow. Remembered are the last error of a request, for the event that tells of it, and jobs that
ended and went, by their time to live, until their flow has noted that: moments later, unless its status cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from vcray.api.flow import FlowPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES, Resource
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    All,
    Change,
    Create,
    Delete,
    Effects,
    Emit,
    Read,
    ReconcileError,
    Request,
    Seen,
    Steps,
    UpdateStatus,
    one_object_each,
)
from vcray.controllers.jobflow.jobs import (
    ENDED,
    FlowJobs,
    belongs,
    flow_of,
    goes_by_itself,
    job_from,
    phase_of,
)
from vcray.controllers.jobflow.lifecycle import TABLE, Do, next_phase
from vcray.controllers.jobflow.status import flow_status, tally


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """Bring a flow up to date."""

    namespace: str
    flow: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.flow}"


class JobFlowController:
    """Runs the jobs of every JobFlow in the order of their dependencies."""

    name: ClassVar[str] = "jobflow-controller"
    watches: ClassVar[tuple[Resource, ...]] = (JOBFLOWS, JOBTEMPLATES, JOBS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._errors: dict[Request, str] = {}
        self._vanished: dict[FlowRequest, dict[str, JsonObject]] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Flows that appear, or whose jobs have to go; changes of their jobs; what a flow was waiting for: a template
        that appears, a job that is not the flow's and frees its name. The deletion of its own job asks for nothing, unless
        it has ended and has a time to live."""
        for each in one_object_each(change):
            if change.resource == JOBFLOWS:
                yield from _on_flow(each)
            elif change.resource == JOBTEMPLATES:
                yield from _on_template(each, seen)
            elif change.resource == JOBS:
                yield from self._on_job(each, seen)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Bring a flow up to date; one that is gone, or being deleted, is left alone."""
        assert isinstance(request, FlowRequest)
        flow = seen.get(JOBFLOWS, request.namespace, request.flow)
        vanished = dict(self._vanished.get(request, {}))
        if flow is not None and not raw.terminating(flow):
            try:
                yield from _sync(FlowJobs(flow, seen, vanished), request, seen, now)
            except ReconcileError as error:
                self._errors[request] = str(error)
                raise
        self._errors.pop(request, None)
        left = {name: job for name, job in self._vanished.pop(request, {}).items() if name not in vanished}
        if left and flow is not None:
            self._vanished[request] = left

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Say so on the flow."""
        assert isinstance(request, FlowRequest)
        error = self._errors.pop(request, "")
        flow = seen.get(JOBFLOWS, request.namespace, request.flow)
        if flow is not None:
            yield Emit(JOBFLOWS, flow, "Warning", "SyncJobFlow", f"SyncJobFlow JobFlow failed for {error}")

    def _on_job(self, change: Change, seen: Seen) -> Iterable[Request]:
        job = change.object
        if change.new is not None:
            if change.old is not None and flow_of(job):
                yield FlowRequest(raw.namespace(job), flow_of(job))
            return
        noteworthy = phase_of(job) in ENDED and goes_by_itself(job)
        for flow in _naming(job, seen):
            request = _request_for(flow)
            if not belongs(job, flow):
                yield request
            elif noteworthy:
                self._vanished.setdefault(request, {})[raw.name(job)] = job
                yield request


def _naming(job: JsonObject, seen: Seen) -> Iterable[JsonObject]:
    """The flows that have a job of this name, however it is cut into theirs and a template's."""
    words = raw.name(job).split("-")
    for cut in range(1, len(words)):
        flow = seen.get(JOBFLOWS, raw.namespace(job), "-".join(words[:cut]))
        if flow is not None and "-".join(words[cut:]) in _names(flow):
            yield flow


def _on_flow(change: Change) -> Iterable[Request]:
    flow = change.new
    if flow is not None and (change.old is None or (_phase(flow) is FlowPhase.SUCCEED and _deletes(flow))):
        yield _request_for(flow)


def _on_template(change: Change, seen: Seen) -> Iterable[Request]:
    if change.old is None:
        template = change.object
        for flow in seen.list(JOBFLOWS, raw.namespace(template)):
            if raw.name(template) in _names(flow):
                yield _request_for(flow)


def _sync(jobs: FlowJobs, request: FlowRequest, seen: Seen, now: float) -> Effects:
    flow = jobs.flow
    do = TABLE[_phase(flow)].do
    if do is Do.NOTHING:
        return
    if do is Do.MAKE_OR_DELETE and _deletes(flow):
        yield from _delete_all(jobs.own)
        return
    made: dict[str, JsonObject] = {}
    problems: list[str] = []
    due = jobs.due()
    if due:
        if not (yield from _lives(flow)):
            return
        problems = yield from _make(due, jobs, seen, made)
    problems += [f'jobs.batch.volcano.sh "{name}" already exists' for name in jobs.foreign]
    yield from _write(jobs, {**jobs.own, **made}, request, now)
    if problems:
        raise ReconcileError(problems[0])


def _lives(flow: JsonObject) -> Steps[bool]:
    """Ask the server whether the flow is still there: what is made for a dead one is only collected again."""
    outcome = yield Read(JOBFLOWS, raw.namespace(flow), raw.name(flow))
    if outcome.not_found:
        return False
    found = outcome.object
    return found is None or (raw.uid(found) == raw.uid(flow) and not raw.terminating(found))


def _make(due: list[str], jobs: FlowJobs, seen: Seen, made: dict[str, JsonObject]) -> Steps[list[str]]:
    """Make a job of each of these templates, in order, into `made`; sentences for those that could not be."""
    problems = []
    for name in due:
        template = seen.get(JOBTEMPLATES, raw.namespace(jobs.flow), name)
        if template is None:
            problems.append(f'jobtemplate.flow.volcano.sh "{name}" not found')
            continue
        job = jobs.job_name(name)
        outcome = yield Create(JOBS, job_from(jobs.flow, template))
        if outcome.ok:
            made[job] = outcome.object or {}
            yield Emit(JOBFLOWS, jobs.flow, "Normal", "Created", f"create a job named {job}!")
        elif not outcome.already_exists:
            problems.append(outcome.why)
    return problems


def _write(jobs: FlowJobs, there: Mapping[str, JsonObject], request: FlowRequest, now: float) -> Effects:
    """Write the status where it differs from the stored one."""
    flow = jobs.flow
    stored = raw.table(flow, "status")
    done = all(jobs.completed(name) for name in jobs.wanted)
    phase = next_phase(_phase(flow), tally(jobs.phases(), done))
    status: JsonObject = {**flow_status(stored, there, now), "state": {"phase": phase.value}}
    if status == stored:
        return
    outcome = yield UpdateStatus(JOBFLOWS, {**flow, "status": status})
    if outcome.not_found:
        return
    if not outcome.ok:
        raise ReconcileError(outcome.why)
    if raw.text(stored, "state", "phase") != phase.value:
        yield from _entered(jobs)
        yield Again(0, request)


def _entered(jobs: FlowJobs) -> Effects:
    """A phase was entered: tell of what makes the flow other than it reads."""
    doubles = jobs.doubles()
    if doubles:
        message = f"flows {', '.join(doubles)} stand more than once, one job is made for each name"
        yield Emit(JOBFLOWS, jobs.flow, "Warning", "DuplicateFlow", message)


def _delete_all(own: Mapping[str, JsonObject]) -> Effects:
    """Delete the jobs that are not on their way already. Raises ReconcileError."""
    outcome = yield All(
        tuple(
            Delete(JOBS, raw.namespace(job), raw.name(job), uid=raw.uid(job))
            for job in own.values()
            if not raw.terminating(job)
        )
    )
    for part in outcome.parts:
        if not part.ok and not part.not_found and not part.conflict:
            raise ReconcileError(part.why)


def _request_for(flow: JsonObject) -> FlowRequest:
    return FlowRequest(raw.namespace(flow), raw.name(flow))


def _phase(flow: JsonObject) -> FlowPhase:
    stored = raw.text(flow, "status", "state", "phase")
    return FlowPhase(stored) if stored in list(FlowPhase) else FlowPhase.PENDING


def _deletes(flow: JsonObject) -> bool:
    return raw.text(flow, "spec", "jobRetainPolicy") == "delete"


def _names(flow: JsonObject) -> list[str]:
    return [raw.text(each, "name") for each in raw.tables(flow, "spec", "flows")]
