"""All workload controllers on one API server: what kube-controller-manager is to a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vcray.cluster.workloads.accounts import RootCertificateController, ServiceAccountController
from vcray.cluster.workloads.base import Controller, Shared
from vcray.cluster.workloads.cronjob.controller import CronJobController
from vcray.cluster.workloads.daemonset.controller import DaemonSetController
from vcray.cluster.workloads.deployment.controller import DeploymentController
from vcray.cluster.workloads.disruption import DisruptionController
from vcray.cluster.workloads.evictions import PodEviction
from vcray.cluster.workloads.expiry import EventExpiry
from vcray.cluster.workloads.job.controller import JobController
from vcray.cluster.workloads.job.ttl import TtlController
from vcray.cluster.workloads.nodes import NodeLifecycle
from vcray.cluster.workloads.policystatus import PolicyStatusController
from vcray.cluster.workloads.protection import ClaimProtectionController, VolumeProtectionController
from vcray.cluster.workloads.replicas import ReplicaSetController, ReplicationControllerController
from vcray.cluster.workloads.scheduling.scheduler import DefaultScheduler
from vcray.cluster.workloads.statefulset.controller import StatefulSetController
from vcray.cluster.workloads.volumes.binder import VolumeBinder
from vcray.cluster.workloads.volumes.ephemeral import EphemeralVolumeController
from vcray.kube.client import KubeClient
from vcray.kube.transport import Transport
from vcray.kube.workqueue import SystemTime, Time, WorkQueue
from vcray.log import get_logger

log = get_logger("workloads")

CONTROLLERS: tuple[Callable[[Shared], Controller], ...] = (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    TtlController,
    CronJobController,
    ServiceAccountController,
    RootCertificateController,
    NodeLifecycle,
    PodEviction,
    EventExpiry,
    DisruptionController,
    PolicyStatusController,
    ClaimProtectionController,
    VolumeProtectionController,
    VolumeBinder,
    EphemeralVolumeController,
)
OF_PODS: tuple[Callable[[Shared], Controller], ...] = (
    DeploymentController,
    ReplicaSetController,
    StatefulSetController,
    JobController,
    TtlController,
)
"""Those that make and remove pods for somebody's objects."""
OF_NODES: tuple[Callable[[Shared], Controller], ...] = (NodeLifecycle, PodEviction)
"""Those that watch over nodes and what is on nodes that are gone."""
FIELD_MANAGER = "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class WorkloadStatistics:
    """Turns that wait, and refusals so far, of all controllers."""

    waiting: int
    failures: int


class Workloads:
    """Every controller, or those of `controllers`, over shared informers.

    `certificate_authority` (PEM) is published in every namespace; empty where it is not known. `default_scheduler` adds a
    simple scheduler for pods that name no other, for servers on which no better one runs.
    """

    def __init__(
        self,
        transport: Transport,
        time: Time | None = None,
        certificate_authority: str = "",
        default_scheduler: bool = False,
        controllers: Sequence[Callable[[Shared], Controller]] = CONTROLLERS,
    ) -> None:
        self.time: Time = time or SystemTime()
        client = KubeClient(transport, FIELD_MANAGER, sleep=self.time.sleep)
        self.shared = Shared(client, self.time, certificate_authority)
        makes = (*controllers, DefaultScheduler) if default_scheduler else controllers
        self.controllers = [make(self.shared) for make in makes]
        self._tasks: list[asyncio.Task[None]] = []

    def queues(self) -> list[WorkQueue[str]]:
        """The queues of all controllers."""
        return [queue for controller in self.controllers for queue in controller.queues()]

    async def start(self) -> None:
        """List all resources, then begin to work. A server that is away is waited for."""
        informers = list(self.shared.informers())
        self._tasks = [asyncio.create_task(informer.run()) for informer in informers]
        for task in self._tasks:
            task.add_done_callback(_tell)
        for informer in informers:
            await informer.synced.wait()
        for queue in self.queues():
            queue.start()

    async def stop(self) -> None:
        """End all work."""
        for queue in self.queues():
            await queue.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    @property
    def idle(self) -> bool:
        """Whether nothing is to be done before the next event or timer."""
        return all(queue.idle for queue in self.queues())

    def statistics(self) -> WorkloadStatistics:
        """Figures at this moment."""
        queues = self.queues()
        return WorkloadStatistics(sum(map(len, queues)), sum(queue.failures for queue in queues))


def _tell(task: asyncio.Task[None]) -> None:
    """A fault must not pass in silence while nobody awaits the task."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("a workload controller has failed", why=f"{type(error).__name__}: {error}")
