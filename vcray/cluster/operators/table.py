"""Which stand-ins there are: for each operator its kinds, and the controllers that look after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from vcray.api.resources import (
    CLUSTERTRAININGRUNTIMES,
    DASKAUTOSCALERS,
    DASKCLUSTERS,
    DASKJOBS,
    DASKWORKERGROUPS,
    FLINKDEPLOYMENTS,
    JOBSETS,
    LEADERWORKERSETS,
    MPIJOBS,
    NATIVE_GANG_RESOURCES,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
    SPARKAPPLICATIONS,
    TRAININGRUNTIMES,
    TRAINJOBS,
    Resource,
)
from vcray.cluster.operators.base import Operator
from vcray.cluster.operators.dask.clusters import DaskClusters, DaskWorkerGroups
from vcray.cluster.operators.dask.jobs import DaskJobs
from vcray.cluster.operators.definitions import REPLICA_SPECS
from vcray.cluster.operators.flink.deployments import FlinkDeployments
from vcray.cluster.operators.jobset.jobsets import JobSets
from vcray.cluster.operators.kuberay.autoscaler import RayAutoscalers
from vcray.cluster.operators.kuberay.rayclusters import RayClusters
from vcray.cluster.operators.kuberay.raycronjobs import RayCronJobs
from vcray.cluster.operators.kuberay.rayjobs import RayJobs
from vcray.cluster.operators.kuberay.rayservices import RayServices
from vcray.cluster.operators.lws.leaderworkersets import LeaderWorkerSets
from vcray.cluster.operators.mpi.mpijobs import MPIJobs
from vcray.cluster.operators.spark.applications import SparkApplications
from vcray.cluster.operators.spark.drivers import SparkDrivers
from vcray.cluster.operators.trainer.trainjobs import TrainJobs
from vcray.cluster.operators.training.jobs import operators as training


@dataclass(frozen=True, slots=True)
class StandIn:
    """One operator: `makes` build its controllers, given its gang support; `resources` are the kinds that it defines."""

    makes: tuple[Callable[[str], Operator], ...]
    resources: tuple[Resource, ...]


STAND_INS: Final[Mapping[str, StandIn]] = {
    "kuberay": StandIn(
        (RayClusters, RayAutoscalers, RayJobs, RayServices, RayCronJobs),
        (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS),
    ),
    "training-operator": StandIn(tuple(training()), tuple(REPLICA_SPECS)),
    "mpi-operator": StandIn((MPIJobs,), (MPIJOBS,)),
    "jobset": StandIn((JobSets,), (JOBSETS,)),
    "lws": StandIn((LeaderWorkerSets,), (LEADERWORKERSETS,)),
    "trainer": StandIn((TrainJobs,), (TRAINJOBS, TRAININGRUNTIMES, CLUSTERTRAININGRUNTIMES, JOBSETS)),
    "dask-operator": StandIn(
        (DaskClusters, DaskWorkerGroups, DaskJobs),
        (DASKCLUSTERS, DASKWORKERGROUPS, DASKJOBS, DASKAUTOSCALERS),
    ),
    "flink-operator": StandIn((FlinkDeployments,), (FLINKDEPLOYMENTS,)),
    "kubernetes-gangs": StandIn((), NATIVE_GANG_RESOURCES),
    "spark": StandIn((SparkDrivers,), ()),
    "spark-operator": StandIn((SparkApplications,), (SPARKAPPLICATIONS,)),
}
"""By the names of the projects."""
