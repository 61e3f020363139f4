"""CronJobs: when jobs are made, under which names, and what their status says."""

from __future__ import annotations

import pytest

from tests.controllers.crons import CronWorld, a_cron_job, name
from tests.controllers.world import a_job
from vcray.api.resources import CRONJOBS, JOBS
from vcray.controllers import raw
from vcray.controllers.base import Again, Create, Delete, Outcome, UpdateStatus

STAMP = "volcano.sh/cronjob-scheduled-timestamp"


@pytest.fixture
def w() -> CronWorld:
    return CronWorld()


def test_job_is_named_after_its_minute_and_belongs_to_the_cron_job(w: CronWorld) -> None:
    w.cron_job("*/5 * * * *", labels={"team": "x"}, annotations={"a": "b"})

    w.until("08:05:00.2")

    [job] = w.list(JOBS)
    assert raw.name(job) == "c-30000005"
    assert raw.labels_of(job) == {"team": "x"}
    assert raw.annotations_of(job) == {"a": "b", STAMP: "2027-01-15T08:05:00Z"}
    assert raw.tables(job, "metadata", "ownerReferences") == [
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "CronJob",
            "name": "c",
            "uid": raw.uid(w.cron()),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert job["spec"] == a_job()["spec"]
    assert w.told("SuccessfulCreate") == [("Normal", "Created job c-30000005 for CronJob ns/c")]


def test_status_lists_the_job_and_its_time(w: CronWorld) -> None:
    w.cron_job()

    w.until("08:01:01")

    job = w.job("c-30000001")
    assert w.cron()["status"] == {
        "active": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "namespace": "ns",
                "name": "c-30000001",
                "uid": raw.uid(job),
                "resourceVersion": raw.version(job),
            }
        ],
        "lastScheduleTime": "2027-01-15T08:01:00Z",
    }


def test_turn_is_promised_a_tenth_of_a_second_after_the_next_time(w: CronWorld) -> None:
    w.cron_job("30 9 * * *")

    [again] = w.did(Again)

    assert isinstance(again, Again)
    assert again.after_s == pytest.approx(5400.1)


def test_nothing_is_made_before_the_time(w: CronWorld) -> None:
    w.cron_job("30 9 * * *")

    w.until("09:29:59")
    assert w.jobs() == []
    w.until("09:30:01")

    assert w.jobs() == [name("9:30")]


def test_turn_at_the_very_time_starts_it_once(w: CronWorld) -> None:
    w.cron_job()
    w.now += 60.0

    w.change(CRONJOBS, "ns", "c", metadata__labels={"x": "y"})
    w.settle()
    assert w.jobs() == [name("8:01")]
    w.until("08:01:59")

    assert len(w.did(Create)) == 1
    assert w.last() == "2027-01-15T08:01:00Z"


def test_timer_that_comes_early_is_set_again(w: CronWorld) -> None:
    w.cron_job()
    early = [(due - 1, controller, request) for due, controller, request in w.waiting]
    w.waiting = early

    w.until("08:01:01")

    assert w.jobs() == [name("8:01")]


def test_job_changes_make_no_more_timers(w: CronWorld) -> None:
    w.cron_job("0 * * * *")
    w.until("09:00:01")
    before = len(w.did(Again))

    for phase in ("Pending", "Running", "Restarting", "Running"):
        w.end(name("9:00"), phase)

    assert len(w.did(Again)) == before
    assert len(w.waiting) == 1


def test_ended_job_leaves_the_active_ones_and_a_success_is_noted(w: CronWorld) -> None:
    w.cron_job("0 * * * *")
    w.until("09:00:01")

    w.until("09:20:00")
    w.end(name("9:00"))

    assert w.active() == []
    assert w.last("lastSuccessfulTime") == "2027-01-15T09:20:00Z"
    assert w.told("SawCompletedJob") == [("Normal", "Saw completed job: c-30000060 in active, remove")]


