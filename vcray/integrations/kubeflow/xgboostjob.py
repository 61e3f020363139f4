"""XGBoostJob: the master and its workers start together."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.resources import XGBOOSTJOBS, Resource
from vcray.integrations.kubeflow._training import Shape, TrainingJob


class XGBoostJob(TrainingJob):
    """A master, which holds the tracker, and workers."""

    name: ClassVar[str] = "xgboostjob"
    kinds: ClassVar[tuple[Resource, ...]] = (XGBOOSTJOBS,)
    shape: ClassVar[Shape] = Shape("xgbReplicaSpecs", ("Master", "Worker"))
