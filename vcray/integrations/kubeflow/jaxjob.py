"""JAXJob: all its workers start together; the first of them leads."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import JAXJOBS, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class JAXJob(TrainingJob):
    """Workers alone."""

    name: ClassVar[str] = "jaxjob"
    kinds: ClassVar[tuple[Resource, ...]] = (JAXJOBS,)
    shape: ClassVar[Shape] = Shape("jaxReplicaSpecs", ("Worker",))
