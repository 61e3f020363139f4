"""How far an object has come, in the words of its kind: waiting, running, succeeded or failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vcray.api.jsonview import condition_of, dig_object, dig_str, holds
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    JAXJOBS,
    JOBFLOWS,
    JOBS,
    JOBSETS,
    KUBERNETES_JOBS,
    MPIJOBS,
    MPIJOBS_V1,
    PADDLEJOBS,
    PODS,
    PYTORCHJOBS,
    RAYCLUSTERS,
    RAYJOBS,
    SPARKAPPLICATIONS,
    TFJOBS,
    TRAINJOBS,
    XGBOOSTJOBS,
    Resource,
)


class State(StrEnum):
    """The same four for all kinds."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A state, the kind's own word for it, and what the object says of it."""

    state: State
    phase: str = ""
    message: str = ""

    @property
    def ended(self) -> bool:
        """Will it not change any more by itself?"""
        return self.state in (State.SUCCEEDED, State.FAILED)


def outcome_of(resource: Resource, obj: JsonObject) -> Outcome:
    """How far an object has come; of a kind that is not known, by the conditions that most kinds share."""
    return _READERS.get(resource, _by_conditions)(obj)


def _by_phase(
    path: tuple[str, ...], states: Mapping[str, State], message: tuple[str, ...] = ()
) -> Callable[[JsonObject], Outcome]:
    def read(obj: JsonObject) -> Outcome:
        phase = dig_str(obj, "status", *path)
        told = dig_str(obj, "status", *message) if message else ""
        return Outcome(states.get(phase, State.WAITING), phase, told)

    return read


def _by_conditions(obj: JsonObject) -> Outcome:
    for state, kinds in _CONDITIONS.items():
        for kind in kinds:
            if holds(obj, kind):
                return Outcome(state, kind, dig_str(condition_of(obj, kind), "message"))
    return Outcome(State.WAITING)


def _of_kubernetes_job(obj: JsonObject) -> Outcome:
    found = _by_conditions(obj)
    if not found.ended and dig_object(obj, "status").get("active"):
        return Outcome(State.RUNNING, "Active")
    return found


def _of_ray_job(obj: JsonObject) -> Outcome:
    phase, result = dig_str(obj, "status", "jobDeploymentStatus"), dig_str(obj, "status", "jobStatus")
    message = dig_str(obj, "status", "message")
    if phase == "Complete":
        good = result in ("", "SUCCEEDED")
        return Outcome(State.SUCCEEDED if good else State.FAILED, result or phase, message)
    states = {"Running": State.RUNNING, "Failed": State.FAILED, "ValidationFailed": State.FAILED}
    return Outcome(states.get(phase, State.WAITING), phase, message)


_CONDITIONS: Final[Mapping[State, tuple[str, ...]]] = {
    State.SUCCEEDED: ("Succeeded", "Complete", "Completed"),
    State.FAILED: ("Failed",),
    State.RUNNING: ("Running",),
}
_TRAINING: Final = (PYTORCHJOBS, TFJOBS, XGBOOSTJOBS, PADDLEJOBS, JAXJOBS, MPIJOBS_V1, MPIJOBS)
_READERS: Final[Mapping[Resource, Callable[[JsonObject], Outcome]]] = {
    JOBS: _by_phase(
        ("state", "phase"),
        {
            "Running": State.RUNNING,
            "Completing": State.RUNNING,
            "Completed": State.SUCCEEDED,
            "Failed": State.FAILED,
            "Aborted": State.FAILED,
            "Terminated": State.FAILED,
        },
        ("state", "message"),
    ),
    JOBFLOWS: _by_phase(
        ("state", "phase"),
        {"Running": State.RUNNING, "Succeed": State.SUCCEEDED, "Failed": State.FAILED},
    ),
    PODS: _by_phase(
        ("phase",),
        {"Running": State.RUNNING, "Succeeded": State.SUCCEEDED, "Failed": State.FAILED},
        ("message",),
    ),
    RAYCLUSTERS: _by_phase(("state",), {"ready": State.RUNNING}),
    SPARKAPPLICATIONS: _by_phase(
        ("applicationState", "state"),
        {"RUNNING": State.RUNNING, "COMPLETED": State.SUCCEEDED, "FAILED": State.FAILED},
        ("applicationState", "errorMessage"),
    ),
    RAYJOBS: _of_ray_job,
    KUBERNETES_JOBS: _of_kubernetes_job,
    TRAINJOBS: _by_conditions,
    JOBSETS: _by_conditions,
    **dict.fromkeys(_TRAINING, _by_conditions),
}
