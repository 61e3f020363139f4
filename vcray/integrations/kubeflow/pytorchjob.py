"""PyTorchJob: the master and its workers start together; an elastic one with the least number of its workers."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import PYTORCHJOBS, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class PyTorchJob(TrainingJob):
    """With elasticPolicy, workers above its minReplicas join one by one."""

    name: ClassVar[str] = "pytorchjob"
    kinds: ClassVar[tuple[Resource, ...]] = (PYTORCHJOBS,)
    shape: ClassVar[Shape] = Shape("pytorchReplicaSpecs", ("Master", "Worker"), elastic=True)
