"""PaddleJob: its workers, and the master where it has one, start together; an elastic one with the least number of its workers."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import PADDLEJOBS, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class PaddleJob(TrainingJob):
    """With elasticPolicy, workers above its minReplicas join one by one."""

    name: ClassVar[str] = "paddlejob"
    kinds: ClassVar[tuple[Resource, ...]] = (PADDLEJOBS,)
    shape: ClassVar[Shape] = Shape("paddleReplicaSpecs", ("Master", "Worker"), elastic=True)
