"""Cron schedules: five fields or a name such as `@hourly`, in a time zone."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FARTHEST_DAYS = 366 * 5


@dataclass(frozen=True, slots=True)
class Schedule:
    """The minutes, hours, days and months at which something is due. Of day and weekday either suffices if both are given."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    zone: tzinfo

    def after(self, moment: float) -> float | None:
        """The first time later than `moment`, both in seconds since the epoch; None if there is none for years."""
        start = datetime.fromtimestamp(moment, self.zone).replace(second=0, microsecond=0) + timedelta(
            minutes=1
        )
        for ahead in range(_FARTHEST_DAYS):
            day = (start + timedelta(days=ahead)).date()
            if day.month not in self.months or not self._is_day(day.day, day.isoweekday() % 7):
                continue
            for hour in sorted(self.hours):
                for minute in sorted(self.minutes):
                    due = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                    if due >= start and due.astimezone(UTC).astimezone(self.zone).hour == hour:
                        return due.timestamp()
        return None

    def last_between(self, earliest: float, now: float) -> float | None:
        """The latest time that is later than `earliest` and not later than `now`."""
        found: float | None = None
        following = self.after(earliest)
        while following is not None and following <= now:
            found = following
            following = self.after(following)
        return found

    def _is_day(self, day: int, weekday: int) -> bool:
        by_day, by_weekday = day in self.days, weekday in self.weekdays
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday


def parse(text: str, zone: tzinfo = UTC) -> Schedule:
    """Read a schedule. ValueError if it is none."""
    fields = _NAMED.get(text.strip(), text).split()
    if len(fields) != 5:
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{text}]")
    minutes, hours, days, months, weekdays = fields
    return Schedule(
        _values(minutes, 0, 59),
        _values(hours, 0, 23),
        _values(days, 1, 31),
        _values(months, 1, 12, _MONTHS),
        frozenset(number % 7 for number in _values(weekdays, 0, 7, _DAYS)),
        days in ("*", "?"),
        weekdays in ("*", "?"),
        zone,
    )


def _values(field: str, lowest: int, highest: int, names: Mapping[str, int] | None = None) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        spread, slash, step = part.partition("/")
        first, dash, last = spread.partition("-")
        if spread in ("*", "?"):
            low, high = lowest, highest
        else:
            low = _number(first, names)
            high = _number(last, names) if dash else highest if slash else low
        stride = _number(step, None) if slash else 1
        if not lowest <= low <= high <= highest or stride < 1:
            raise ValueError(f"value out of range [{lowest}, {highest}]: {part}")
        found.update(range(low, high + 1, stride))
    return frozenset(found)


def _number(text: str, names: Mapping[str, int] | None) -> int:
    if names and text.lower() in names:
        return names[text.lower()]
    if not text.isdigit():
        raise ValueError(f"failed to parse int from {text}")
    return int(text)
