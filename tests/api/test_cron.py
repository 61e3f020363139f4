"""Cron schedules: the language, time zones, and the latest time of many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcray.api.cron import Calendar, has_own_zone, load_zone, parse_schedule

NOW = datetime(2026, 1, 30, 10, 7, 30, tzinfo=UTC).timestamp()  # a Friday
NEW_YORK = ZoneInfo("America/New_York")


def text(moment: float | None) -> str:
    assert moment is not None
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")


def at(moment: str) -> float:
    return datetime.fromisoformat(moment + "+00:00").timestamp()


@pytest.mark.parametrize(
    ("schedule", "following"),
    [
        ("* * * * *", "2026-01-30 10:08"),
        ("*/15 * * * *", "2026-01-30 10:15"),
        ("3/20 * * * *", "2026-01-30 10:23"),
        ("5 * * * ?", "2026-01-30 11:05"),
        ("7 * * * *", "2026-01-30 11:07"),
        ("0 0 * * *", "2026-01-31 00:00"),
        ("30 9-17/4 * * mon-fri", "2026-01-30 13:30"),
        ("0 12 31 * *", "2026-01-31 12:00"),
        ("0 0 29 FEB *", "2028-02-29 00:00"),
        ("0 0 1 * 0", "2026-02-01 00:00"),
        ("0 0 13 * 6", "2026-01-31 00:00"),
        ("0 0 */2 * 1", "2026-01-31 00:00"),
        ("0 0 */1 * 1", "2026-02-02 00:00"),
        ("0,,30 * * * *", "2026-01-30 10:30"),
        ("@hourly", "2026-01-30 11:00"),
        ("@weekly", "2026-02-01 00:00"),
        ("@monthly", "2026-02-01 00:00"),
        ("@yearly", "2027-01-01 00:00"),
        ("TZ=America/New_York 0 9 * * *", "2026-01-30 14:00"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "2026-01-31 00:00"),
        ("TZ=America/New_York @daily", "2026-01-31 05:00"),
    ],
)
def test_next_time_follows_the_fields(schedule: str, following: str) -> None:
    assert text(parse_schedule(schedule).after(NOW)) == following


def test_step_over_days_is_a_choice_of_days() -> None:
    """Odd days and Mondays: either suffices, as the day's field chooses."""
    schedule = parse_schedule("0 0 */2 * 1")

    assert text(schedule.after(at("2026-02-02T00:00"))) == "2026-02-03 00:00"


def test_time_is_later_than_the_moment_asked_about() -> None:
    schedule = parse_schedule("5 10 * * *")

    assert text(schedule.after(at("2026-01-30T10:04:59"))) == "2026-01-30 10:05"
    assert text(schedule.after(at("2026-01-30T10:05:00"))) == "2026-01-31 10:05"


def test_day_that_never_comes_has_no_time() -> None:
    assert parse_schedule("0 0 31 2 *").after(NOW) is None
    assert parse_schedule("0 0 31 2 *").last_between(0, NOW) is None


def test_time_zone_moves_the_hours() -> None:
    assert text(parse_schedule("0 9 * * *", NEW_YORK).after(NOW)) == "2026-01-30 14:00"


def all_after(schedule: str, zone: tzinfo, first: str, count: int) -> list[str]:
    moment: float | None = at(first)
    found = []
    for _ in range(count):
        assert moment is not None
        moment = parse_schedule(schedule, zone).after(moment)
        found.append(text(moment))
    return found


def test_time_that_spring_skips_does_not_come() -> None:
    """In New York 2026-03-08 goes from 01:59 EST to 03:00 EDT."""
    assert all_after("30 2 * * *", NEW_YORK, "2026-03-06T12:00", 2) == [
        "2026-03-07 07:30",
        "2026-03-09 06:30",
    ]


def test_time_that_autumn_shows_twice_comes_twice() -> None:
    """In New York 2026-11-01 goes from 01:59 EDT to 01:00 EST."""
    assert all_after("30 1 * * *", NEW_YORK, "2026-10-31T12:00", 3) == [
        "2026-11-01 05:30",
        "2026-11-01 06:30",
        "2026-11-02 06:30",
    ]


