"""MPIJob of the mpi-operator (kubeflow.org/v2beta1): workers are its pods, the launcher is the pod of a batch Job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import MPIJOBS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Malformed
from vcray.integrations.kubeflow._training import (
    JOB_ROLE,
    MPI_OPERATOR,
    Replicas,
    Shape,
    TrainingJob,
    is_finished,
    is_suspended,
)

LAUNCHER: Final = "launcher"


class MPIJobV2(TrainingJob):
    """A launcher that waits for ready workers is no part of the gang that they are: room is held for it (mpi-operator#608)."""

    name: ClassVar[str] = "mpijob-v2"
    kinds: ClassVar[tuple[Resource, ...]] = (MPIJOBS,)
    shape: ClassVar[Shape] = Shape("mpiReplicaSpecs", ("Launcher", "Worker"), absent={"Worker": 0})
    operator: ClassVar[str] = MPI_OPERATOR
    role: ClassVar[str] = JOB_ROLE

    def minimum(self, owner: JsonObject, roles: Sequence[Replicas]) -> tuple[int | None, Mapping[str, int]]:
        given, least = super().minimum(owner, roles)
        if _launcher_waits(owner) and any(least[task] for task in least if task != LAUNCHER):
            least = {**least, LAUNCHER: 0}
        return given, least

    def begun(self, owner: JsonObject, seen: Seen) -> bool:
        """A job of a launcher alone has no pods of its own: its status shows it."""
        alone = raw.number(owner, "spec", "mpiReplicaSpecs", "Worker", "replicas") == 0
        started = alone and bool(raw.table(owner, "status", "replicaStatuses"))
        suspended = is_suspended(owner) or is_finished(owner)
        return super().begun(owner, seen) or (started and not suspended)

    def starts_with(self, owner: JsonObject, group: JsonObject, seen: Seen) -> int | None:
        """The operator counts a launcher that waits."""
        try:
            given, least = self.minimum(owner, self.replicas(owner))
        except Malformed:
            return None
        return sum(least.values()) if given is None and _launcher_waits(owner) else None

    def reserves_all(self, owner: JsonObject) -> bool:
        return True


def _launcher_waits(owner: JsonObject) -> bool:
    return raw.text(owner, "spec", "launcherCreationPolicy") == "WaitForWorkersReady"
