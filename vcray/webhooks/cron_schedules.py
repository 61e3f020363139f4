"""Is a text a cron schedule, by the rules of the Go library that Volcano and Kubernetes read schedules with?

Five fields of numbers, names, ranges, steps and lists; or a name such as `@hourly`; or `@every` and a duration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vcray.api.duration import DurationError, parse_duration

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NAMED: Final = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))
_EVERY: Final = "@every "
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class _Field:
    """Bounds of a field's numbers, and the names that stand for some."""

    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)


_FIELDS: Final = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def is_schedule(text: str) -> bool:
    """Can it be read? Sundays are 0; unlike in some other crons, 7 is no day. Empty items of a list do not count."""
    if text.startswith("@"):
        return text in NAMED or (text.startswith(_EVERY) and _is_span(text.removeprefix(_EVERY)))
    fields = text.split()
    return len(fields) == len(_FIELDS) and all(map(_is_field, fields, _FIELDS))


def _is_span(text: str) -> bool:
    try:
        parse_duration(text)
    except DurationError:
        return False
    return True


def _is_field(text: str, kind: _Field) -> bool:
    return all(_is_range(part, kind) for part in text.split(",") if part)


def _is_range(text: str, kind: _Field) -> bool:
    span, slash, step = text.partition("/")
    if slash and not _number(step, {}):
        return False
    first, *rest = span.split("-")
    if first in ("*", "?"):
        return True
    low = _number(first, kind.names)
    high = _number(rest[0], kind.names) if rest else kind.highest if slash else low
    if low is None or high is None or len(rest) > 1:
        return False
    return kind.lowest <= low <= high <= kind.highest


def _number(text: str, names: Mapping[str, int]) -> int | None:
    named = names.get(text.lower())
    if named is not None:
        return named
    return int(text) if _NUMBER.fullmatch(text) else None
