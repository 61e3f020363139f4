"""The kinds of the training-operator: their replica types, and when a job of a kind runs and has succeeded (integrations.md 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    JAXJOBS,
    MPIJOBS_V1,
    PADDLEJOBS,
    PYTORCHJOBS,
    TFJOBS,
    XGBOOSTJOBS,
    Resource,
)
from vcray.cluster.operators.base import phase
from vcray.cluster.operators.definitions import REPLICA_SPECS
from vcray.controllers import raw

INDEX: Final = "training.kubeflow.org/replica-index"


@dataclass(frozen=True, slots=True)
class Role:
    """A replica type of one job: its name, what its spec says, and the pods there are."""

    type: str
    spec: JsonObject
    replicas: int
    pods: Sequence[JsonObject]

    def count(self, *phases: str) -> int:
        """Pods in one of these phases."""
        return sum(phase(pod) in phases for pod in self.pods)

    @property
    def succeeded(self) -> bool:
        """Have all of its pods?"""
        return self.count("Succeeded") >= self.replicas

    def first(self) -> JsonObject | None:
        """The pod of index 0."""
        return next((pod for pod in self.pods if raw.labels_of(pod).get(INDEX) == "0"), None)


Roles = Mapping[str, Role]
"""Replica types of a job by name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind. `container` is the one whose exit code tells; of none, the pod's phase does. `leaders`: types of which the first
    that a job has gives it its pod of job-role master. `restart`: the policy of a type that says none."""

    resource: Resource
    container: str
    leaders: tuple[str, ...]
    restart: str
    succeeded: Callable[[JsonObject, Roles], bool]

    @property
    def field(self) -> str:
        """Where spec has the replica types."""
        return REPLICA_SPECS[self.resource][0]

    @property
    def types(self) -> tuple[str, ...]:
        """Its replica types."""
        return REPLICA_SPECS[self.resource][1]

    @property
    def operator_name(self) -> str:
        """The label of its pods."""
        return f"{self.resource.singular}-controller"

    def leader(self, roles: Roles) -> str:
        """The type of which one pod leads; empty where none does."""
        return next((each for each in self.leaders if each in roles), "")


def _pytorch(job: JsonObject, roles: Roles) -> bool:
    if "Master" in roles:
        return roles["Master"].succeeded
    workers = roles["Worker"]
    elastic = bool(raw.table(job, "spec", "elasticPolicy"))
    return workers.count("Succeeded") > 0 if elastic else workers.succeeded


def _tensorflow(job: JsonObject, roles: Roles) -> bool:
    for leader in ("Chief", "Master"):
        if leader in roles:
            return roles[leader].succeeded
    if "Worker" not in roles:
        return False
    first = roles["Worker"].first()
    if raw.text(job, "spec", "successPolicy") == "AllWorkers":
        return roles["Worker"].succeeded
    return first is not None and phase(first) == "Succeeded"


def _leader_or_workers(job: JsonObject, roles: Roles) -> bool:
    return next((roles[each].succeeded for each in ("Launcher", "Master", "Worker") if each in roles), False)


KINDS: Final[tuple[Kind, ...]] = (
    Kind(PYTORCHJOBS, "pytorch", ("Master", "Worker"), "OnFailure", _pytorch),
    Kind(TFJOBS, "tensorflow", ("Chief", "Master", "Worker"), "Never", _tensorflow),
    Kind(XGBOOSTJOBS, "xgboost", ("Master",), "Never", _leader_or_workers),
    Kind(PADDLEJOBS, "paddle", ("Master",), "OnFailure", _leader_or_workers),
    Kind(JAXJOBS, "jax", ("Worker",), "OnFailure", _leader_or_workers),
    Kind(MPIJOBS_V1, "", ("Launcher",), "Never", _leader_or_workers),
)
