"""How far an object has come, read from what its operator writes."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    JOBFLOWS,
    JOBS,
    JOBSETS,
    KUBERNETES_JOBS,
    PODS,
    PYTORCHJOBS,
    RAYCLUSTERS,
    RAYJOBS,
    SPARKAPPLICATIONS,
    TRAINJOBS,
    Resource,
)
from vcray.client.states import Outcome, State, outcome_of

W, R, S, F = State.WAITING, State.RUNNING, State.SUCCEEDED, State.FAILED


def holds(kind: str, message: str = "") -> JsonObject:
    return {"conditions": [{"type": kind, "status": "True", "message": message}]}


@pytest.mark.parametrize(
    ("resource", "status", "state", "phase"),
    [
        (JOBS, {}, W, ""),
        (JOBS, {"state": {"phase": "Pending"}}, W, "Pending"),
        (JOBS, {"state": {"phase": "Restarting"}}, W, "Restarting"),
        (JOBS, {"state": {"phase": "Running"}}, R, "Running"),
        (JOBS, {"state": {"phase": "Completed"}}, S, "Completed"),
        (JOBS, {"state": {"phase": "Aborted"}}, F, "Aborted"),
        (JOBFLOWS, {"state": {"phase": "Succeed"}}, S, "Succeed"),
        (PODS, {"phase": "Failed"}, F, "Failed"),
        (RAYCLUSTERS, {"state": "ready"}, R, "ready"),
        (RAYCLUSTERS, {"state": "suspended"}, W, "suspended"),
        (RAYJOBS, {"jobDeploymentStatus": "Initializing"}, W, "Initializing"),
        (RAYJOBS, {"jobDeploymentStatus": "Running"}, R, "Running"),
        (RAYJOBS, {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}, S, "SUCCEEDED"),
        (RAYJOBS, {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, F, "STOPPED"),
        (RAYJOBS, {"jobDeploymentStatus": "Failed"}, F, "Failed"),
        (SPARKAPPLICATIONS, {"applicationState": {"state": "SUBMITTED"}}, W, "SUBMITTED"),
        (SPARKAPPLICATIONS, {"applicationState": {"state": "COMPLETED"}}, S, "COMPLETED"),
        (PYTORCHJOBS, holds("Running"), R, "Running"),
        (PYTORCHJOBS, holds("Succeeded"), S, "Succeeded"),
        (TRAINJOBS, holds("Complete"), S, "Complete"),
        (JOBSETS, holds("Failed"), F, "Failed"),
        (KUBERNETES_JOBS, {"active": 2}, R, "Active"),
        (KUBERNETES_JOBS, {**holds("Complete"), "active": 0}, S, "Complete"),
        (Resource("x.io", "v1", "Thing", "things"), holds("Succeeded"), S, "Succeeded"),
    ],
)
def test_states_are_read_in_the_words_of_each_kind(
    resource: Resource, status: JsonObject, state: State, phase: str
) -> None:
    found = outcome_of(resource, {"status": status})

    assert (found.state, found.phase) == (state, phase)


def test_an_end_is_told_with_its_message() -> None:
    status = {
        "conditions": [
            {"type": "Running", "status": "False"},
            {"type": "Failed", "status": "True", "message": "out of memory"},
        ]
    }

    assert outcome_of(PYTORCHJOBS, {"status": status}) == Outcome(F, "Failed", "out of memory")
