"""A job as the controller reads it: the raw object beside its model, absent minima resolved.

What an admission webhook would have filled in holds here too, so that a job that never met one behaves the same:
an unnamed task is `default<index>`; a task's minimum is its own, else minPartitions * partitionSize, else its replicas;
the job's minimum, where it states none, is the sum of those (0 is a minimum: an update may ask for it); maxRetry 0 is 3; no queue is `default`; no scheduler is `volcano`
(Volcano's `/jobs/mutate`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from vcray.api import names
from vcray.api.batch import Job, JobSpec, JobStatus, LifecyclePolicy, TaskSpec
from vcray.api.jobsize import too_many_pods
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.api.times import seconds_of
from vcray.controllers import raw
from vcray.controllers.base import Seen

DEFAULT_MAX_RETRY = 3


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task; `needed` is its minimum, `index` its place in the spec."""

    index: int
    name: str
    needed: int
    spec: TaskSpec

    @property
    def replicas(self) -> int:
        return self.spec.replicas

    @property
    def policies(self) -> list[LifecyclePolicy]:
        return self.spec.policies

    @property
    def partition_size(self) -> int:
        """Pods of one partition, 0 when the task has none."""
        return self.spec.partition_policy.partition_size if self.spec.partition_policy else 0

    @property
    def restart_limit(self) -> int:
        """Container restarts before the task counts as failed; -1 is never."""
        return self.spec.max_retry or DEFAULT_MAX_RETRY


@dataclass(frozen=True, slots=True)
class JobView:
    """One job; `raw` is the stored object, which every write starts from."""

    raw: JsonObject
    model: Job
    tasks: tuple[TaskView, ...]
    min_available: int

    @property
    def namespace(self) -> str:
        return self.model.metadata.namespace

    @property
    def name(self) -> str:
        return self.model.metadata.name

    @property
    def uid(self) -> str:
        return self.model.metadata.uid

    @property
    def spec(self) -> JobSpec:
        return self.model.spec

    @property
    def status(self) -> JobStatus:
        return self.model.status

    @property
    def phase(self) -> str:
        return self.status.state.phase or ""

    @property
    def queue(self) -> str:
        return self.spec.queue or names.DEFAULT_QUEUE

    @property
    def max_retry(self) -> int:
        return self.spec.max_retry or DEFAULT_MAX_RETRY

    @property
    def scheduler_name(self) -> str:
        return self.spec.scheduler_name or names.SCHEDULER_NAME

    @property
    def replicas(self) -> int:
        """Pods of all tasks."""
        return sum(task.replicas for task in self.tasks)

    @property
    def deleting(self) -> bool:
        return raw.terminating(self.raw)

    @property
    def created_s(self) -> float:
        """Seconds since the epoch when it was created, 0 when unknown."""
        return seconds_of(raw.at(self.raw, "metadata", "creationTimestamp")) or 0.0

    @property
    def podgroup_name(self) -> str:
        """Name of its PodGroup: unique per job object, so a job made again under its name gets a new one."""
        return f"{self.name}-{self.uid}"

    @property
    def owner_reference(self) -> JsonObject:
        """What makes an object the job's own."""
        return raw.owner_reference(Job.resource.api_version, Job.resource.kind, self.raw)

    def task(self, name: str) -> TaskView | None:
        """The task of that name."""
        return next((task for task in self.tasks if task.name == name), None)


def view_job(job: JsonObject) -> JobView | None:
    """Read a stored job; None when it does not fit the schema or asks for more pods than a job may have (then no
    controller can act on it).

    Of tasks with one name, which admission refuses, the first counts: two would take each other's pods for their own."""
    try:
        model = Job.model_validate(job)
    except ValidationError:
        return None
    if too_many_pods(job):
        return None
    named: dict[str, TaskView] = {}
    for index, spec in enumerate(model.spec.tasks):
        name = spec.name or f"default{index}"
        named.setdefault(name, TaskView(index, name, _needed(spec), spec))
    tasks = tuple(named.values())
    given = "min_available" in model.spec.model_fields_set
    return JobView(
        job, model, tasks, model.spec.min_available if given else sum(task.needed for task in tasks)
    )


def _needed(spec: TaskSpec) -> int:
    if spec.min_available is not None:
        return spec.min_available
    partitions = spec.partition_policy
    if partitions is not None and partitions.min_partitions > 0:
        return partitions.min_partitions * partitions.partition_size
    return spec.replicas


def is_job_pod(pod: JsonObject) -> bool:
    """A pod counts when a vcjob manages it and it carries the job's name, version and task."""
    owner = raw.controller(pod)
    return (
        owner.get("kind") == Job.resource.kind
        and owner.get("apiVersion") == Job.resource.api_version
        and bool(raw.annotation(pod, names.JOB_NAME))
        and bool(raw.annotation(pod, names.TASK_SPEC))
        and raw.annotation(pod, names.JOB_VERSION).removeprefix("-").isdecimal()
    )


def pods_of(job: JobView, seen: Seen) -> Iterator[JsonObject]:
    """The pods of this very job object, in order of their names."""
    return (pod for pod in seen.owned(PODS, job.uid) if is_job_pod(pod))


def task_of(pod: JsonObject) -> str:
    """Name of the task that a job's pod belongs to."""
    return raw.annotation(pod, names.TASK_SPEC)


def phase_of(pod: JsonObject) -> str:
    """status.phase of a pod; a pod without one is Pending."""
    return raw.text(pod, "status", "phase") or "Pending"