def test_hourly_goes_on_hour_by_hour_through_both_changes() -> None:
    assert all_after("0 * * * *", NEW_YORK, "2026-11-01T04:00", 3) == [
        "2026-11-01 05:00",
        "2026-11-01 06:00",
        "2026-11-01 07:00",
    ]
    assert all_after("0 * * * *", NEW_YORK, "2026-03-08T05:00", 3) == [
        "2026-03-08 06:00",
        "2026-03-08 07:00",
        "2026-03-08 08:00",
    ]


def test_midnight_that_does_not_exist_is_left_out() -> None:
    """In Beirut 2026-03-29 begins at 01:00."""
    assert all_after("0 0 * * *", ZoneInfo("Asia/Beirut"), "2026-03-27T12:00", 2) == [
        "2026-03-27 22:00",
        "2026-03-29 21:00",
    ]


def test_latest_missed_time_is_found() -> None:
    assert text(parse_schedule("*/5 * * * *").last_between(NOW - 3600, NOW)) == "2026-01-30 10:05"
    assert parse_schedule("0 0 * * *").last_between(NOW - 3600, NOW) is None
    assert text(parse_schedule("0 0 1 * *").last_between(0, NOW)) == "2026-01-01 00:00"


def test_latest_time_may_be_now_but_not_the_earliest() -> None:
    moment = at("2026-01-30T10:05")

    assert parse_schedule("*/5 * * * *").last_between(moment - 1, moment) == moment
    assert parse_schedule("*/5 * * * *").last_between(moment, moment + 60) is None


def test_every_counts_from_the_moment_asked_about() -> None:
    schedule = parse_schedule("@every 1h30m")

    assert schedule.after(1000.7) == 6400
    assert schedule.last_between(1000, 6399) is None
    assert schedule.last_between(1000, 6400) == 6400
    assert schedule.last_between(1000, 20_000) == 17_200
    assert parse_schedule("@every 10ms").after(5.0) == 6


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        (
            "* * * january *",
            'failed to parse int from january: strconv.Atoi: parsing "january": invalid syntax',
        ),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=UTC", "empty spec string"),
    ],
)
def test_nonsense_is_refused(schedule: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse_schedule(schedule)

    assert str(refused.value) == why


@pytest.mark.parametrize("name", ["Nowhere/Land", "America", "../etc/passwd", "/etc/localtime", "a b"])
def test_zone_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        load_zone(name)


def test_zones() -> None:
    assert load_zone("") is UTC
    assert load_zone("America/New_York") == NEW_YORK
    assert has_own_zone("CRON_TZ=UTC * * * * *")
    assert not has_own_zone("* * * * *")


def fits(schedule: Calendar, moment: float) -> bool:
    """The definition, minute by minute."""
    local = datetime.fromtimestamp(moment, schedule.zone)
    day, weekday = local.day in schedule.days, local.isoweekday() % 7 in schedule.weekdays
    both = schedule.any_day or schedule.any_weekday
    return (
        local.minute in schedule.minutes
        and local.hour in schedule.hours
        and local.month in schedule.months
        and ((day and weekday) if both else (day or weekday))
    )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["*", "*/7", "30", "0,59", "10-20/3"]),
    st.sampled_from(["*", "0", "1", "2", "1-3", "23"]),
    st.sampled_from(["*", "1", "28-31", "*/3", "?"]),
    st.sampled_from(["*", "mon", "0,6"]),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana"]),
    st.sampled_from(["2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04", "2026-03-29", "2026-10-25"]),
    st.integers(-30 * 3600, 30 * 3600),
)
def test_times_are_the_minutes_that_fit(
    minute: str, hour: str, day: str, weekday: str, zone: str, around: str, shift_s: int
) -> None:
    """Around changes of the clock: forwards and backwards find what a look at every minute finds."""
    schedule = parse_schedule(f"{minute} {hour} {day} * {weekday}", load_zone(zone))
    assert isinstance(schedule, Calendar)
    start = (datetime.fromisoformat(around + "T00:00+00:00") + timedelta(seconds=shift_s)).timestamp()
    first = int(start // 60) * 60 + 60
    minutes = [float(moment) for moment in range(first, first + 2 * 86_400, 60) if fits(schedule, moment)]

    following = schedule.after(start)
    end = first + 2 * 86_400 - 60

    assert (following if following is not None and following <= end else None) == (minutes or [None])[0]
    assert schedule.last_between(start, end) == (minutes or [None])[-1]
