"""PyTorchJob: the master and its workers start together; an elastic one with the least number of its workers.

The agents of an elastic job (torchrun) meet in a store. With the backend c10d it lives in the agent at `rdzvHost`, worker 0 where the
job names none, also beside a master. Any other worker may be lost: the agents that are left meet anew and go on, and one more joins
them later. When that one is lost all agents fail (pytorch#67742, dlrover#450), so it is placed first and goes last. An etcd is
outside the job: no worker is special then. Ranks are given anew at each meeting, whatever a worker's number.
"""

from __future__ import annotations

from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import PYTORCHJOBS, Resource
from vcray.controllers import raw
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class PyTorchJob(TrainingJob):
    """With elasticPolicy, workers above its minReplicas join one by one."""

    name: ClassVar[str] = "pytorchjob"
    kinds: ClassVar[tuple[Resource, ...]] = (PYTORCHJOBS,)
    shape: ClassVar[Shape] = Shape("pytorchReplicaSpecs", ("Master", "Worker"), elastic=True)

    def hosts(self, owner: JsonObject, pod: JsonObject) -> bool:
        """Of an elastic job, the rendezvous."""
        elastic = raw.at(owner, "spec", "elasticPolicy")
        if not isinstance(elastic, dict):
            return super().hosts(owner, pod)
        host = raw.text(elastic, "rdzvHost") or f"{raw.name(owner)}-worker-0"
        backend = raw.text(elastic, "rdzvBackend") or "c10d"
        return backend == "c10d" and raw.name(pod) == host.partition(".")[0]
