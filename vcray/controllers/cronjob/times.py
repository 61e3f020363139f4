"""Which time of a schedule is due, and which comes next. Moments are seconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vcray.api.cron import Schedule
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, seconds_of

MANY: Final = 100
"""More missed times than these are told of."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`due` is to be started now, for `too_many` after more than MANY missed times; `following` is the next time after now."""

    due: float | None
    too_many: bool
    following: float | None


def plan(schedule: Schedule, since: float, earliest: float, now: float) -> Plan:
    """Times up to `since` are done with; those up to `earliest` are not started any more.

    Of several that were missed the latest is due. `@every` counts from `since`, so that neither a deadline nor a missed time moves
    its beat."""
    last = schedule.last_between(since, now)
    following = schedule.after(since if last is None else last)
    if last is None or last <= earliest:
        return Plan(None, False, following)
    return Plan(last, _more_than_many(schedule, max(since, earliest), now), following)


def seconds_at(item: JsonObject, *path: str) -> float | None:
    """A time of the API as a moment; None where there is none, or none that can be read."""
    return seconds_of(dig_str(item, *path))


def _more_than_many(schedule: Schedule, earliest: float, now: float) -> bool:
    moment: float | None = earliest
    for _ in range(MANY + 1):
        moment = schedule.after(moment) if moment is not None else None
        if moment is None or moment > now:
            return False
    return True
