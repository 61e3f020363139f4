"""PaddleJob: its workers, and the master where it has one, start together; an elastic one with the least number of its workers.

Without a master all workers are told of worker 0 as theirs (PADDLE_MASTER), whatever elasticPolicy says of a rendezvous.
"""

from __future__ import annotations

from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import PADDLEJOBS, Resource
from vcray.controllers import raw
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class PaddleJob(TrainingJob):
    """With elasticPolicy, workers above its minReplicas join one by one."""

    name: ClassVar[str] = "paddlejob"
    kinds: ClassVar[tuple[Resource, ...]] = (PADDLEJOBS,)
    shape: ClassVar[Shape] = Shape("paddleReplicaSpecs", ("Master", "Worker"), elastic=True)

    def hosts(self, owner: JsonObject, pod: JsonObject) -> bool:
        """Worker 0 of a job without a master."""
        led = any(key.lower() == "master" for key in raw.table(owner, "spec", self.shape.field))
        return not led and raw.name(pod) == f"{raw.name(owner)}-worker-0"
