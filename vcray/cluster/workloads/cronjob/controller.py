"""The controller of CronJobs: a job at each time of the schedule, unless the policy says otherwise; old ones go."""

from __future__ import annotations

import copy
from contextlib import suppress
from datetime import datetime, tzinfo

from vcray.api.cron import Schedule, load_zone, parse_schedule
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue, seconds_of
from vcray.api.resources import KUBERNETES_CRONJOBS, KUBERNETES_JOBS
from vcray.clock import rfc3339
from vcray.cluster.workloads.base import Controller, Shared, controller_key, key_of, owner_reference
from vcray.kube.client import Propagation
from vcray.kube.errors import AlreadyExists, ApiError, NotFound
from vcray.kube.events import NORMAL, WARNING

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_SLACK_S = 0.1
"""A turn comes this much behind a time of the schedule, so that it is over by then."""


class CronJobController(Controller):
    """CronJobs."""

    name = "cronjob-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.cron_jobs = shared.objects(KUBERNETES_CRONJOBS)
        self.jobs = shared.objects(KUBERNETES_JOBS)
        self.cron_jobs.on_change(self._changed)
        self.jobs.on_change(self._job_changed)

    def _changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))

    def _job_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        key = controller_key(found, KUBERNETES_CRONJOBS) if found is not None else None
        if key:
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        cron_job = self.cron_jobs.objects.get(key)
        if cron_job is None:
            self.queue.forget(key)
            return None
        jobs = list(self.jobs.owned(dig_str(cron_job, "metadata", "uid")))
        status = copy.deepcopy(dig_object(cron_job, "status"))
        await self._clean(cron_job, jobs, status)
        await self._note_ends(cron_job, jobs, status)
        again = (
            None if dig_str(cron_job, "metadata", "deletionTimestamp") else await self._run(cron_job, status)
        )
        await self._write(cron_job, status)
        return again

    # -- what is there ----------------------------------------------------------------------------------------

    async def _note_ends(self, cron_job: JsonObject, jobs: list[JsonObject], status: JsonObject) -> None:
        """Take finished and vanished jobs from the active ones; remember the latest success."""
        by_uid = {dig_str(job, "metadata", "uid"): job for job in jobs}
        active: list[JsonValue] = []
        for reference in dig_objects(status, "active"):
            job = by_uid.get(dig_str(reference, "uid"))
            end = _end(job) if job is not None else ""
            if job is None:
                await self.tell(
                    cron_job, NORMAL, "MissingJob", f"Active job went missing: {reference.get('name')}"
                )
            elif end:
                why = f"Saw completed job: {reference.get('name')}, condition: {end}"
                await self.tell(cron_job, NORMAL, "SawCompletedJob", why)
            else:
                active.append(reference)
        known = {dig_str(each, "uid") for each in active}
        for uid, job in by_uid.items():
            if not _end(job) and uid not in known and not dig_str(job, "metadata", "deletionTimestamp"):
                active.append(_reference(job))
        status["active"] = active or None
        ends = [dig_str(job, "status", "completionTime") for job in jobs if _end(job) == "Complete"]
        latest = max([*filter(None, ends), dig_str(status, "lastSuccessfulTime")], default="")
        status["lastSuccessfulTime"] = latest or None

    async def _clean(self, cron_job: JsonObject, jobs: list[JsonObject], status: JsonObject) -> None:
        """Delete the oldest finished jobs beyond the history limits."""
        for end, field, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            limit = dig_int(cron_job, "spec", field, default=usual)
            done = [job for job in jobs if _end(job) == end]
            done.sort(key=lambda job: (dig_str(job, "status", "startTime"), dig_str(job, "metadata", "name")))
            for job in done[: max(0, len(done) - limit)]:
                await self._delete(cron_job, job)
                jobs.remove(job)

    async def _delete(self, cron_job: JsonObject, job: JsonObject) -> None:
        namespace, name = dig_str(job, "metadata", "namespace"), dig_str(job, "metadata", "name")
        with suppress(NotFound):
            await self.client.delete(KUBERNETES_JOBS, namespace, name, propagation=Propagation.BACKGROUND)
        await self.tell(cron_job, NORMAL, "SuccessfulDelete", f"Deleted job {name}")

    # -- what is due ------------------------------------------------------------------------------------------

    async def _run(self, cron_job: JsonObject, status: JsonObject) -> float | None:
        if dig(cron_job, "spec", "suspend") is True:
            return None
        try:
            schedule = parse_schedule(dig_str(cron_job, "spec", "schedule"), _zone(cron_job))
        except ValueError as error:
            text = dig_str(cron_job, "spec", "schedule")
            await self.tell(
                cron_job, WARNING, "UnparseableSchedule", f'unparseable schedule: "{text}" : {error}'
            )
            return None
        due = self._due(cron_job, status, schedule)
        if due is not None:
            await self._start(cron_job, status, due)
        now, since = self.time.now(), _since(cron_job, status)
        following = schedule.after(schedule.last_between(since, now) or since)
        return None if following is None else following - now + _SLACK_S

    def _due(self, cron_job: JsonObject, status: JsonObject, schedule: Schedule) -> float | None:
        """The time of the schedule for which a job is to be made now."""
        now, earliest = self.time.now(), _since(cron_job, status)
        limit = dig(cron_job, "spec", "startingDeadlineSeconds")
        if isinstance(limit, int):
            earliest = max(earliest, now - limit)
        return schedule.last_between(earliest, now)

    async def _start(self, cron_job: JsonObject, status: JsonObject, due: float) -> None:
        active = dig_objects(status, "active")
        policy = dig_str(cron_job, "spec", "concurrencyPolicy")
        name = f"{dig_str(cron_job, 'metadata', 'name')}-{int(due // 60)}"
        namespace = dig_str(cron_job, "metadata", "namespace")
        if any(each.get("name") == name for each in active):
            return
        if policy == "Forbid" and active:
            why = "Not starting job because prior execution is running and concurrency policy is Forbid"
            await self.tell(cron_job, NORMAL, "JobAlreadyActive", why)
            return
        if policy == "Replace":
            for each in active:
                job = self.jobs.get(namespace, dig_str(each, "name"))
                if job is not None:
                    await self._delete(cron_job, job)
            active = []
        try:
            job = await self.client.create(KUBERNETES_JOBS, namespace, _job(cron_job, name, due))
            await self.tell(cron_job, NORMAL, "SuccessfulCreate", f"Created job {name}")
        except AlreadyExists:
            job = await self.client.get(KUBERNETES_JOBS, namespace, name)
        except ApiError as error:
            await self.tell(cron_job, WARNING, "FailedCreate", f"Error creating job: {error.message}")
            raise
        self.jobs.put(job)
        status["active"] = [*active, _reference(job)]
        status["lastScheduleTime"] = rfc3339(due)

    async def _write(self, cron_job: JsonObject, status: JsonObject) -> None:
        wanted: JsonObject = {name: value for name, value in status.items() if value}
        if wanted == dig_object(cron_job, "status"):
            return
        with suppress(NotFound):
            answer = await self.client.update_status(KUBERNETES_CRONJOBS, {**cron_job, "status": wanted})
            self.cron_jobs.put(answer)


