"""A world with a CronJob in it. It begins on Friday, 2027-01-15 at 08:00:00 UTC."""

from __future__ import annotations

from datetime import datetime

from tests.controllers.world import World, a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import CRONJOBS, JOBS
from vcray.clock import rfc3339
from vcray.controllers import raw
from vcray.controllers.base import Again, Effect, Emit
from vcray.controllers.cronjob.controller import CronJobController

EIGHT = 30_000_000
"""Minutes since the epoch when the world begins: the job of 08:05 is `c-30000005`."""


def a_cron_job(schedule: str = "* * * * *", **spec: object) -> JsonObject:
    """A CronJob `c`; `status`, `labels` and `annotations` are its own and its template's, the rest is its spec."""
    template: JsonObject = {
        "metadata": {key: spec.pop(key) for key in ("labels", "annotations") if key in spec},  # type: ignore[dict-item]
        "spec": a_job()["spec"],
    }
    status = spec.pop("status", {})
    return {
        "metadata": {"name": "c", "namespace": "ns"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},  # type: ignore[dict-item]
        "status": status,  # type: ignore[dict-item]
    }


class CronWorld(World):
    """A world that plays every moment for which something was promised, and keeps the types of events."""

    def __init__(self) -> None:
        super().__init__([CronJobController()])

    def cron_job(self, schedule: str = "* * * * *", **spec: object) -> None:
        self.put(CRONJOBS, a_cron_job(schedule, **spec))
        self.settle()

    def until(self, clock: str) -> None:
        """Play on to a time of day, or to `MM-DDTHH:MM`, in 2027 and in UTC."""
        text = f"2027-{clock}" if "T" in clock else f"2027-01-15T{clock}"
        end = datetime.fromisoformat(f"{text}+00:00").timestamp()
        assert end >= self.now
        while self.waiting and min(item[0] for item in self.waiting) <= end:
            self.advance(max(0.0, min(item[0] for item in self.waiting) - self.now))
        self.now = end

    def restart(self) -> None:
        """A new process: nothing is remembered, everything is listed."""
        self.controllers = [CronJobController()]
        self.queue, self.waiting = [], []
        self.replay(JOBS, CRONJOBS)
        self.settle()

    def jobs(self) -> list[str]:
        return [raw.name(job) for job in self.list(JOBS)]

    def active(self) -> list[str]:
        return [raw.text(each, "name") for each in raw.tables(self.cron(), "status", "active")]

    def last(self, field: str = "lastScheduleTime") -> str:
        return raw.text(self.cron(), "status", field)

    def cron(self) -> JsonObject:
        return self.objects[CRONJOBS, "ns", "c"]

    def end(self, name: str, phase: str = "Completed") -> None:
        """A job changes its phase now."""
        state = {"phase": phase, "lastTransitionTime": rfc3339(self.now)}
        self.change(JOBS, "ns", name, status__state=state)
        self.settle()

    def told(self, reason: str) -> list[tuple[str, str]]:
        """(type, message) of the events of a reason."""
        return [(e.type, e.message) for e in self.effects if isinstance(e, Emit) and e.reason == reason]

    def writes(self) -> list[Effect]:
        """Everything but promises and events."""
        return [e for e in self.effects if not isinstance(e, Again | Emit)]


def name(clock: str) -> str:
    """The job of a time of the world's first day."""
    hours, minutes = clock.split(":")
    return f"c-{EIGHT + (int(hours) - 8) * 60 + int(minutes)}"
