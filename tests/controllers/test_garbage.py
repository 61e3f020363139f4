"""Time to live of ended jobs."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS
from vcray.controllers.base import Delete, Outcome, Read
from vcray.controllers.garbage import GarbageController

START = "2027-01-15T08:00:00Z"


def ended(phase: str, seconds: int | None = 10) -> JsonObject:
    spec = {} if seconds is None else {"ttlSecondsAfterFinished": seconds}
    return {**a_job(**spec), "status": {"state": {"phase": phase, "lastTransitionTime": START}}}


def world() -> World:
    return World([GarbageController()])


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated", "Aborted"])
def test_ended_job_goes_when_its_time_is_over_o_060(phase: str) -> None:
    """api-controllers.md 10.18, decided otherwise: docs/differences.md."""
    w = world()
    w.put(JOBS, ended(phase))
    w.settle()

    w.advance(9)
    assert len(w.list(JOBS)) == 1
    w.advance(1)

    assert w.list(JOBS) == []
    delete = w.did(Delete)[0]
    assert isinstance(delete, Delete)
    assert delete.propagation == "Foreground"
    assert delete.uid


@pytest.mark.parametrize("job", [ended("Completed", None), ended("Running"), ended("Aborting")])
def test_other_jobs_stay(job: JsonObject) -> None:
    w = world()
    w.put(JOBS, job)
    w.settle()

    w.advance(3600)

    assert len(w.list(JOBS)) == 1
    assert w.effects == []


def test_zero_seconds_is_at_once() -> None:
    w = world()

    w.put(JOBS, ended("Failed", 0))
    w.settle()

    assert w.list(JOBS) == []


def test_resumed_job_stays() -> None:
    w = world()
    w.put(JOBS, ended("Aborted"))
    w.settle()

    w.put(JOBS, {**w.job(), "status": {"state": {"phase": "Restarting", "lastTransitionTime": START}}})
    w.advance(10)

    assert len(w.list(JOBS)) == 1


def test_the_live_object_has_the_last_word() -> None:
    w = world()
    w.put(JOBS, ended("Completed"))
    w.settle()
    live = ended("Completed", 100)
    live["metadata"] = w.job()["metadata"]
    w.fail = lambda effect: Outcome(object=live) if isinstance(effect, Read) else None

    w.advance(10)
    assert len(w.list(JOBS)) == 1

    assert [due for due, _, _ in w.waiting] == [1_800_000_100.0]


def test_job_made_again_under_the_name_is_not_the_one_that_ended() -> None:
    w = world()
    w.put(JOBS, ended("Completed"))
    w.settle()
    w.remove(JOBS, "ns", "j")

    w.put(JOBS, {**a_job(ttlSecondsAfterFinished=10), "status": {"state": {"phase": "Running"}}})
    w.advance(10)

    assert len(w.list(JOBS)) == 1


def test_failed_delete_is_tried_again() -> None:
    w = world()
    errors = [Outcome(ok=False, status=500, message="slow")]
    w.fail = lambda effect: errors.pop() if isinstance(effect, Delete) and errors else None

    w.put(JOBS, ended("Failed", 0))
    w.settle()
    w.advance(1)

    assert w.list(JOBS) == []
