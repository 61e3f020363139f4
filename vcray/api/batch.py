"""batch.volcano.sh/v1alpha1: Job and CronJob.

A Job is one or more tasks (groups of equal pods) that start together or not at all. Python defaults stand for
Go's zero values; only fields marked SERVED have a default in the schema. Minima that are absent mean what the
admission webhook would fill in, which is the controllers' business.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vcray.api.marks import DNS_LABEL, DNS_SUBDOMAIN, SERVED, CoreSchema, Int32, Int64
from vcray.api.meta import ApiModel, AtomicList, JsonObject, ObjectReference, Timestamp
from vcray.api.objects import EmbeddedMeta, KubeObject, NetworkTopology
from vcray.api.resources import CRONJOBS, JOBS, Resource


class JobPhase(StrEnum):
    """Where a Job is in its life."""

    PENDING = "Pending"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


class JobEvent(StrEnum):
    """What a policy may react to."""

    ANY = "*"
    POD_PENDING = "PodPending"
    POD_RUNNING = "PodRunning"
    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    OUT_OF_SYNC = "OutOfSync"
    COMMAND_ISSUED = "CommandIssued"
    JOB_UPDATED = "JobUpdated"
    TASK_FAILED = "TaskFailed"


class JobAction(StrEnum):
    """What a policy or command may do; the last five are internal to the controllers."""

    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    SYNC_JOB = "SyncJob"
    ENQUEUE_JOB = "EnqueueJob"
    SYNC_QUEUE = "SyncQueue"
    OPEN_QUEUE = "OpenQueue"
    CLOSE_QUEUE = "CloseQueue"


class LifecyclePolicy(ApiModel):
    """What to do when something happens to a pod, a task or the job."""

    action: str = Field("", description="Action to take, for example RestartJob.")
    event: JobEvent | None = Field(None, description="Event to react to.")
    events: list[JobEvent] = Field([], description="Events to react to, besides `event`.")
    exit_code: Int32 | None = Field(None, description="Exit code to react to.")
    timeout: str | None = Field(None, description="How long to wait before acting, as a duration.")


class VolumeSpec(ApiModel):
    """A volume claim mounted into every container of the job."""

    mount_path: str = Field(
        min_length=1, pattern=r"^[^:]+$", description="Where the containers see the volume; no colon."
    )
    volume_claim_name: str = Field("", max_length=253, description="Name of the claim.")
    volume_claim: Annotated[JsonObject | None, CoreSchema("persistentVolumeClaimSpec")] = Field(
        None, description="Claim to make for the job when no name is given."
    )


class DependsOn(ApiModel):
    """Tasks that have to be ready before this one starts."""

    name: list[str] = Field([], description="Names of the tasks to wait for.")
    iteration: str = Field("", description="any: one of them is enough; all: every one.")


class PartitionPolicy(ApiModel):
    """How a task's replicas are divided into partitions that are placed as units."""

    total_partitions: Int32 = Field(ge=1, description="Number of partitions.")
    partition_size: Int32 = Field(ge=1, description="Pods in each partition.")
    min_partitions: Annotated[Int32, SERVED] = Field(
        0, ge=0, description="Partitions that have to fit before the task starts."
    )
    network_topology: NetworkTopology | None = Field(
        None, description="How close the pods of a partition have to be."
    )


class TaskSpec(ApiModel):
    """A group of equal pods of a job."""

    name: str = Field(
        "", max_length=63, pattern=DNS_LABEL, description="Name of the task, part of its pods' names."
    )
    replicas: Int32 = Field(0, ge=0, description="Number of pods.")
    min_available: Int32 | None = Field(
        None, ge=0, description="Pods of this task that have to start together."
    )
    template: Annotated[JsonObject, CoreSchema("podTemplateSpec")] = Field(
        {}, description="The pods, as in any Kubernetes workload."
    )
    policies: list[LifecyclePolicy] = Field(
        [], description="Policies of this task; they go before the job's."
    )
    topology_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = Field(
        None, description="How the pods' CPUs have to be aligned to NUMA nodes."
    )
    max_retry: Int32 = Field(0, ge=0, description="Container restarts before the task counts as failed.")
    depends_on: DependsOn | None = Field(None, description="Tasks that have to be ready first.")
    partition_policy: PartitionPolicy | None = Field(
        None, description="How the pods are divided into partitions."
    )


