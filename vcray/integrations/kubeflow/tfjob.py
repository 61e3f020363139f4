"""TFJob: chief, parameter servers, workers and evaluators start together."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import TFJOBS, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class TFJob(TrainingJob):
    """Its replica types in the order in which they count: the chief, or master, first."""

    name: ClassVar[str] = "tfjob"
    kinds: ClassVar[tuple[Resource, ...]] = (TFJOBS,)
    shape: ClassVar[Shape] = Shape("tfReplicaSpecs", ("Chief", "Master", "PS", "Worker", "Evaluator"))
