"""What a job of a CronJob is: its name, how it is made, which time it was made for, and when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Final

from vcray.api import names
from vcray.api.batch import JobPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import CRONJOBS, JOBS
from vcray.controllers import raw
from vcray.controllers.cronjob.times import seconds_at

OVER: Final = (JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED, JobPhase.ABORTED)
"""Phases of jobs that hold up no other. An Aborted one counts again once it is resumed."""

HISTORY: Final = (
    ("successfulJobsHistoryLimit", 3, (JobPhase.COMPLETED,)),
    ("failedJobsHistoryLimit", 1, (JobPhase.FAILED, JobPhase.TERMINATED)),
)
"""Field of the spec, its default, and the phases of which so many jobs stay. Aborted jobs stay: somebody may resume them."""


class Beside(StrEnum):
    """What is done with a time that is due while earlier jobs are active."""

    MAKE = "makes the job"
    SKIP = (
        "skips it and leaves `lastScheduleTime`, so that the latest time that was skipped is started when the active job "
        "ends, if its deadline allows"
    )
    REPLACE = "deletes the active jobs, then makes it; makes none while one cannot be deleted"


CONCURRENCY: Final[Mapping[str, Beside]] = {
    "Allow": Beside.MAKE,
    "Forbid": Beside.SKIP,
    "Replace": Beside.REPLACE,
}
"""concurrencyPolicy -> what is done beside active jobs (api-controllers.md 4.4). No policy is Allow."""


def job_name(cron_job: JsonObject, slot: float) -> str:
    """Two times within one minute have one name: `<cronjob>-<minutes since the epoch>`."""
    return f"{raw.name(cron_job)}-{int(slot // 60)}"


def new_job(cron_job: JsonObject, slot: float, zone: tzinfo) -> JsonObject:
    """The job for a time, with that time in the CronJob's time zone as an annotation."""
    template = raw.copied(raw.table(cron_job, "spec", "jobTemplate"))
    moment = datetime.fromtimestamp(int(slot), zone).isoformat().replace("+00:00", "Z")
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "namespace": raw.namespace(cron_job),
            "name": job_name(cron_job, slot),
            "labels": raw.strings(raw.labels_of(template)),
            "annotations": {**raw.annotations_of(template), names.CRONJOB_SCHEDULED_TIMESTAMP: moment},
            "ownerReferences": [raw.owner_reference(CRONJOBS.api_version, CRONJOBS.kind, cron_job)],
        },
        "spec": raw.table(template, "spec"),
    }


def cron_job_of(job: JsonObject) -> tuple[str, str]:
    """(name, uid) of the CronJob that manages a job; empty texts if none does."""
    owner = raw.controller(job)
    if owner.get("kind") != CRONJOBS.kind or owner.get("apiVersion") != CRONJOBS.api_version:
        return "", ""
    return raw.text(owner, "name"), raw.text(owner, "uid")


def slot_of(job: JsonObject) -> float:
    """The time that a job was made for; 0 for one that no CronJob made by its schedule, whoever its owner is."""
    slot = seconds_at(job, "metadata", "annotations", names.CRONJOB_SCHEDULED_TIMESTAMP) or 0.0
    return slot if raw.name(job) == f"{cron_job_of(job)[0]}-{int(slot // 60)}" else 0.0


def phase_of(job: JsonObject) -> str:
    """status.state.phase."""
    return raw.text(job, "status", "state", "phase")


def is_over(job: JsonObject) -> bool:
    """The job has ended, or stands still until somebody resumes it."""
    return phase_of(job) in OVER


def reference_to(job: JsonObject) -> JsonObject:
    """An entry of status.active."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "namespace": raw.namespace(job),
        "name": raw.name(job),
        "uid": raw.uid(job),
        "resourceVersion": raw.version(job),
    }


def history_to_delete(cron_job: JsonObject, jobs: Sequence[JsonObject]) -> list[JsonObject]:
    """The oldest ended jobs beyond the limits."""
    found: list[JsonObject] = []
    for field, usual, phases in HISTORY:
        limit = raw.number(cron_job, "spec", field, default=usual)
        ended = [job for job in jobs if phase_of(job) in phases]
        ended.sort(key=lambda job: (raw.text(job, "metadata", "creationTimestamp"), raw.name(job)))
        found += ended[: max(0, len(ended) - limit)]
    return found
