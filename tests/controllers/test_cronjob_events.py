"""CronJobs: policies, missed times, time zones, and what users are told."""

from __future__ import annotations

import pytest

from tests.controllers.crons import CronWorld, name
from tests.controllers.world import a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import CRONJOBS, JOBS
from vcray.controllers import raw
from vcray.controllers.base import Again, Create, Delete, Effect, Outcome, Read

STAMP = "volcano.sh/cronjob-scheduled-timestamp"


@pytest.fixture
def w() -> CronWorld:
    return CronWorld()


def stamps(w: CronWorld) -> list[str]:
    return [raw.annotation(job, STAMP) for job in w.list(JOBS)]


# concurrency


def test_allow_runs_jobs_side_by_side(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Allow")

    w.until("08:03:01")

    assert w.active() == w.jobs() == [name("8:01"), name("8:02"), name("8:03")]


def test_forbid_skips_while_a_job_runs_and_says_so_once_a_time(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Forbid")
    w.until("08:03:01")

    w.end(name("8:01"), "Running")

    assert w.active() == w.jobs() == [name("8:01")]
    assert w.last() == "2027-01-15T08:01:00Z"
    skipped = ("Warning", "Skipping job creation because another job is already running")
    assert w.told("ForbidConcurrent") == [skipped, skipped]


def test_forbid_starts_the_latest_missed_time_when_the_job_ends(w: CronWorld) -> None:
    """api-controllers.md 10.45."""
    w.cron_job(concurrencyPolicy="Forbid")
    w.until("08:03:30")

    w.end(name("8:01"))

    assert w.active() == [name("8:03")]
    assert w.last() == "2027-01-15T08:03:00Z"


def test_forbid_starts_no_missed_time_past_its_deadline(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Forbid", startingDeadlineSeconds=20)
    w.until("08:03:30")

    w.end(name("8:01"))

    assert w.active() == []
    w.until("08:04:01")
    assert w.active() == [name("8:04")]


def test_replace_deletes_what_runs_and_leaves_one(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Replace")

    w.until("08:02:01")

    assert w.active() == w.jobs() == [name("8:02")]
    assert w.told("ReplaceConcurrent") == [("Warning", "Replacing active job for CronJob")]
    assert w.told("SuccessfulDelete") == [("Normal", 'Deleted job "c-30000001"')]


def test_replace_makes_nothing_beside_a_job_that_it_cannot_delete(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Replace")
    w.until("08:01:30")
    errors = [Outcome(ok=False, status=500, message="slow")]
    w.fail = lambda effect: errors.pop() if isinstance(effect, Delete) and errors else None

    w.advance(30.1)
    assert w.jobs() == [name("8:01")]
    assert w.told("FailedDelete") == [("Warning", 'Error deleting job "c-30000001": slow')]
    w.until("08:02:10")

    assert w.active() == w.jobs() == [name("8:02")]


def test_replaced_job_that_is_still_seen_does_not_come_back(w: CronWorld) -> None:
    """The server has deleted it, the watch event is still under way."""
    w.cron_job(concurrencyPolicy="Replace")
    w.until("08:01:30")
    w.fail = lambda effect: Outcome() if isinstance(effect, Delete) else None

    w.until("08:02:30")
    assert (w.active(), w.jobs()) == ([name("8:02")], [name("8:01"), name("8:02")])
    w.end(name("8:01"), "Terminating")
    assert w.active() == [name("8:02")]
    w.remove(JOBS, "ns", name("8:01"))
    w.settle()

    assert w.active() == [name("8:02")]
    assert w.told("StaleReference") == []
    assert len(w.did(Delete)) == 1


# missed times


def test_of_many_times_missed_the_latest_is_started(w: CronWorld) -> None:
    w.cron_job("*/10 * * * *")
    w.waiting = []
    w.until("09:15:00")

    w.restart()

    assert w.jobs() == [name("9:10")]
    assert w.told("TooManyMissedTimes") == []


@pytest.mark.parametrize(("clock", "told"), [("09:40:30", 0), ("09:41:30", 1)], ids=["100", "101"])
def test_more_than_a_hundred_missed_times_are_told(w: CronWorld, clock: str, told: int) -> None:
    w.cron_job()
    w.waiting = []
    w.until(clock)

    w.restart()

    assert w.jobs() == [name(clock[:5])]
    why = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    assert w.told("TooManyMissedTimes") == [("Warning", why)] * told


def test_deadline_limits_what_counts_as_missed(w: CronWorld) -> None:
    w.cron_job(startingDeadlineSeconds=200)
    w.waiting = []
    w.until("14:00:30")

    w.restart()

    assert len(w.jobs()) == 1
    assert w.told("TooManyMissedTimes") == []


def test_time_past_its_deadline_is_left_out(w: CronWorld) -> None:
    w.cron_job("0 * * * *", startingDeadlineSeconds=60)
    w.waiting = []
    w.until("09:01:00")

    w.restart()

    assert w.jobs() == []
    w.until("10:00:01")
    assert w.jobs() == [name("10:00")]


def test_time_just_within_its_deadline_is_started(w: CronWorld) -> None:
    w.cron_job("0 * * * *", startingDeadlineSeconds=60)
    w.waiting = []
    w.until("09:00:59")

    w.restart()

    assert w.jobs() == [name("9:00")]


# time zones


def test_time_is_that_of_the_time_zone(w: CronWorld) -> None:
    w.cron_job("0 9 * * *", timeZone="America/New_York")

    w.until("14:00:01")

    assert (w.jobs(), stamps(w)) == ([name("14:00")], ["2027-01-15T09:00:00-05:00"])
    assert w.last() == "2027-01-15T14:00:00Z"


def test_schedule_follows_the_clock_into_summer_time(w: CronWorld) -> None:
    """Berlin: 2027-03-28 goes from 01:59 +01:00 to 03:00 +02:00."""
    w.cron_job("30 9 * * *", timeZone="Europe/Berlin", successfulJobsHistoryLimit=9)
    w.until("03-26T12:00")
    for job in w.jobs():
        w.remove(JOBS, "ns", job)
    w.settle()

    w.until("03-29T12:00")

    assert stamps(w) == [
        "2027-03-27T09:30:00+01:00",
        "2027-03-28T09:30:00+02:00",
        "2027-03-29T09:30:00+02:00",
    ]


def test_time_that_the_clock_skips_is_left_out_and_one_it_shows_twice_comes_twice(w: CronWorld) -> None:
    """Berlin: 02:30 is not on 2027-03-28, and twice on 2027-10-31."""
    w.cron_job("30 2 28 3 *", timeZone="Europe/Berlin", suspend=True)
    w.until("03-27T00:00")
    w.change(CRONJOBS, "ns", "c", spec__suspend=False)
    w.settle()
    w.until("03-29T00:00")
    assert w.jobs() == []

    w.change(CRONJOBS, "ns", "c", spec__schedule="30 2 31 10 *")
    w.settle()
    w.until("11-02T00:00")

    assert stamps(w) == ["2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00"]


def test_unknown_time_zone_is_told_once_and_waits_for_a_change(w: CronWorld) -> None:
    w.cron_job(timeZone="Mars/Base")
    w.change(CRONJOBS, "ns", "c", metadata__labels={"x": "y"})
    w.settle()

    w.until("08:05:00")

    assert w.jobs() == []
    assert w.told("InvalidTimeZone") == [
        ("Warning", 'Invalid time zone "Mars/Base": unknown time zone Mars/Base')
    ]
    assert w.did(Again) == []
    w.change(CRONJOBS, "ns", "c", spec__timeZone="UTC")
    w.settle()
    w.until("08:06:01")
    assert w.jobs() == [name("8:06")]


def test_time_zone_in_the_schedule_goes_first_and_is_told(w: CronWorld) -> None:
    text = "TZ=Asia/Tokyo 30 17 * * *"
    w.cron_job(text, timeZone="America/New_York")

    w.until("08:30:01")

    assert stamps(w) == ["2027-01-15T03:30:00-05:00"]
    why = (
        f'CRON_TZ or TZ in the schedule "{text}" is not officially supported. '
        "If set, the TimeZone field will be ignored during execution."
    )
    assert w.told("UnsupportedSchedule") == [("Warning", why)]


@pytest.mark.parametrize("schedule", ["61 * * * *", "", "TZ=Mars/Base * * * * *", "@sometimes"])
def test_schedule_that_is_none_is_told_and_waits_for_a_change(w: CronWorld, schedule: str) -> None:
    w.cron_job(schedule)

    w.until("08:05:00")

    assert w.jobs() == []
    why = f"unparseable schedule for cronjob: {schedule}"
    assert w.told("UnParseableCronJobSchedule") == [("Warning", why)]
    assert w.did(Again) == []


def test_schedule_without_a_time_is_told(w: CronWorld) -> None:
    w.cron_job("0 0 31 2 *")

    why = "Error getting schedule time: the schedule has no time within five years"
    assert w.told("InvalidSchedule") == [("Warning", why)]
    assert w.did(Again) == []


# jobs that are not as they should be


def test_job_made_by_hand_is_told_of_once_and_not_counted(w: CronWorld) -> None:
    w.cron_job("0 * * * *", concurrencyPolicy="Forbid")
    owner: JsonObject = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "name": "c"}
    job = a_job("by-hand", uid="u1")
    job["metadata"] = {
        "name": "by-hand",
        "namespace": "ns",
        "uid": "u1",
        "ownerReferences": [{**owner, "uid": raw.uid(w.cron()), "controller": True}],
    }
    w.put(JOBS, job)
    w.settle()
    w.end("by-hand", "Running")

    w.until("09:00:01")

    why = "Detected orphaned job forgotten or not managed by controller: by-hand (UID: u1)"
    assert w.told("OrphanedJob") == [("Warning", why)]
    assert w.active() == [name("9:00")]


def test_active_job_that_vanished_is_told(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Forbid")
    w.until("08:01:30")
    uid = raw.uid(w.job(name("8:01")))

    w.remove(JOBS, "ns", name("8:01"))
    w.settle()

    assert w.told("StaleReference") == [("Warning", f'Active job "c-30000001" no longer exists (UID: {uid})')]
    assert w.active() == []
    w.until("08:02:01")
    assert w.active() == [name("8:02")]


def test_active_job_that_is_another_now_is_told(w: CronWorld) -> None:
    w.cron_job()
    w.until("08:01:30")
    uid = raw.uid(w.job(name("8:01")))

    w.remove(JOBS, "ns", name("8:01"))
    w.put(JOBS, {**a_job(name("8:01")), "metadata": {"name": name("8:01"), "namespace": "ns", "uid": "u2"}})
    w.settle()

    why = f'Active job reference "c-30000001" points to a different UID (expected: {uid}, actual: u2)'
    assert w.told("StaleReference") == [("Warning", why)]
    assert w.active() == []


def test_active_job_that_cannot_be_looked_up_stays_active(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Forbid")
    w.until("08:01:30")
    w.fail = lambda effect: (
        Outcome(ok=False, status=500, message="slow") if isinstance(effect, Read) else None
    )

    w.remove(JOBS, "ns", name("8:01"))
    w.settle()

    assert w.told("FailedGet")[0] == ("Warning", "Get job: slow")
    assert w.active() == [name("8:01")]
    assert w.jobs() == []
    w.fail = lambda effect: None
    w.until("08:02:01")
    assert w.active() == [name("8:02")]


def test_job_of_somebody_else_keeps_the_time_from_being_started(w: CronWorld) -> None:
    w.put(JOBS, a_job(name("8:01")))
    w.cron_job()

    w.until("08:01:30")
    assert w.active() == []
    why = "Job c-30000001 exists but is not owned by this CronJob (current owner: none)"
    assert w.told("ForeignJob") == [("Warning", why)]
    w.until("08:02:01")

    assert w.active() == [name("8:02")]


def test_owner_of_a_foreign_job_is_named(w: CronWorld) -> None:
    job = a_job(name("8:01"))
    owner: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "boss",
        "uid": "u",
        "controller": True,
    }
    job["metadata"] = {"name": name("8:01"), "namespace": "ns", "ownerReferences": [owner]}
    w.put(JOBS, job)
    w.cron_job()

    w.until("08:01:30")

    assert w.told("ForeignJob")[0][1].endswith("(current owner: boss)")


def test_refused_job_is_told_and_tried_again(w: CronWorld) -> None:
    w.cron_job()
    w.until("08:00:59")
    refusal = Outcome(ok=False, status=403, reason="Forbidden", message="exceeded quota")
    w.fail = lambda effect: refusal if isinstance(effect, Create) else None

    w.until("08:01:10")
    assert w.told("FailedCreate")[0] == ("Warning", "Failed to create job: exceeded quota")
    assert (w.jobs(), w.last()) == ([], "")
    w.fail = lambda effect: None
    w.until("08:01:30")

    assert w.active() == [name("8:01")]
    assert w.gave_up == []


def test_end_is_written_though_the_next_job_is_refused(w: CronWorld) -> None:
    w.cron_job(concurrencyPolicy="Forbid")
    w.until("08:02:30")
    w.fail = lambda effect: (
        Outcome(ok=False, status=500, message="slow") if isinstance(effect, Create) else None
    )

    w.end(name("8:01"))

    assert w.active() == []
    assert w.last("lastSuccessfulTime") == "2027-01-15T08:02:30Z"


def test_terminating_namespace_gets_no_job_and_no_retries(w: CronWorld) -> None:
    why = "jobs is forbidden: unable to create new content in namespace ns because it is being terminated"
    refusal = Outcome(ok=False, status=403, reason="Forbidden", message=why)
    w.fail = lambda effect: refusal if isinstance(effect, Create) else None
    w.cron_job()

    w.until("08:01:59")

    assert w.told("NamespaceTerminating") == [
        ("Warning", "Namespace ns is terminating, skipping job creation")
    ]
    assert (w.told("FailedCreate"), w.errors) == ([], [])


def test_history_that_cannot_be_deleted_holds_up_nothing(w: CronWorld) -> None:
    def refused(effect: Effect) -> Outcome | None:
        return Outcome(ok=False, status=500, message="slow") if isinstance(effect, Delete) else None

    w.cron_job(successfulJobsHistoryLimit=0)
    w.until("08:01:30")
    w.fail = refused
    w.end(name("8:01"))

    w.until("08:02:10")
    assert w.active() == [name("8:02")]
    w.fail = lambda effect: None
    w.until("08:02:30")

    assert w.jobs() == [name("8:02")]
