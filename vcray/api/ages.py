"""How long ago: ages in one or two units, as kubectl and Volcano's tables write them (`99s`, `4m3s`, `2h`, `5d`)."""

from __future__ import annotations

from vcray.api.jsontypes import JsonValue
from vcray.api.times import seconds_of

UNKNOWN = "<unknown>"


def since(value: JsonValue, now: float) -> str:
    """How long before `now` (seconds since 1970) a time is; `<unknown>` for what is no time."""
    moment = seconds_of(value)
    return UNKNOWN if moment is None else duration(now - moment)


def duration(seconds: float) -> str:
    """A duration in one or two units, fewer digits the longer it is; `<invalid>` more than a second before zero."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 120:
        return f"{max(whole, 0)}s"
    minutes, hours = whole // 60, whole // 3600
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 24 * 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small}{smaller}" if small else f"{large}{unit}"
