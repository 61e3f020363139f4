"""One turn of the job controller: the job as it now stands, and the ways to write to it.

A turn may write the object more than once (first the phase, then the counters); it carries the newest answer along, so
that each write starts from the resourceVersion of the one before. A write that meets a newer object fails the turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from vcray.api.batch import JobPhase
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import JOBS
from vcray.controllers import raw
from vcray.controllers.base import (
    Effects,
    Emit,
    EventType,
    Outcome,
    Patch,
    Read,
    ReconcileError,
    Seen,
    Steps,
    UpdateStatus,
)
from vcray.controllers.job.status import Status, status_of, with_status
from vcray.controllers.job.view import JobView, view_job
from vcray.controllers.jobplugins.base import JobPlugin, find_plugin

_GOES_ON: Final = ("", JobPhase.PENDING, JobPhase.RUNNING, JobPhase.RESTARTING)


class Turn:
    """`job` and `status` are what the next write starts from."""

    def __init__(self, job: JobView, seen: Seen, now: float) -> None:
        self.job = job
        self.seen = seen
        self.now = now
        self.status = status_of(job)

    def event(self, kind: EventType, reason: str, message: str) -> Effects:
        """Record an event on the job."""
        yield Emit(JOBS, self.job.raw, kind, reason, message)

    def lives(self) -> Steps[bool]:
        """Ask the server whether the job is still there: our mirror may be behind, and what is made for a dead job is
        collected, seen to be missing and made again without end (volcano-sh/volcano#3357)."""
        outcome = yield Read(JOBS, self.job.namespace, self.job.name)
        if outcome.not_found:
            return False
        return outcome.object is None or raw.uid(outcome.object) == self.job.uid

    def write_status(self, status: Status) -> Effects:
        """Write the status; a job that is gone by now needs none. Raises ReconcileError."""
        outcome = yield UpdateStatus(JOBS, with_status(self.job, status))
        if not outcome.not_found:
            self._took(outcome, "update the status")
        self.status = status

    def patch_job(self, patch: list[JsonValue]) -> Effects:
        """Change the job itself by JSON patch; the status in memory stays. Raises ReconcileError."""
        outcome = yield Patch(JOBS, self.job.namespace, self.job.name, patch, "json")
        self._took(outcome, "update the job")

    def annotate(self, key: str, value: str) -> Effects:
        """Set an annotation of the job. Raises ReconcileError."""
        note: JsonObject = {"metadata": {"annotations": {key: value}}}
        outcome = yield Patch(JOBS, self.job.namespace, self.job.name, note)
        self._took(outcome, "annotate the job")

    def mark(self, key: str, value: str | None) -> None:
        """Note in memory that the job has set something up (None: no longer); the next status write stores it."""
        controlled = {name: item for name, item in self.status.controlled.items() if name != key}
        if value is not None:
            controlled[key] = value
        self.status = replace(self.status, controlled=controlled)

    def plugins(self) -> Iterable[tuple[str, JobPlugin]]:
        """The job's plugins by name: alphabetically, those that dress pods last at the end. ReconcileError when one is
        unknown."""
        last = []
        for name, arguments in sorted(self.job.spec.plugins.items()):
            found = find_plugin(name)
            if found is None:
                raise ReconcileError(f"failed to get plugin {name}")
            if found.dresses_last:
                last.append((name, found(arguments)))
            else:
                yield name, found(arguments)
        yield from last

    def _took(self, outcome: Outcome, doing: str) -> None:
        if not outcome.ok:
            raise ReconcileError(f"{doing} of {self.job.namespace}/{self.job.name}: {outcome.message}")
        if outcome.object is not None:
            self.job = view_job(outcome.object) or self.job


def plugin_mark(name: str) -> str:
    """Key in controlledResources that a plugin leaves."""
    return f"plugin-{name}"


def run_job_add(turn: Turn) -> Effects:
    """Let the plugins make their objects, each until it succeeded once."""
    try:
        for name, plugin in turn.plugins():
            if turn.status.controlled.get(plugin_mark(name)) != name:
                yield from plugin.on_job_add(turn.job)
                if plugin.leaves_mark:
                    turn.mark(plugin_mark(name), name)
    except ReconcileError as error:
        message = f"Execute plugin when job add failed, err: {error}"
        yield from turn.event("Warning", "PluginError", message)
        raise


def run_job_update(turn: Turn) -> Effects:
    """Let the plugins bring their objects up to date. What was taken away, as while a job restarts, comes back with the next
    start only: of a job that never starts again it would be left behind."""
    try:
        for name, plugin in turn.plugins():
            if not plugin.leaves_mark or turn.status.controlled.get(plugin_mark(name)) == name:
                yield from plugin.on_job_update(turn.job)
    except ReconcileError as error:
        message = f"Execute plugin when job add failed, err: {error}"
        yield from turn.event("Warning", "PluginError", message)
        raise


def run_job_delete(turn: Turn) -> Effects:
    """Let the plugins that have set up something take it away; while the job goes on, what new pods need may stay."""
    goes_on = turn.status.phase in _GOES_ON
    for name, arguments in sorted(turn.job.spec.plugins.items()):
        found = find_plugin(name)
        if found is None or turn.status.controlled.get(plugin_mark(name)) != name:
            continue
        plugin = found(arguments)
        if goes_on and (yield from plugin.on_job_restart(turn.job)):
            continue
        if not goes_on:
            yield from plugin.on_job_delete(turn.job)
        turn.mark(plugin_mark(name), None)