@pytest.mark.parametrize("phase", ["Failed", "Terminated", "Aborted"])
def test_job_that_ends_otherwise_is_no_success(w: CronWorld, phase: str) -> None:
    w.cron_job("0 * * * *")
    w.until("09:00:01")

    w.end(name("9:00"), phase)

    assert (w.active(), w.last("lastSuccessfulTime")) == ([], "")


@pytest.mark.parametrize(
    "phase", ["Pending", "Running", "Restarting", "Aborting", "Terminating", "Completing"]
)
def test_job_on_its_way_is_active(w: CronWorld, phase: str) -> None:
    w.cron_job("0 * * * *")
    w.until("09:00:01")

    w.end(name("9:00"), phase)

    assert w.active() == [name("9:00")]


def test_latest_success_counts_whatever_the_order(w: CronWorld) -> None:
    w.cron_job()
    w.until("08:02:01")

    w.end(name("8:02"))
    later = w.last("lastSuccessfulTime")
    w.change(
        JOBS,
        "ns",
        name("8:01"),
        status__state={"phase": "Completed", "lastTransitionTime": "2027-01-15T08:01:30Z"},
    )
    w.settle()

    assert w.last("lastSuccessfulTime") == later == "2027-01-15T08:02:01Z"


def test_resumed_job_is_active_again(w: CronWorld) -> None:
    w.cron_job("0 * * * *", concurrencyPolicy="Forbid")
    w.until("09:00:01")
    w.end(name("9:00"), "Aborted")

    w.end(name("9:00"), "Restarting")

    assert w.active() == [name("9:00")]


def test_suspended_cron_job_starts_nothing_but_counts(w: CronWorld) -> None:
    w.cron_job()
    w.until("08:01:01")
    w.change(CRONJOBS, "ns", "c", spec__suspend=True)
    w.settle()

    w.until("08:05:30")
    w.end(name("8:01"))

    assert w.jobs() == [name("8:01")]
    assert w.active() == []


def test_missed_time_is_started_when_it_goes_on(w: CronWorld) -> None:
    w.cron_job("*/10 * * * *", suspend=True)
    w.until("08:25:00")

    w.change(CRONJOBS, "ns", "c", spec__suspend=False)
    w.settle()

    assert w.jobs() == [name("8:20")]
    assert w.last() == "2027-01-15T08:20:00Z"
    w.until("08:30:01")
    assert w.jobs() == [name("8:20"), name("8:30")]


def test_history_keeps_three_successes_and_one_failure(w: CronWorld) -> None:
    w.cron_job()
    for minute in range(1, 8):
        w.until(f"08:0{minute}:30")
        w.end(name(f"8:0{minute}"), "Failed" if minute in (2, 4) else "Completed")

    assert w.jobs() == [name("8:04"), name("8:05"), name("8:06"), name("8:07")]
    assert w.told("SuccessfulDelete")[0] == ("Normal", 'Deleted job "c-30000002"')
    delete = w.did(Delete)[0]
    assert isinstance(delete, Delete)
    assert (delete.propagation, delete.grace_s, bool(delete.uid)) == ("", None, True)


