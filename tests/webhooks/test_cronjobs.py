"""Admission of CronJobs."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import ask
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.cronjobs import validate

NOT_CRON = "schedule is not a valid cron expression"
TZ = "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field"
LOCAL = "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"
TOO_LONG = "cronJob name must be no more than 52 characters to accommodate job name suffix (max 63 total)"


def cronjob(schedule: JsonValue = "* * * * *", name: str = "c", **spec: JsonValue) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, **spec}}


def problem(cron_job: JsonObject, operation: str = "CREATE") -> str:
    return validate(ask(operation, cron_job)).problem


@pytest.mark.parametrize(
    "schedule",
    [
        "*/5 * * * *",
        "0 9-17/2 1,15 JAN-mar Mon",
        "? 0 ? * 0-6",
        "5/10 * * * *",
        "1,,2 * * * *",
        "@hourly",
        "@every 1h30m",
    ],
)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_schedule_that_can_be_read_passes(operation: str, schedule: str) -> None:
    assert problem(cronjob(schedule), operation) == ""


@pytest.mark.parametrize(
    "schedule",
    [
        " ",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "5-1 * * * *",
        "1-2-3 * * * *",
        "*/0 * * * *",
        "*/x * * * *",
        "1/2/3 * * * *",
        "-1 * * * *",
        ", * * * *",
        "monday * * * *",
        "@never",
        "@every",
        "@every soon",
        " @hourly",
        "١ * * * *",
    ],
)
def test_schedule_that_cannot_be_read_is_refused(schedule: str) -> None:
    assert problem(cronjob(schedule)) == NOT_CRON


@pytest.mark.parametrize("schedule", ["", None, 5])
def test_there_is_a_schedule(schedule: JsonValue) -> None:
    assert problem(cronjob(schedule)) == "schedule is required, but got empty"


@pytest.mark.parametrize("schedule", ["TZ=UTC * * * * *", "CRON_TZ=Asia/Tokyo 0 0 * * *"])
def test_zone_stands_in_its_own_field(schedule: str) -> None:
    assert problem(cronjob(schedule)) == TZ


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Argentina/Salta", "Etc/GMT+5", None])
def test_zone_that_exists_passes(zone: JsonValue) -> None:
    assert problem(cronjob(timeZone=zone)) == ""


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("", "timeZone must be nil or non-empty string, got empty string"),
        ("Local", LOCAL),
        ("LOCAL", LOCAL),
        ("Mars/Phobos", "invalid timeZone"),
        ("America", "invalid timeZone"),
        ("../UTC", "unknown timeZone invalid timeZone"),
        ("./-x/averylongzonename", "unknown timeZone unknown timeZone unknown timeZone invalid timeZone"),
        ("/etc/passwd", "unknown timeZone invalid timeZone"),
        ("UTC\n", "unknown timeZone invalid timeZone"),
        ("a\0", "unknown timeZone invalid timeZone"),
    ],
)
def test_zone_that_does_not_exist_is_refused(zone: str, told: str) -> None:
    assert problem(cronjob(timeZone=zone)) == told


def test_schedule_and_zone_are_told_as_one_text() -> None:
    assert problem(cronjob("x", timeZone="Local")) == f"{NOT_CRON} {LOCAL}"
    assert problem(cronjob("", timeZone="")) == (
        "schedule is required, but got empty timeZone must be nil or non-empty string, got empty string"
    )


def test_name_leaves_room_for_the_jobs() -> None:
    assert problem(cronjob(name="c" * 52)) == ""
    assert problem(cronjob(name="c" * 53)) == TOO_LONG
    assert problem(cronjob("x", name="c" * 53)) == f"{NOT_CRON}; {TOO_LONG}"


def test_name_is_a_name() -> None:
    assert problem(cronjob("", name="a b")) == (
        "schedule is required, but got empty; "
        "invalid cronJob name \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
        "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )


def test_job_template_is_not_looked_at() -> None:
    assert problem(cronjob(jobTemplate={"spec": {"minAvailable": -1}})) == ""


def test_other_operations_are_refused() -> None:
    assert problem(cronjob(), "DELETE") == "expect operation to be 'CREATE' or 'UPDATE'"
