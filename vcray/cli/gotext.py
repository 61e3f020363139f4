"""Times and ages as Go and kubectl print them."""

from __future__ import annotations

from datetime import UTC, datetime

from vcray.api.ages import since
from vcray.api.times import parse_time

ZERO_TIME = "0001-01-01 00:00:00 +0000 UTC"


def local_time(text: str) -> datetime | None:
    """The moment of an RFC 3339 text in this machine's time zone; None for an empty one."""
    return parse_time(text).astimezone() if text else None


def go_time(text: str) -> str:
    """Go's default form of a time: `2026-01-02 03:04:05 +0000 UTC`, in this machine's time zone."""
    moment = local_time(text)
    return f"{moment:%Y-%m-%d %H:%M:%S %z %Z}" if moment else ZERO_TIME


def age(text: str, now: datetime | None = None) -> str:
    """How long ago a time is, in kubectl's short form; `<unknown>` for an empty one. Counted to `now`, else this moment."""
    return since(text, (now or datetime.now(UTC)).timestamp())
