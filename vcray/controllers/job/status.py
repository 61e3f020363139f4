"""A job's status as a value: read from the object, changed by `replace`, written back as JSON.

Fields that are zero are left out on the wire, as Volcano leaves them out. `conditions` holds one entry a phase, the
latest last, so it cannot grow; its entries have no type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from vcray.api.duration import SECOND, format_duration
from vcray.api.meta import JsonObject, format_time
from vcray.api.times import seconds_of
from vcray.controllers import raw
from vcray.controllers.job.view import JobView, phase_of, task_of

_COUNTER_OF = {"Pending": "pending", "Running": "running", "Succeeded": "succeeded", "Failed": "failed"}
_COUNTERS = ("pending", "running", "succeeded", "failed", "terminating", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Pods by phase; those being deleted are only `terminating`. `tasks` is task -> pod phase -> number."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    tasks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """status of a Job; `changed` is state.lastTransitionTime, `controlled` is controlledResources."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    changed: str = ""
    min_available: int = 0
    counts: Counts = Counts()
    version: int = 0
    retry_count: int = 0
    running_duration: str = ""
    controlled: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[tuple[str, str], ...] = ()


def status_of(job: JobView) -> Status:
    """The stored status."""
    stored = raw.table(job.raw, "status")
    tasks = {
        task: {phase: raw.number(state, "phase", phase) for phase in raw.table(state, "phase")}
        for task, state in raw.table(stored, "taskStatusCount").items()
    }
    return Status(
        phase=raw.text(stored, "state", "phase"),
        reason=raw.text(stored, "state", "reason"),
        message=raw.text(stored, "state", "message"),
        changed=raw.text(stored, "state", "lastTransitionTime"),
        min_available=raw.number(stored, "minAvailable"),
        counts=Counts(**{name: raw.number(stored, name) for name in _COUNTERS}, tasks=tasks),
        version=raw.number(stored, "version"),
        retry_count=raw.number(stored, "retryCount"),
        running_duration=raw.text(stored, "runningDuration"),
        controlled=raw.texts(stored, "controlledResources"),
        conditions=tuple(
            (raw.text(entry, "status"), raw.text(entry, "lastTransitionTime"))
            for entry in raw.tables(stored, "conditions")
        ),
    )


def status_json(status: Status) -> JsonObject:
    """The wire form."""
    state: JsonObject = {"phase": status.phase, "reason": status.reason, "message": status.message}
    state["lastTransitionTime"] = status.changed
    result: JsonObject = {"state": {key: value for key, value in state.items() if value}}
    numbers: JsonObject = {
        "minAvailable": status.min_available,
        "version": status.version,
        "retryCount": status.retry_count,
        **{name: getattr(status.counts, name) for name in _COUNTERS},
    }
    result.update({name: number for name, number in numbers.items() if number})
    if status.counts.tasks:
        result["taskStatusCount"] = {
            task: {"phase": dict(sorted(phases.items()))} for task, phases in status.counts.tasks.items()
        }
    if status.running_duration:
        result["runningDuration"] = status.running_duration
    if status.controlled:
        result["controlledResources"] = raw.strings(status.controlled)
    if status.conditions:
        result["conditions"] = [
            {"status": phase, "lastTransitionTime": time} for phase, time in status.conditions
        ]
    return result


def with_status(job: JobView, status: Status) -> JsonObject:
    """The stored object with another status, its resourceVersion kept."""
    return {**job.raw, "status": status_json(status)}


def stamped(status: Status, now: float) -> Status:
    """Mark a change at `now`: the phase's condition moves to the end."""
    time = format_time(datetime.fromtimestamp(now, UTC))
    kept = tuple(entry for entry in status.conditions if entry[0] != status.phase)
    return replace(status, changed=time, conditions=(*kept, (status.phase, time)))


def with_running_duration(status: Status, job: JobView) -> Status:
    """Note how long it is from the job's creation to the last change."""
    changed = seconds_of(status.changed)
    if changed is None:
        return status
    return replace(status, running_duration=format_duration(round((changed - job.created_s) * SECOND)))


def counted(pods: Iterable[JsonObject], terminating: int) -> Counts:
    """Count pods by phase and by task; `terminating` of others are being deleted."""
    totals: Counter[str] = Counter()
    tasks: dict[str, Counter[str]] = {}
    for pod in pods:
        phase = phase_of(pod)
        totals[_COUNTER_OF.get(phase, "unknown")] += 1
        tasks.setdefault(task_of(pod), Counter())[phase] += 1
    by_task = {task: dict(phases) for task, phases in tasks.items()}
    return Counts(**totals, terminating=terminating, tasks=by_task)
