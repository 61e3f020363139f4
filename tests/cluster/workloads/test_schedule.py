"""Cron schedules."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from vcray.cluster.workloads.cronjob.schedule import parse

NOW = datetime(2026, 1, 30, 10, 7, 30, tzinfo=UTC).timestamp()  # a Friday


def text(moment: float | None) -> str:
    assert moment is not None
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("schedule", "following"),
    [
        ("* * * * *", "2026-01-30 10:08"),
        ("*/15 * * * *", "2026-01-30 10:15"),
        ("5 * * * ?", "2026-01-30 11:05"),
        ("0 0 * * *", "2026-01-31 00:00"),
        ("30 9-17/4 * * mon-fri", "2026-01-30 13:30"),
        ("0 12 31 * *", "2026-01-31 12:00"),
        ("0 0 29 feb *", "2028-02-29 00:00"),
        ("0 0 1 * 0", "2026-02-01 00:00"),
        ("0 0 13 * 6", "2026-01-31 00:00"),
        ("0 0 * * 7", "2026-02-01 00:00"),
        ("@hourly", "2026-01-30 11:00"),
        ("@monthly", "2026-02-01 00:00"),
    ],
)
def test_next_time_follows_the_fields(schedule: str, following: str) -> None:
    assert text(parse(schedule).after(NOW)) == following


def test_time_zone_moves_the_hours() -> None:
    assert text(parse("0 9 * * *", ZoneInfo("America/New_York")).after(NOW)) == "2026-01-30 14:00"


def test_latest_missed_time_is_found() -> None:
    assert text(parse("*/5 * * * *").last_between(NOW - 3600, NOW)) == "2026-01-30 10:05"
    assert parse("0 0 * * *").last_between(NOW - 3600, NOW) is None


@pytest.mark.parametrize(
    "schedule", ["", "* * * *", "60 * * * *", "* * 0 * *", "a * * * *", "*/0 * * * *", "5-1 * * * *"]
)
def test_nonsense_is_refused(schedule: str) -> None:
    with pytest.raises(ValueError, match=r"expected|range|parse"):
        parse(schedule)
