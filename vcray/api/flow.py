"""flow.volcano.sh/v1alpha1: JobFlow (jobs in order) and JobTemplate (the jobs it makes)."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from vcray.api.batch import JobSpec, TaskState
from vcray.api.marks import Int32
from vcray.api.meta import ApiModel, Timestamp
from vcray.api.objects import KubeObject
from vcray.api.resources import JOBFLOWS, JOBTEMPLATES, Resource


class FlowPhase(StrEnum):
    """Where a JobFlow is."""

    SUCCEED = "Succeed"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    RUNNING = "Running"
    PENDING = "Pending"


class HttpHeader(ApiModel):
    """A header of a probe's request."""

    name: str = Field(description="Name of the header.")
    value: str = Field(description="Value of the header.")


class HttpGet(ApiModel):
    """A probe by HTTP; accepted but not used."""

    task_name: str = Field("", max_length=253, description="Task whose pods are asked.")
    path: str = Field("", description="Path of the request.")
    port: int = Field(0, ge=0, le=65535, description="Port of the request.")
    http_header: HttpHeader | None = Field(None, description="A header to send.")


class TcpSocket(ApiModel):
    """A probe by opening a connection; accepted but not used."""

    task_name: str = Field("", max_length=253, description="Task whose pods are asked.")
    port: int = Field(ge=0, le=65535, description="Port to connect to.")


class TaskStatusProbe(ApiModel):
    """A probe by a task's phase; accepted but not used."""

    task_name: str = Field("", max_length=253, description="Task that is looked at.")
    phase: str = Field("", max_length=63, description="Phase that it has to be in.")


class Probe(ApiModel):
    """Signs that a job is ready; accepted but not used."""

    http_get_list: list[HttpGet] = Field([], description="Probes by HTTP.")
    tcp_socket_list: list[TcpSocket] = Field([], description="Probes by connection.")
    task_status_list: list[TaskStatusProbe] = Field([], description="Probes by phase.")


class FlowDependsOn(ApiModel):
    """Jobs of the flow that have to complete first."""

    targets: list[str] = Field([], description="Names of the jobs' templates.")
    probe: Probe | None = Field(None, description="Accepted but not used.")


class FlowPatch(ApiModel):
    """Changes to the template's job; accepted but not used."""

    job_spec: JobSpec | None = Field(None, description="Accepted but not used.")


class Flow(ApiModel):
    """One job of the flow."""

    name: str = Field(min_length=1, description="Name of the JobTemplate.")
    depends_on: FlowDependsOn | None = Field(None, description="Jobs that have to complete first.")
    patch: FlowPatch | None = Field(None, description="Accepted but not used.")


class JobFlowSpec(ApiModel):
    """Which jobs run, in which order."""

    flows: list[Flow] = Field([], description="The jobs.")
    job_retain_policy: Literal["retain", "delete"] | None = Field(
        None, description="Whether the jobs are kept or deleted once the flow has succeeded."
    )


class FlowRunningHistory(ApiModel):
    """A stretch of time that a job spent in one state."""

    start_timestamp: Timestamp | None = Field(None, description="When it began.")
    end_timestamp: Timestamp | None = Field(None, description="When it ended.")
    state: str = Field("", description="The state.")


class FlowJobStatus(ApiModel):
    """What became of one job of the flow."""

    name: str = Field("", description="Name of the job.")
    state: str = Field("", description="Phase of the job.")
    start_timestamp: Timestamp | None = Field(None, description="When the job was made.")
    end_timestamp: Timestamp | None = Field(None, description="When it ended.")
    restart_count: Int32 = Field(0, ge=0, description="Restarts so far.")
    running_histories: list[FlowRunningHistory] = Field([], description="States so far, in order.")


class FlowCondition(ApiModel):
    """A job of the flow, seen now."""

    phase: str = Field("", description="Phase of the job.")
    create_time: Timestamp | None = Field(None, description="When it was made.")
    running_duration: str | None = Field(None, description="How long it ran, as a duration.")
    task_status_count: dict[str, TaskState] = Field({}, description="Pods by task and phase.")


class FlowState(ApiModel):
    """The flow's phase."""

    phase: FlowPhase | None = Field(None, description="Where the flow is.")


class JobFlowStatus(ApiModel):
    """What became of a flow."""

    pending_jobs: list[str] = Field([], description="Jobs that wait.")
    running_jobs: list[str] = Field([], description="Jobs that run.")
    failed_jobs: list[str] = Field([], description="Jobs that failed.")
    completed_jobs: list[str] = Field([], description="Jobs that completed.")
    terminated_jobs: list[str] = Field([], description="Jobs that were terminated.")
    unknown_jobs: list[str] = Field([], alias="unKnowJobs", description="Jobs whose phase is not known.")
    job_status_list: list[FlowJobStatus] = Field([], description="The jobs one by one.")
    conditions: dict[str, FlowCondition] = Field({}, description="The jobs by name.")
    state: FlowState = Field(FlowState(), description="The flow's phase.")


class JobFlow(KubeObject):
    """Jobs that run in the order of their dependencies."""

    resource: ClassVar[Resource] = JOBFLOWS

    spec: JobFlowSpec = Field(JobFlowSpec(), description="Which jobs run, in which order.")
    status: JobFlowStatus = Field(JobFlowStatus(), description="What became of them.")


class JobTemplateStatus(ApiModel):
    """What was made from a template."""

    job_depends_on_list: list[str] = Field([], description="Jobs that were made from the template.")


class JobTemplate(KubeObject):
    """A job for flows to make."""

    resource: ClassVar[Resource] = JOBTEMPLATES

    spec: JobSpec = Field(JobSpec(), description="What the jobs run.")
    status: JobTemplateStatus = Field(JobTemplateStatus(), description="What was made from it.")
