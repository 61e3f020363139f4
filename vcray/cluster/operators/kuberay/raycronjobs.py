"""RayCronJobs: RayJobs by the clock. Each is made of the template's spec alone: labels of the RayCronJob do not go with it."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.cron import has_own_zone, parse_schedule
from vcray.api.meta import JsonObject
from vcray.api.resources import RAYCRONJOBS, RAYJOBS, Resource
from vcray.api.times import seconds_of
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Follow, Operator
from vcray.cluster.operators.kuberay import templates, words
from vcray.controllers import raw
from vcray.controllers.base import Again, Effects, Seen


class RayCronJobs(Operator):
    """One RayJob a turn; times that passed while it was suspended come back as one."""

    resource: ClassVar[Resource] = RAYCRONJOBS
    owns: ClassVar[tuple[Resource, ...]] = (RAYJOBS,)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """Make the job that is due, and say when the next is."""
        spec = raw.table(obj, "spec")
        if raw.at(spec, "suspend") is True:
            return
        text, zone = raw.text(spec, "schedule"), raw.text(spec, "timeZone")
        try:
            schedule = parse_schedule(f"TZ={zone} {text}" if zone and not has_own_zone(text) else text)
        except ValueError as error:
            yield from self.report(obj, {"scheduleStatus": "validationFailed", "message": str(error)})
            return
        last = seconds_of(raw.at(obj, "status", "lastScheduleTime"))
        created = seconds_of(raw.at(obj, "metadata", "creationTimestamp"))
        due = schedule.after(last if last is not None else created or now)
        if due is not None and due <= now:
            name = f"{raw.name(obj)}-{templates.digest(int(due))[:5]}"
            if seen.get(RAYJOBS, raw.namespace(obj), name) is None:
                labels = {words.CRON_JOB_NAME: raw.name(obj)}
                metadata: JsonObject = {"name": name, "labels": raw.strings(labels)}
                job: JsonObject = {"metadata": metadata, "spec": raw.table(spec, "jobTemplate")}
                yield from self.make(RAYJOBS, obj, job)
            yield from self.report(obj, {"lastScheduleTime": rfc3339(now)})
            due = schedule.after(now)
        if due is not None:
            yield Again(due - now, Follow(raw.namespace(obj), raw.name(obj)))