class JobSpec(ApiModel):
    """What a job runs and what happens when parts of it fail."""

    scheduler_name: str = Field(
        "", max_length=63, description="Scheduler for pods whose template names none."
    )
    min_available: Int32 = Field(0, ge=0, description="Pods that have to start together.")
    volumes: list[VolumeSpec] = Field([], description="Volume claims mounted into every container.")
    tasks: list[TaskSpec] = Field([], min_length=1, description="Groups of equal pods.")
    policies: list[LifecyclePolicy] = Field([], description="What to do when something happens.")
    plugins: dict[str, list[str]] = Field({}, description="Job plugins and their arguments.")
    running_estimate: str | None = Field(None, description="How long the user thinks the job runs.")
    queue: Annotated[str, SERVED] = Field(
        "default", max_length=253, pattern=DNS_SUBDOMAIN, description="Queue that the job waits in."
    )
    max_retry: Annotated[Int32, SERVED] = Field(
        3, ge=0, description="Restarts before the job counts as failed."
    )
    ttl_seconds_after_finished: Int32 | None = Field(
        None, ge=0, description="Seconds after its end when the job is deleted."
    )
    priority_class_name: str = Field(
        "", max_length=253, pattern=DNS_SUBDOMAIN, description="Priority class of the job and its pods."
    )
    min_success: Int32 | None = Field(None, ge=1, description="Succeeded pods that complete the job.")
    network_topology: NetworkTopology | None = Field(None, description="How close the pods have to be.")


class JobState(ApiModel):
    """The job's phase and since when."""

    phase: JobPhase | None = Field(None, description="Where the job is in its life.")
    reason: str = Field("", description="Why, as one word.")
    message: str = Field("", description="Why, in a sentence.")
    last_transition_time: Timestamp | None = Field(None, description="When the phase last changed.")


class TaskState(ApiModel):
    """Pods of one task by phase."""

    phase: dict[str, Int32] = Field({}, description="Number of pods by pod phase.")


class JobCondition(ApiModel):
    """A phase that the job entered."""

    status: str = Field(description="The phase.")
    last_transition_time: Timestamp | None = Field(None, description="When it was entered.")


class JobStatus(ApiModel):
    """What became of a job."""

    state: JobState = Field(JobState(), description="The job's phase.")
    min_available: Int32 = Field(0, ge=0, description="Pods that have to start together.")
    task_status_count: dict[str, TaskState] = Field({}, description="Pods by task and phase.")
    pending: Int32 = Field(0, ge=0, description="Pods that wait.")
    running: Int32 = Field(0, ge=0, description="Pods that run.")
    succeeded: Int32 = Field(0, ge=0, description="Pods that ended well.")
    failed: Int32 = Field(0, ge=0, description="Pods that failed.")
    terminating: Int32 = Field(0, ge=0, description="Pods that are being deleted.")
    unknown: Int32 = Field(0, ge=0, description="Pods whose node does not answer.")
    version: Int32 = Field(0, ge=0, description="Counts restarts, so that old pods are told from new ones.")
    retry_count: Int32 = Field(0, ge=0, description="Restarts so far.")
    running_duration: str | None = Field(None, description="How long the job ran, as a duration.")
    controlled_resources: dict[str, str] = Field({}, description="Plugins and claims the job has set up.")
    conditions: list[JobCondition] = Field([], description="Phases so far, in order.")


class Job(KubeObject):
    """A batch job whose pods start together or not at all."""

    resource: ClassVar[Resource] = JOBS

    spec: JobSpec = Field(JobSpec(), description="What the job runs.")
    status: JobStatus = Field(JobStatus(), description="What became of it.")


class JobTemplateSpec(ApiModel):
    """The job that a CronJob makes."""

    metadata: EmbeddedMeta = Field(EmbeddedMeta(), description="Labels and annotations of the jobs.")
    spec: JobSpec = Field(JobSpec(), description="What the jobs run.")


class CronJobSpec(ApiModel):
    """When to make which job."""

    schedule: str = Field(description="Times in cron form.")
    time_zone: str | None = Field(None, description="IANA name of the schedule's time zone.")
    starting_deadline_seconds: Int64 | None = Field(
        None, ge=0, description="Seconds after which a missed start is given up."
    )
    concurrency_policy: Annotated[Literal["Allow", "Forbid", "Replace"], SERVED] = Field(
        "Allow", description="What happens when the job before has not ended."
    )
    suspend: Annotated[bool, SERVED] = Field(False, description="Whether starts are held back.")
    job_template: JobTemplateSpec = Field(description="The job to make.")
    successful_jobs_history_limit: Annotated[Int32, SERVED] = Field(
        3, ge=0, description="Completed jobs to keep."
    )
    failed_jobs_history_limit: Annotated[Int32, SERVED] = Field(1, ge=0, description="Failed jobs to keep.")


class CronJobStatus(ApiModel):
    """What a CronJob has done."""

    active: Annotated[list[ObjectReference], AtomicList()] = Field(
        [], description="Jobs that have not ended."
    )
    last_schedule_time: Timestamp | None = Field(None, description="When a job was last made.")
    last_successful_time: Timestamp | None = Field(None, description="When a job last completed.")


class CronJob(KubeObject):
    """Makes Jobs by the clock."""

    resource: ClassVar[Resource] = CRONJOBS

    spec: CronJobSpec | None = Field(None, description="When to make which job.")
    status: CronJobStatus = Field(CronJobStatus(), description="What it has done.")
