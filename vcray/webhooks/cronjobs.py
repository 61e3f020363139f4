"""Admission of CronJobs: a schedule that can be read, a time zone that exists, and a name that leaves room for the jobs'.

Texts after Volcano's `/cronjobs/validate`. The job template is not looked at: what is wrong with it, its jobs hear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vcray.api.cron import load_zone, parse_schedule
from vcray.api.formats import qualified_name, shown
from vcray.api.jsonview import dig, dig_str
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer, Request, name_of

NAME_LENGTH: Final = 52
_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def validate(request: Request) -> Answer:
    """On CREATE and UPDATE: what is wrong with schedule and zone as one text, then with the name."""
    if request.operation not in ("CREATE", "UPDATE"):
        return Answer("expect operation to be 'CREATE' or 'UPDATE'")
    times = (schedule_problem(dig_str(request.new, "spec", "schedule")) + _zone_problem(request.new)).strip()
    return Answer("; ".join(filter(None, (times, _name_problem(request.name or name_of(request.new))))))


def schedule_problem(schedule: str) -> str:
    """What keeps a schedule from being run by; empty when nothing does."""
    if not schedule:
        return " schedule is required, but got empty"
    if "TZ" in schedule:
        return " schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field"
    return "" if _is_ever_due(schedule) else "schedule is not a valid cron expression"


def _is_ever_due(schedule: str) -> bool:
    """A schedule that can be read, without a field of commas alone, which would leave no moment."""
    try:
        parse_schedule(schedule)
    except ValueError:
        return False
    return all(field.strip(",") for field in schedule.split())


def _zone_problem(cronjob: JsonObject) -> str:
    zone = dig(cronjob, "spec", "timeZone")
    return "".join(_zone_problems(zone)) if isinstance(zone, str) else ""


def _zone_problems(zone: str) -> Iterator[str]:
    if not zone:
        yield " timeZone must be nil or non-empty string, got empty string"
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _PART.fullmatch(part):
            yield " unknown timeZone"
    if zone.lower() == "local":
        yield " timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"
    elif not _is_zone(zone):
        yield " invalid timeZone"


def _is_zone(name: str) -> bool:
    try:
        load_zone(name)
    except ValueError:
        return False
    return True


def _name_problem(name: str) -> str:
    if len(name.encode(errors="replace")) > NAME_LENGTH:
        return (
            f"cronJob name must be no more than {NAME_LENGTH} characters to accommodate job name suffix "
            "(max 63 total)"
        )
    wrong = qualified_name(name)
    return f"invalid cronJob name {shown(name)}: {'; '.join(wrong)}" if wrong else ""
