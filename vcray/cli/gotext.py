"""Times and ages as Go and kubectl print them."""

from __future__ import annotations

from datetime import UTC, datetime

from vcray.api.meta import parse_time

ZERO_TIME = "0001-01-01 00:00:00 +0000 UTC"


def local_time(text: str) -> datetime | None:
    """The moment of an RFC 3339 text in this machine's time zone; None for an empty one."""
    return parse_time(text).astimezone() if text else None


def go_time(text: str) -> str:
    """Go's default form of a time: `2026-01-02 03:04:05 +0000 UTC`, in this machine's time zone."""
    moment = local_time(text)
    return f"{moment:%Y-%m-%d %H:%M:%S %z %Z}" if moment else ZERO_TIME


def age(text: str, now: datetime | None = None) -> str:
    """How long ago a time is, in kubectl's short form: `2m5s`, `3h`, `4d2h`; `<unknown>` for an empty one."""
    if not text:
        return "<unknown>"
    return human_duration(int(((now or datetime.now(UTC)) - parse_time(text)).total_seconds()))


def human_duration(seconds: int) -> str:
    """Seconds in one or two units, fewer digits the longer it is, as kubectl prints ages."""
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return f"{days // 365}y{days % 365}d"
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
