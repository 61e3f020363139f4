"""What a flow's status says of its jobs, computed from the stored status and the jobs themselves.

Lists hold names in alphabetical order, empty ones are left out. `jobStatusList` keeps the entries of jobs that are gone,
and in `runningHistories` one entry a phase, closed when the next phase is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from vcray.api.batch import JobPhase
from vcray.api.duration import DurationError, duration_seconds
from vcray.api.meta import JsonObject, JsonValue, format_time, parse_time
from vcray.controllers import raw
from vcray.controllers.jobflow.jobs import phase_of
from vcray.controllers.jobflow.lifecycle import Tally

LISTS: Final[Mapping[str, str]] = {
    JobPhase.PENDING: "pendingJobs",
    JobPhase.RUNNING: "runningJobs",
    JobPhase.FAILED: "failedJobs",
    JobPhase.COMPLETED: "completedJobs",
    JobPhase.TERMINATED: "terminatedJobs",
    JobPhase.COMPLETING: "",
    JobPhase.TERMINATING: "",
}
"""Phase of a job -> the list that names it, "" for none; any other phase is unknown. The rule is Volcano's."""

UNKNOWN: Final = "unKnowJobs"


def flow_status(stored: JsonObject, jobs: Mapping[str, JsonObject], now: float) -> JsonObject:
    """The status without its `state`: lists of names, `conditions` and `jobStatusList` of the jobs by name."""
    status: JsonObject = {}
    for name in sorted(jobs):
        where = LISTS.get(phase_of(jobs[name]), UNKNOWN)
        if where:
            raw.append(status, where, name)
    if jobs:
        status["conditions"] = {name: _condition(job) for name, job in sorted(jobs.items())}
    entries = {raw.text(entry, "name"): entry for entry in raw.tables(stored, "jobStatusList")}
    for name, job in sorted(jobs.items()):
        entries[name] = _entry(job, entries.get(name, {}), now)
    if entries:
        status["jobStatusList"] = list(entries.values())
    return status


def tally(phases: Sequence[str], done: bool) -> Tally:
    """Count phases of jobs."""
    return Tally(
        running=phases.count(JobPhase.RUNNING),
        completed=phases.count(JobPhase.COMPLETED),
        failed=phases.count(JobPhase.FAILED),
        terminated=phases.count(JobPhase.TERMINATED),
        done=done,
    )


def _condition(job: JsonObject) -> JsonObject:
    fields: JsonObject = {
        "phase": phase_of(job),
        "createTime": raw.text(job, "metadata", "creationTimestamp"),
        "runningDuration": raw.text(job, "status", "runningDuration"),
        "taskStatusCount": raw.copied(raw.table(job, "status", "taskStatusCount")),
    }
    return _filled(fields)


def _entry(job: JsonObject, before: JsonObject, now: float) -> JsonObject:
    created = raw.text(job, "metadata", "creationTimestamp")
    fields: JsonObject = {
        "name": raw.name(job),
        "state": phase_of(job),
        "startTimestamp": created,
        "endTimestamp": _ended(created, raw.text(job, "status", "runningDuration")),
        "restartCount": raw.number(job, "status", "retryCount"),
        "runningHistories": _histories(raw.tables(before, "runningHistories"), phase_of(job), now),
    }
    return _filled(fields)


def _ended(created: str, duration: str) -> str:
    try:
        return _written(parse_time(created).timestamp() + duration_seconds(duration))
    except (ValueError, OverflowError, DurationError):  # it has not ended, or does not say when
        return ""


def _histories(before: list[JsonObject], phase: str, now: float) -> list[JsonValue]:
    if not phase or (before and raw.text(before[-1], "state") == phase):
        return list(before)
    moment = _written(now)
    closed: list[JsonValue] = [*before[:-1], *({**last, "endTimestamp": moment} for last in before[-1:])]
    return [*closed, {"startTimestamp": moment, "state": phase}]


def _written(moment: float) -> str:
    return format_time(datetime.fromtimestamp(moment, UTC))


def _filled(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value}
