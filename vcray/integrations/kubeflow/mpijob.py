"""MPIJob of the training-operator (kubeflow.org/v1): the launcher is a pod, and starts together with its workers."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import MPIJOBS_V1, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class MPIJob(TrainingJob):
    """That of the mpi-operator is `mpijob_v2`."""

    name: ClassVar[str] = "mpijob"
    kinds: ClassVar[tuple[Resource, ...]] = (MPIJOBS_V1,)
    shape: ClassVar[Shape] = Shape("mpiReplicaSpecs", ("Launcher", "Worker"))