def _zone(cron_job: JsonObject) -> tzinfo:
    return load_zone(dig_str(cron_job, "spec", "timeZone"))


def _since(cron_job: JsonObject, status: JsonObject) -> float:
    """Times of the schedule up to this one are done with."""
    last = seconds_of(dig(status, "lastScheduleTime"))
    return last or seconds_of(dig(cron_job, "metadata", "creationTimestamp")) or 0.0


def _job(cron_job: JsonObject, name: str, due: float) -> JsonObject:
    template = dig_object(cron_job, "spec", "jobTemplate")
    moment = datetime.fromtimestamp(due, _zone(cron_job)).isoformat().replace("+00:00", "Z")
    metadata: JsonObject = {
        "name": name,
        "labels": {**dig_object(template, "metadata", "labels")},
        "annotations": {**dig_object(template, "metadata", "annotations"), _SCHEDULED: moment},
        "ownerReferences": [owner_reference(KUBERNETES_CRONJOBS, cron_job)],
    }
    return {"metadata": metadata, "spec": copy.deepcopy(dig_object(template, "spec"))}


def _reference(job: JsonObject) -> JsonObject:
    metadata = dig_object(job, "metadata")
    return {
        "apiVersion": KUBERNETES_JOBS.api_version,
        "kind": KUBERNETES_JOBS.kind,
        **{field: metadata.get(field) for field in ("name", "namespace", "uid", "resourceVersion")},
    }


def _end(job: JsonObject) -> str:
    """Complete, Failed, or empty while a job goes on."""
    for condition in dig_objects(job, "status", "conditions"):
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return dig_str(condition, "type")
    return ""
