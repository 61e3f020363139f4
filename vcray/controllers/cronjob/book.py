"""What one turn finds out about a CronJob, and what is remembered of it between turns.

All memory is such that a restart can do without it or finds it again in the objects: see `Memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CRONJOBS
from vcray.clock import rfc3339
from vcray.controllers import raw
from vcray.controllers.base import Effects, Emit, EventType, ReconcileError, Request, UpdateStatus
from vcray.controllers.cronjob.jobs import reference_to
from vcray.controllers.cronjob.times import seconds_at


@dataclass(slots=True)
class Memory:
    """What is remembered of one CronJob."""

    served: float = 0.0
    """The latest time for which a job was ever seen: found again in the jobs, and in lastScheduleTime."""
    moved: bool = False
    """The schedule or its time zone has changed, and no turn has noticed yet."""
    moved_at: float = 0.0
    """When a turn noticed. After a restart a time of the new schedule before the change may be started once."""
    timer: float = 0.0
    """When the next turn is promised; a restart promises again."""
    told: dict[str, str] = field(default_factory=dict)
    """Event -> what it was about, so that a state that lasts is told once; a restart tells again."""
    failing: Request | None = None
    """The request whose turn failed and comes back: it tries for all, lest every time that passes adds one more that is tried for ever."""
    deleted: set[str] = field(default_factory=set)
    """uids of jobs that were deleted but are still seen; a restart lists what is there."""


@dataclass(slots=True)
class Book:
    """A CronJob in one turn: its jobs, its status as it is going to be, and what went wrong on the way."""

    cron_job: JsonObject
    jobs: list[JsonObject]
    memory: Memory
    now: float
    active: list[JsonObject] = field(default_factory=list)
    last_schedule: float | None = None
    last_successful: str = ""
    failures: list[str] = field(default_factory=list)

    @classmethod
    def opened(cls, cron_job: JsonObject, jobs: Sequence[JsonObject], memory: Memory, now: float) -> Book:
        """The book as the stored status has it; jobs that were deleted already are left out."""
        left = [job for job in jobs if raw.uid(job) not in memory.deleted]
        status = raw.table(cron_job, "status")
        active = raw.tables(raw.copied(status), "active")
        last = seconds_at(status, "lastScheduleTime")
        return cls(cron_job, left, memory, now, active, last, raw.text(status, "lastSuccessfulTime"))

    def begun(self, job: JsonObject) -> None:
        """A job is active; it is listed once."""
        if raw.uid(job) not in [raw.text(each, "uid") for each in self.active]:
            self.active.append(reference_to(job))

    def ended(self, uid: str) -> None:
        """A job is not active any more."""
        self.active = [each for each in self.active if raw.text(each, "uid") != uid]

    def tell(self, kind: EventType, reason: str, message: str) -> Effects:
        """Record an event about the CronJob."""
        yield Emit(CRONJOBS, self.cron_job, kind, reason, message)

    def warn_once(self, reason: str, message: str, about: str, key: str = "") -> Effects:
        """Warn of something that lasts: once as long as it is about the same; `key` keeps several of one reason apart."""
        if self.memory.told.get(reason + key) != about:
            self.memory.told[reason + key] = about
            yield from self.tell("Warning", reason, message)

    def written(self) -> Effects:
        """Write the status if it differs from the stored one. ReconcileError if that fails, which is tried for ever."""
        wanted: JsonObject = {}
        if self.active:
            wanted["active"] = list[JsonValue](self.active)
        if self.last_schedule is not None:
            wanted["lastScheduleTime"] = rfc3339(self.last_schedule)
        if self.last_successful:
            wanted["lastSuccessfulTime"] = self.last_successful
        stored = {name: value for name, value in raw.table(self.cron_job, "status").items() if value}
        if wanted == stored:
            return
        outcome = yield UpdateStatus(CRONJOBS, {**self.cron_job, "status": wanted})
        if not outcome.ok and not outcome.not_found:
            what = f"write the status of CronJob {raw.name(self.cron_job)}"
            raise ReconcileError(f"{what}: {outcome.why}", counts=False)
        self.cron_job = outcome.object or self.cron_job
