"""Go durations, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcray.api.duration import (
    HOUR,
    MILLISECOND,
    MINUTE,
    SECOND,
    DurationError,
    duration_seconds,
    format_duration,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("10s", 10 * SECOND),
        ("1h30m", HOUR + 30 * MINUTE),
        ("1.5s", 1500 * MILLISECOND),
        ("-2m", -2 * MINUTE),
        (".5ms", 500_000),
        ("1us", 1000),
        ("1µs", 1000),
        ("1h1h", 2 * HOUR),
        ("3ns", 3),
        ("1.s", SECOND),
    ],
)
def test_known_texts_have_their_nanoseconds(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "10", "s", "1d", "1 s", "1h-2m", ".s", "300000h0m0s300y", "9999999999h"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "0s"),
        (HOUR, "1h0m0s"),
        (90 * SECOND, "1m30s"),
        (1500 * MILLISECOND, "1.5s"),
        (MILLISECOND, "1ms"),
        (1, "1ns"),
        (1500, "1.5µs"),
        (-3 * SECOND, "-3s"),
        (SECOND + 10 * MILLISECOND, "1.01s"),
    ],
)
def test_durations_are_written_as_go_writes_them(amount: int, expected: str) -> None:
    assert format_duration(amount) == expected


@given(st.integers(-(2**62), 2**62))
def test_a_written_duration_reads_back(amount: int) -> None:
    assert parse_duration(format_duration(amount)) == amount


def test_seconds_are_a_float() -> None:
    assert duration_seconds("1m500ms") == 60.5
