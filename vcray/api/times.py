"""Times of the API: RFC 3339 text, read into UTC and written as Kubernetes does."""

from __future__ import annotations

from datetime import UTC, datetime

from vcray.api.jsontypes import JsonValue


def format_time(moment: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, as Kubernetes writes `metav1.Time`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time into an aware datetime in UTC; ValueError if it is none."""
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)


def seconds_of(value: JsonValue) -> float | None:
    """A time of the API in seconds since 1970; None for what is no time."""
    if not isinstance(value, str) or not value:
        return None
    try:
        return parse_time(value).timestamp()
    except (ValueError, OverflowError):
        return None
