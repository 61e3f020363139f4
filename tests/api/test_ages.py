"""Ages are those of kubectl: one or two units, fewer digits the longer it is."""

import pytest

from vcray.api.ages import duration, since

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0.4, "0s"),
        (119, "119s"),
        (120, "2m"),
        (3 * MINUTE + 5, "3m5s"),
        (10 * MINUTE + 5, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 2 * MINUTE, "7h2m"),
        (8 * HOUR, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (800 * DAY, "2y70d"),
        (4000 * DAY, "10y"),
    ],
)
def test_durations_have_one_or_two_units(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("value", ["", None, 3, "yesterday"])
def test_what_is_no_time_was_an_unknown_time_ago(value):
    assert since(value, 0.0) == "<unknown>"


def test_an_age_is_counted_from_the_moment_given():
    assert since("1970-01-01T00:01:00Z", 185.0) == "2m5s"
