"""Go durations: the text that Volcano's policies, annotations and statuses use (`1h30m`, `300ms`, `-1.5s`).

Parsed to whole nanoseconds, as Go keeps them; written as Go writes them, so that a status reads the same.
"""

from __future__ import annotations

import re
from functools import lru_cache

NANOSECOND = 1
MICROSECOND = 1000
MILLISECOND = 10**6
SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_NUMBER = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_UNIT = r"ns|us|µs|μs|ms|s|m|h"
_PART = re.compile(rf"({_NUMBER})({_UNIT})")
_WHOLE = re.compile(rf"([+-]?)(0|(?:(?:{_NUMBER})(?:{_UNIT}))+)")
_LIMIT = 2**63 - 1


class DurationError(ValueError):
    """A text that is no Go duration."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a duration: write numbers with units, such as 10s, 1h30m or 500ms")


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> int:
    """The duration in nanoseconds, cut to whole ones. Raises DurationError, also beyond about 292 years."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise DurationError(text)
    total = 0
    for number, unit in _PART.findall(match[2]):
        whole, _, fraction = number.partition(".")
        total += int(whole or 0) * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // int(10 ** len(fraction))
    if total > _LIMIT:
        raise DurationError(text)
    return -total if match[1] == "-" else total


def duration_seconds(text: str) -> float:
    """The duration in seconds. Raises DurationError."""
    return parse_duration(text) / SECOND


def is_duration(text: str) -> bool:
    """Is the text a duration above 0?"""
    try:
        return parse_duration(text) > 0
    except DurationError:
        return False


def format_duration(nanoseconds: int) -> str:
    """As Go prints it: `1h30m0s`, `1.5s`, `300ms`, `0s`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    if rest < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs"), (NANOSECOND, "ns")):
            if rest >= unit:
                return f"{sign}{_decimal(rest, unit)}{name}"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    text = f"{_decimal(rest, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    if not part:
        return str(whole)
    digits = str(part).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
