"""Cron schedules as Kubernetes and Volcano read them: five fields, a name such as `@hourly`, or `@every 1h30m`.

The language is that of robfig/cron's `ParseStandard`, which kube-apiserver, Kubernetes' CronJobs and Volcano's share, its
sentences included, as users see them in refusals. What its grammar does not say at first sight:

* Day and weekday: either suffices if both are given; a field that begins from `*` or `?` without a step leaves all to the other.
* Sunday is 0, never 7. `3/10` means `3-59/10`. An empty part between commas is nothing.
* `TZ=Europe/Berlin 0 9 * * *` (or `CRON_TZ=`) has a time zone of its own, which goes before the one that is passed in.
* A time is a moment whose local clock shows it: one that the clock skips in spring does not come that day, one that it shows
  twice in autumn comes twice.
* `@every` counts from the moment that it is asked about, in whole seconds, at least one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from vcray.api.duration import SECOND, DurationError, parse_duration

_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], start=1
    )
}
_DAYS: Final = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FARTHEST_S: Final = 5 * 366 * 86_400
_MINUTE_S: Final = 60
_OWN_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S*)\s*(.*)", re.DOTALL)


class Schedule(Protocol):
    """When something is due. Moments are seconds since the epoch."""

    def after(self, moment: float) -> float | None:
        """The first time later than `moment`; None if there is none within five years."""
        ...

    def last_between(self, earliest: float, now: float) -> float | None:
        """The latest time that is later than `earliest` and not later than `now`; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """`@every`: as often as that, counted from the moment asked about."""

    seconds: int

    def after(self, moment: float) -> float | None:
        return int(moment) + self.seconds

    def last_between(self, earliest: float, now: float) -> float | None:
        passed = int((now - int(earliest)) // self.seconds)
        return int(earliest) + passed * self.seconds if passed > 0 else None


@dataclass(frozen=True, slots=True)
class Calendar:
    """The minutes, hours, days, months and weekdays of a local clock at which something is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    zone: tzinfo

    def after(self, moment: float) -> float | None:
        at = int(moment // _MINUTE_S) * _MINUTE_S + _MINUTE_S
        end = at + _FARTHEST_S
        while at <= end:
            local = datetime.fromtimestamp(at, self.zone)
            if not self._is_day(local):
                at = max(at + _MINUTE_S, _midnight(local, 1))
            elif local.hour not in self.hours:
                at += (60 - local.minute) * _MINUTE_S
            elif local.minute not in self.minutes:
                later = [minute for minute in self.minutes if minute > local.minute]
                at += (min(later, default=60) - local.minute) * _MINUTE_S
            else:
                return float(at)
        return None

    def last_between(self, earliest: float, now: float) -> float | None:
        at = int(now // _MINUTE_S) * _MINUTE_S
        while at > max(earliest, now - _FARTHEST_S):
            local = datetime.fromtimestamp(at, self.zone)
            if not self._is_day(local):
                at = min(at - _MINUTE_S, _midnight(local, 0) - _MINUTE_S)
            elif local.hour not in self.hours:
                at -= (local.minute + 1) * _MINUTE_S
            elif local.minute not in self.minutes:
                before = [minute for minute in self.minutes if minute < local.minute]
                at -= (local.minute - max(before, default=-1)) * _MINUTE_S
            else:
                return float(at)
        return None

    def _is_day(self, local: datetime) -> bool:
        if local.month not in self.months:
            return False
        by_day, by_weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday


@lru_cache(maxsize=1024)
def parse_schedule(text: str, zone: tzinfo = UTC) -> Schedule:
    """Read a schedule. ValueError with robfig/cron's sentence if it is none."""
    own = _OWN_ZONE.fullmatch(text)
    if own is not None:
        text = own[2].strip()
        try:
            zone = load_zone(own[1])
        except ValueError as error:
            raise ValueError(f"provided bad location {own[1]}: {error}") from None
    if not text:
        raise ValueError("empty spec string")
    if text.startswith(_EVERY):
        return _every(text)
    if text.startswith("@") and text not in _NAMED:
        raise ValueError(f"unrecognized descriptor: {text}")
    fields = _NAMED.get(text, text).split()
    if len(fields) != 5:
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = fields
    month_days, any_day = _values(days, 1, 31)
    week_days, any_weekday = _values(weekdays, 0, 6, _DAYS)
    return Calendar(
        _values(minutes, 0, 59)[0],
        _values(hours, 0, 23)[0],
        month_days,
        _values(months, 1, 12, _MONTHS)[0],
        week_days,
        any_day,
        any_weekday,
        zone,
    )


def has_own_zone(text: str) -> bool:
    """Does a schedule speak of a time zone itself? Kubernetes and Volcano look for these two letters, no more."""
    return "TZ" in text


def load_zone(name: str) -> tzinfo:
    """The time zone of an IANA name, UTC for an empty one. ValueError with Go's sentence if there is none."""
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (
        ValueError,
        OSError,
        KeyError,
    ):  # not found is a KeyError, a folder or a strange name one of the others
        raise ValueError(f"unknown time zone {name}") from None


def _midnight(local: datetime, days_ahead: int) -> int:
    """When the day of `local`, or one after it, begins."""
    day = datetime(local.year, local.month, local.day, tzinfo=local.tzinfo) + timedelta(days=days_ahead)
    return int(day.timestamp())


def _every(text: str) -> Every:
    try:
        return Every(max(1, parse_duration(text.removeprefix(_EVERY)) // SECOND))
    except DurationError:
        why = f'time: invalid duration "{text.removeprefix(_EVERY)}"'
        raise ValueError(f"failed to parse duration {text}: {why}") from None


def _values(
    field: str, lowest: int, highest: int, names: Mapping[str, int] | None = None
) -> tuple[frozenset[int], bool]:
    """The numbers of a field, and whether it leaves all open."""
    found: set[int] = set()
    is_open = False
    for part in filter(None, field.split(",")):
        spread, *steps = part.split("/")
        first, *lasts = spread.split("-")
        if len(steps) > 1:
            raise ValueError(f"too many slashes: {part}")
        if first in ("*", "?"):
            low, high = lowest, highest
        elif len(lasts) > 1:
            raise ValueError(f"too many hyphens: {part}")
        else:
            low = _number(first, names)
            high = _number(lasts[0], names) if lasts else highest if steps else low
        stride = _number(steps[0]) if steps else 1
        if low < lowest:
            raise ValueError(f"beginning of range ({low}) below minimum ({lowest}): {part}")
        if high > highest:
            raise ValueError(f"end of range ({high}) above maximum ({highest}): {part}")
        if low > high:
            raise ValueError(f"beginning of range ({low}) beyond end of range ({high}): {part}")
        if stride == 0:
            raise ValueError(f"step of range should be a positive number: {part}")
        is_open = is_open or (first in ("*", "?") and stride == 1)
        found.update(range(low, high + 1, stride))
    return frozenset(found), is_open


def _number(text: str, names: Mapping[str, int] | None = None) -> int:
    if names and text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