def test_history_of_nothing_keeps_nothing_and_repeats_nothing(w: CronWorld) -> None:
    w.cron_job(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    w.until("08:01:30")

    w.end(name("8:01"))
    w.until("08:01:59")

    assert w.jobs() == []
    assert len(w.did(Create)) == 1


def test_terminated_jobs_count_as_failures_and_aborted_ones_stay(w: CronWorld) -> None:
    w.cron_job("* * * * *", failedJobsHistoryLimit=1)
    for minute, phase in enumerate(["Aborted", "Terminated", "Failed", "Terminated"], start=1):
        w.until(f"08:0{minute}:30")
        w.end(name(f"8:0{minute}"), phase)

    assert w.jobs() == [name("8:01"), name("8:04")]


def test_schedule_that_changes_waits_for_its_next_time(w: CronWorld) -> None:
    w.cron_job("0 * * * *")
    w.until("09:40:00")

    w.change(CRONJOBS, "ns", "c", spec__schedule="*/30 * * * *")
    w.settle()
    w.end(name("9:00"))
    assert w.jobs() == [name("9:00")]
    w.until("10:00:01")

    assert w.jobs() == [name("9:00"), name("10:00")]


def test_time_zone_that_changes_waits_for_its_next_time(w: CronWorld) -> None:
    """09:00 in Berlin has just been, at 08:00 UTC; the next one is tomorrow's."""
    w.cron_job("0 9 * * *")
    w.until("08:30:00")

    w.change(CRONJOBS, "ns", "c", spec__timeZone="Europe/Berlin")
    w.settle()
    w.until("09:10:00")
    assert w.jobs() == []
    w.until("01-16T08:00:01")

    assert len(w.jobs()) == 1
    assert raw.annotation(w.list(JOBS)[0], STAMP) == "2027-01-16T09:00:00+01:00"


def test_other_changes_act_at_once(w: CronWorld) -> None:
    w.cron_job("0 * * * *", concurrencyPolicy="Forbid")
    w.until("10:30:00")
    assert w.jobs() == [name("9:00")]

    w.change(CRONJOBS, "ns", "c", spec__concurrencyPolicy="Allow")
    w.settle()

    assert w.jobs() == [name("9:00"), name("10:00")]


def test_settled_cron_job_is_left_in_peace(w: CronWorld) -> None:
    w.cron_job("0 * * * *")
    w.until("09:00:30")
    before = len(w.writes())

    for _ in range(3):
        w.replay(JOBS, CRONJOBS)
        w.settle()

    assert len(w.writes()) == before
    assert [type(e) for e in w.writes()] == [Create, UpdateStatus]


def test_cron_job_that_is_going_starts_nothing(w: CronWorld) -> None:
    w.cron_job()
    w.change(CRONJOBS, "ns", "c", metadata__deletionTimestamp="2027-01-15T08:00:30Z")

    w.until("08:05:00")

    assert w.jobs() == []


def test_cron_job_that_is_gone_or_made_again_is_not_the_one_before(w: CronWorld) -> None:
    w.cron_job()
    w.until("08:01:01")
    first = raw.uid(w.cron())
    w.remove(CRONJOBS, "ns", "c")
    w.settle()
    w.until("08:03:30")
    assert w.jobs() == [name("8:01")]

    w.put(
        CRONJOBS,
        {
            **a_cron_job(),
            "metadata": {"name": "c", "namespace": "ns", "creationTimestamp": "2027-01-15T08:03:30Z"},
        },
    )
    w.settle()
    w.until("08:04:01")

    assert w.jobs() == [name("8:01"), name("8:04")]
    assert raw.controlled_by(w.job(name("8:01")), first)
    assert w.active() == [name("8:04")]


def test_two_times_within_a_minute_share_a_job(w: CronWorld) -> None:
    w.cron_job("@every 30s")

    w.until("08:00:59")
    w.end(name("8:00"))
    w.until("08:01:59")

    assert w.jobs() == [name("8:00"), name("8:01")]
    assert w.last() == "2027-01-15T08:01:30Z"
    assert len(w.did(Create)) == 2


def test_every_keeps_its_beat(w: CronWorld) -> None:
    """Counted from the creation, whatever the deadline and whatever was missed."""
    w.cron_job("@every 7m", startingDeadlineSeconds=30)
    w.until("08:07:01")
    w.waiting = []
    w.until("08:23:00")

    w.restart()
    assert w.jobs() == [name("8:07")]
    w.until("08:28:01")

    assert w.jobs() == [name("8:07"), name("8:28")]


def test_failed_status_write_is_tried_again_without_a_second_job(w: CronWorld) -> None:
    errors = [Outcome(ok=False, status=500, message="slow")]
    w.fail = lambda effect: errors.pop() if isinstance(effect, UpdateStatus) and errors else None
    w.cron_job()

    w.until("08:01:10")

    assert w.jobs() == w.active() == [name("8:01")]
    assert len(w.did(Create)) == 1
    assert w.errors == ["write the status of CronJob c: slow"]
