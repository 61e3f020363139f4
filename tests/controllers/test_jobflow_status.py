"""JobFlows: the phases of the table, and what the status tells of the jobs."""

from __future__ import annotations

import pytest

from tests.controllers.flow_world import FlowWorld, a_flow
from vcray.api.flow import FlowPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from vcray.controllers import raw
from vcray.controllers.base import Outcome, UpdateStatus
from vcray.controllers.jobflow.lifecycle import TABLE, Do, Sign, Tally, next_phase

CHAIN = ("a", ("b", ["a"]))
PENDING, RUNNING, FAILED, SUCCEED = (
    FlowPhase.PENDING,
    FlowPhase.RUNNING,
    FlowPhase.FAILED,
    FlowPhase.SUCCEED,
)


@pytest.mark.parametrize(
    ("phase", "tally", "then"),
    [
        (PENDING, Tally(), PENDING),
        (PENDING, Tally(done=True), PENDING),
        (PENDING, Tally(running=1), RUNNING),
        (PENDING, Tally(completed=1), RUNNING),
        (PENDING, Tally(completed=2, done=True), RUNNING),
        (PENDING, Tally(running=1, terminated=1), RUNNING),
        (PENDING, Tally(running=1, failed=1), FAILED),
        (PENDING, Tally(completed=1, failed=1), FAILED),
        (PENDING, Tally(failed=1), FAILED),
        (PENDING, Tally(terminated=1), FAILED),
        (RUNNING, Tally(), RUNNING),
        (RUNNING, Tally(running=1, completed=1), RUNNING),
        (RUNNING, Tally(completed=2, done=True), SUCCEED),
        (RUNNING, Tally(completed=2, failed=1, done=True), SUCCEED),
        (RUNNING, Tally(running=1, failed=1), FAILED),
        (RUNNING, Tally(completed=1, terminated=1), FAILED),
        (SUCCEED, Tally(failed=1), SUCCEED),
        (SUCCEED, Tally(running=1), SUCCEED),
        (FAILED, Tally(completed=1, done=True), FAILED),
        (FlowPhase.TERMINATING, Tally(completed=1, done=True), FlowPhase.TERMINATING),
    ],
)
def test_signs_lead_to_the_next_phase(phase: FlowPhase, tally: Tally, then: FlowPhase) -> None:
    assert next_phase(phase, tally) is then


def test_the_table_is_volcanos() -> None:
    assert {phase: (stage.do, stage.leaves) for phase, stage in TABLE.items()} == {
        PENDING: (Do.MAKE, ((Sign.BEGUN, RUNNING), (Sign.BROKEN, FAILED))),
        RUNNING: (Do.MAKE, ((Sign.DONE, SUCCEED), (Sign.BROKEN, FAILED))),
        SUCCEED: (Do.MAKE_OR_DELETE, ()),
        FAILED: (Do.NOTHING, ()),
        FlowPhase.TERMINATING: (Do.NOTHING, ()),
    }


def test_each_phase_of_a_job_has_its_list_or_none() -> None:
    phases = ["Pending", "Running", "Failed", "Completed", "Terminated", "Completing", "Terminating"]
    phases += ["Aborting", "Aborted", "Restarting"]
    templates = [phase.lower() for phase in phases]
    w = FlowWorld("new", *templates)
    w.put(JOBFLOWS, a_flow("new", *templates))
    w.settle()
    w.now_is("Pending", "f-new")
    for phase, name in zip(phases, templates, strict=True):
        w.objects[JOBS, "ns", f"f-{name}"] = {
            **w.job(f"f-{name}"),
            "status": {"state": {"phase": phase}},
        }
    w.objects[JOBS, "ns", "f-new"] = {**w.job("f-new"), "status": {}}

    w.restart()

    lists = {key: value for key, value in w.flow_status().items() if key.endswith("Jobs")}
    assert lists == {
        "pendingJobs": ["f-pending"],
        "runningJobs": ["f-running"],
        "failedJobs": ["f-failed"],
        "completedJobs": ["f-completed"],
        "terminatedJobs": ["f-terminated"],
        "unKnowJobs": ["f-aborted", "f-aborting", "f-new", "f-restarting"],
    }
    assert w.flow_phase() == "Failed"


def test_status_tells_of_each_job_from_start_to_end() -> None:
    w = FlowWorld("a")
    w.begin("a")
    assert w.flow_status() == {
        "state": {"phase": "Pending"},
        "unKnowJobs": ["f-a"],
        "conditions": {"f-a": {"createTime": "2027-01-15T08:00:00Z"}},
        "jobStatusList": [{"name": "f-a", "startTimestamp": "2027-01-15T08:00:00Z"}],
    }

    w.advance(5)
    w.now_is("Running", "f-a")
    w.advance(10)
    counts: JsonObject = {"t": {"phase": {"Succeeded": 1}}}
    w.now_is("Completed", "f-a", retryCount=2, runningDuration="15.5s", taskStatusCount=counts)

    assert w.flow_status() == {
        "state": {"phase": "Succeed"},
        "completedJobs": ["f-a"],
        "conditions": {
            "f-a": {
                "phase": "Completed",
                "createTime": "2027-01-15T08:00:00Z",
                "runningDuration": "15.5s",
                "taskStatusCount": counts,
            }
        },
        "jobStatusList": [
            {
                "name": "f-a",
                "state": "Completed",
                "startTimestamp": "2027-01-15T08:00:00Z",
                "endTimestamp": "2027-01-15T08:00:15Z",
                "restartCount": 2,
                "runningHistories": [
                    {
                        "startTimestamp": "2027-01-15T08:00:05Z",
                        "endTimestamp": "2027-01-15T08:00:15Z",
                        "state": "Running",
                    },
                    {"startTimestamp": "2027-01-15T08:00:15Z", "state": "Completed"},
                ],
            }
        ],
    }


def test_entries_of_deleted_jobs_stay_in_the_list_of_jobs_alone() -> None:
    w = FlowWorld("a", "b")
    w.begin("a", "b")
    w.now_is("Running", "f-a", "f-b")

    w.remove(JOBTEMPLATES, "ns", "a")
    w.remove(JOBS, "ns", "f-a")
    w.now_is("Completed", "f-b")

    status = w.flow_status()
    assert [raw.text(entry, "name") for entry in raw.tables(status, "jobStatusList")] == ["f-a", "f-b"]
    assert set(raw.table(status, "conditions")) == {"f-b"}
    assert "runningJobs" not in status


def test_nothing_is_written_when_nothing_changed() -> None:
    w = FlowWorld("a", "b")
    w.begin(*CHAIN)
    w.now_is("Running", "f-a")
    w.advance(60)
    w.effects.clear()

    w.replay(JOBFLOWS, JOBS)
    w.change(JOBS, "ns", "f-a", metadata__labels={**raw.labels_of(w.job("f-a")), "seen": "yes"})
    w.settle()

    assert w.effects == []


def test_an_empty_flow_stays_pending() -> None:
    w = FlowWorld()

    w.begin()
    w.restart()

    assert w.flow_status() == {"state": {"phase": "Pending"}}


def test_a_status_write_that_meets_a_newer_flow_is_tried_again() -> None:
    w = FlowWorld("a")
    conflicts = [Outcome(ok=False, status=409, reason="Conflict", message="modified")]
    w.fail = lambda e: conflicts.pop() if isinstance(e, UpdateStatus) and conflicts else None

    w.begin("a")

    assert w.errors == ["modified"]
    assert w.flow_phase() == "Pending"
