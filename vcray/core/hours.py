"""Hours of a day in local time, such as 22:00-06:00."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import floor
from typing import Self

DAY = 24 * 3600
_SPAN = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")


@dataclass(frozen=True, slots=True)
class Hours:
    """From `start` to `end` (seconds of the day, both included); an end that is not after the start is of the next day."""

    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """`HH:MM-HH:MM`, None for anything else."""
        match = _SPAN.fullmatch(text.strip())
        if match is None:
            return None
        hour, minute, to_hour, to_minute = map(int, match.groups())
        if max(hour, to_hour) > 23 or max(minute, to_minute) > 59:
            return None
        start, end = hour * 3600 + minute * 60, to_hour * 3600 + to_minute * 60
        return cls(start, end if end > start else end + DAY)

    def hold(self, now: float, utc_offset: int) -> bool:
        """Is it within these hours?"""
        at = (floor(now) + utc_offset) % DAY
        return self.start <= at <= self.end or at + DAY <= self.end

    def next_change(self, now: float, utc_offset: int) -> float:
        """The next moment at which they begin, or the first second after they end."""
        today = floor(now) + utc_offset
        midnight = today - today % DAY - utc_offset
        edges = (self.start, self.end + 1)
        return float(
            min(
                midnight + day * DAY + edge
                for day in (-1, 0, 1)
                for edge in edges
                if midnight + day * DAY + edge > now
            )
        )
