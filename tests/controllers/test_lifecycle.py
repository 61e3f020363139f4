"""The table of the job's life, cell by cell, and the rules that lead from counters to phases."""

from __future__ import annotations

import pytest

from tests.controllers.world import a_job, a_task
from vcray.api.meta import JsonObject
from vcray.controllers.job.lifecycle import TABLE, Do, finish, restarted, start, step_for
from vcray.controllers.job.status import Counts, Status
from vcray.controllers.job.view import JobView, view_job

ACTIONS = (
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "AbortJob",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
    "SyncJob",
    "",
)
ALL, SOFT, TARGET, SYNC = Do.KILL_ALL, Do.KILL_UNFINISHED, Do.KILL_TARGET, Do.SYNC
LIVE = [ALL, TARGET, TARGET, TARGET, SOFT, SOFT, SOFT, SYNC, SYNC, SYNC]
EXPECTED = {
    "": LIVE,
    "Pending": LIVE,
    "Running": LIVE,
    "Restarting": [ALL, TARGET, TARGET, TARGET, ALL, ALL, ALL, ALL, SYNC, ALL],
    **dict.fromkeys(
        ("Aborting", "Aborted", "Terminating", "Completing", "Completed", "Failed", "Terminated"), [SOFT] * 10
    ),
}
ENTERED = {
    "RestartJob": "Restarting",
    "RestartTask": "Restarting",
    "RestartPod": "Restarting",
    "RestartPartition": "Restarting",
    "AbortJob": "Aborting",
    "TerminateJob": "Terminating",
    "CompleteJob": "Completing",
}


def job(**spec: object) -> JobView:
    raw: JsonObject = a_job(**spec)
    view = view_job(raw)
    assert view is not None
    return view


@pytest.mark.parametrize("phase", EXPECTED)
def test_each_action_does_what_the_table_of_volcano_says(phase: str) -> None:
    assert [step_for(phase, action).do for action in ACTIONS] == EXPECTED[phase]


def test_every_phase_has_a_row() -> None:
    assert set(TABLE) == set(EXPECTED)


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
@pytest.mark.parametrize("action", ENTERED)
def test_an_action_enters_its_phase_while_pods_still_end(phase: str, action: str) -> None:
    status = step_for(phase, action).then(job(), Status(phase=phase, counts=Counts(terminating=1)))

    assert status.phase == ENTERED[action]
    assert status.retry_count == (1 if ENTERED[action] == "Restarting" else 0)


@pytest.mark.parametrize("phase", ["Aborting", "Aborted"])
def test_a_resume_costs_no_retry_o_056(phase: str) -> None:
    status = step_for(phase, "ResumeJob").then(job(), Status(phase=phase, retry_count=2))

    assert (status.phase, status.retry_count) == ("Restarting", 2)


@pytest.mark.parametrize(
    ("phase", "ended"),
    [("Aborting", "Aborted"), ("Terminating", "Terminated"), ("Completing", "Completed")],
)
@pytest.mark.parametrize("alive", ["terminating", "pending", "running"])
def test_a_phase_of_ending_is_left_when_no_pod_is_alive(phase: str, ended: str, alive: str) -> None:
    then = step_for(phase, "SyncJob").then

    assert then(job(), Status(phase=phase, counts=Counts(**{alive: 1}))).phase == phase
    assert then(job(), Status(phase=phase, counts=Counts(failed=1, succeeded=1))).phase == ended


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_leaves_an_end_phase(phase: str, action: str) -> None:
    assert step_for(phase, action).then(job(), Status(phase=phase)).phase == phase


def test_pending_starts_when_running_and_ended_pods_reach_the_minimum() -> None:
    view = job(tasks=[a_task(replicas=3)])

    assert start(view, Status(phase="Pending", counts=Counts(running=1, failed=1))).phase == "Pending"
    assert (
        start(view, Status(phase="Pending", counts=Counts(running=1, failed=1, succeeded=1))).phase
        == "Running"
    )


@pytest.mark.parametrize(
    ("retries", "terminating", "phase"),
    [(3, 1, "Failed"), (2, 0, "Pending"), (2, 1, "Pending"), (2, 2, "Restarting"), (4, 0, "Failed")],
)
def test_restarting_ends_by_retries_first_then_by_what_still_ends(
    retries: int, terminating: int, phase: str
) -> None:
    status = Status(
        phase="Restarting", retry_count=retries, min_available=2, counts=Counts(terminating=terminating)
    )

    assert restarted(job(tasks=[a_task(replicas=3)]), status).phase == phase


@pytest.mark.parametrize(
    ("counts", "phase"),
    [
        (Counts(running=2), "Running"),
        (Counts(running=1, pending=1), "Running"),
        (Counts(pending=2), "Pending"),
        (Counts(succeeded=1, running=1), "Running"),
        (Counts(succeeded=1, failed=1), "Completed"),
        (Counts(failed=2), "Failed"),
    ],
)
def test_running_job_of_two_pods_that_needs_one(counts: Counts, phase: str) -> None:
    view = job(minAvailable=1, tasks=[a_task(replicas=2, least=2)])

    assert finish(view, Status(phase="Running", counts=counts)).phase == phase
