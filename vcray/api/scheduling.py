"""scheduling.volcano.sh/v1beta1: PodGroup and Queue."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vcray.api.marks import DNS_SUBDOMAIN, SERVED, Int32, ResourceList
from vcray.api.meta import ApiModel, AtomicList, LabelSelector, Timestamp
from vcray.api.objects import KubeObject, NetworkTopology
from vcray.api.resources import PODGROUPS, QUEUES, Resource


class PodGroupPhase(StrEnum):
    """Where a PodGroup is; a new one has none until the scheduler writes it."""

    PENDING = "Pending"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    INQUEUE = "Inqueue"
    COMPLETED = "Completed"


class PodGroupConditionType(StrEnum):
    """What a PodGroup's condition is about."""

    UNSCHEDULABLE = "Unschedulable"
    SCHEDULED = "Scheduled"


class PodGroupReason(StrEnum):
    """Why a PodGroup's condition is as it is."""

    POD_FAILED = "PodFailed"
    POD_DELETED = "PodDeleted"
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    NOT_ENOUGH_TASKS = "NotEnoughTasks"
    NOT_ENOUGH_PODS_OF_TASK = "NotEnoughPodsOfTask"


class SubGroupPolicy(ApiModel):
    """How pods of the group form smaller groups that are placed as units."""

    name: str = Field("", max_length=253, description="Name of the policy.")
    network_topology: NetworkTopology | None = Field(
        None, description="How close the pods of a subgroup have to be."
    )
    sub_group_size: Annotated[Int32, SERVED] = Field(1, ge=1, description="Pods that make a subgroup ready.")
    min_sub_groups: Annotated[Int32, SERVED] = Field(0, ge=0, description="Subgroups that have to be ready.")
    label_selector: LabelSelector | None = Field(None, description="Pods that the policy is about.")
    match_label_keys: Annotated[list[str], AtomicList()] = Field(
        [], description="Labels by whose values the pods are divided."
    )


class PodGroupSpec(ApiModel):
    """What a gang needs before any of it starts."""

    min_member: Int32 = Field(0, ge=0, description="Pods that have to start together.")
    min_task_member: dict[str, Int32] = Field(
        {}, description="Pods of each task that have to start together."
    )
    queue: Annotated[str, SERVED] = Field(
        "default", max_length=253, pattern=DNS_SUBDOMAIN, description="Queue that the group waits in."
    )
    priority_class_name: str = Field("", max_length=253, description="Priority class of the group.")
    min_resources: ResourceList = Field(
        {}, description="Resources that have to be free before the group may start."
    )
    network_topology: NetworkTopology | None = Field(None, description="How close the pods have to be.")
    sub_group_policy: list[SubGroupPolicy] = Field([], description="How the pods form smaller groups.")


class PodGroupCondition(ApiModel):
    """What the scheduler says of a group."""

    type: str = Field("", description="Unschedulable or Scheduled.")
    status: str = Field("", description="True, False or Unknown.")
    transition_id: str = Field("", alias="transitionID", description="The scheduling round that wrote it.")
    last_transition_time: Timestamp | None = Field(None, description="When the status last changed.")
    reason: str = Field("", description="Why, as one word.")
    message: str = Field("", description="Why, in a sentence.")


class PodGroupStatus(ApiModel):
    """What became of a gang."""

    phase: PodGroupPhase | None = Field(None, description="Where the group is.")
    conditions: list[PodGroupCondition] = Field([], description="What the scheduler says of it.")
    running: Int32 = Field(0, ge=0, description="Pods that run.")
    succeeded: Int32 = Field(0, ge=0, description="Pods that ended well.")
    failed: Int32 = Field(0, ge=0, description="Pods that failed.")


class PodGroup(KubeObject):
    """A gang: pods that start together or not at all."""

    resource: ClassVar[Resource] = PODGROUPS

    spec: PodGroupSpec = Field(PodGroupSpec(), description="What the gang needs.")
    status: PodGroupStatus = Field(PodGroupStatus(), description="What became of it.")


class QueueState(StrEnum):
    """Whether a queue takes new work."""

    OPEN = "Open"
    CLOSED = "Closed"
    CLOSING = "Closing"
    UNKNOWN = "Unknown"


class ExtendCluster(ApiModel):
    """Another cluster that work of the queue may go to."""

    name: str = Field("", description="Name of the cluster.")
    weight: Int32 = Field(0, description="Its share.")
    capacity: ResourceList = Field({}, description="What it offers.")


class Guarantee(ApiModel):
    """Resources that are kept for a queue."""

    resource: ResourceList = Field({}, description="The amounts.")


class GroupRule(ApiModel):
    """Node groups that a queue must or would rather use or avoid."""

    required: list[str] = Field(
        [], alias="requiredDuringSchedulingIgnoredDuringExecution", description="Node groups as a rule."
    )
    preferred: list[str] = Field(
        [],
        alias="preferredDuringSchedulingIgnoredDuringExecution",
        description="Node groups as a preference.",
    )


class QueueAffinity(ApiModel):
    """Which node groups a queue uses."""

    node_group_affinity: GroupRule | None = Field(None, description="Node groups to use.")
    node_group_anti_affinity: GroupRule | None = Field(None, description="Node groups to avoid.")


class QueueSpec(ApiModel):
    """A queue's share of the cluster."""

    weight: Annotated[Int32, SERVED] = Field(1, ge=1, le=65535, description="Share relative to other queues.")
    capability: ResourceList = Field({}, description="The most that the queue may use.")
    deserved: ResourceList = Field({}, description="What the queue may use without others taking it back.")
    reclaimable: bool | None = Field(None, description="Whether others may take back what exceeds the share.")
    extend_clusters: list[ExtendCluster] = Field([], description="Other clusters that work may go to.")
    guarantee: Guarantee = Field(Guarantee(), description="What is kept for the queue.")
    affinity: QueueAffinity | None = Field(None, description="Which node groups the queue uses.")
    type: str = Field("", max_length=253, description="Type of the queue.")
    parent: str = Field("", max_length=253, pattern=DNS_SUBDOMAIN, description="The queue above this one.")
    priority: Int32 = Field(0, ge=0, description="Queues of higher priority go first.")
    dequeue_strategy: Annotated[Literal["fifo", "traverse"], SERVED] = Field(
        "traverse", description="Whether a job that does not fit holds up those behind it (fifo) or not."
    )


class Reservation(ApiModel):
    """Nodes held for a queue."""

    nodes: list[str] = Field([], description="Names of the nodes.")
    resource: ResourceList = Field({}, description="Their resources.")


class QueueStatus(ApiModel):
    """What a queue holds."""

    state: QueueState | None = Field(None, description="Whether the queue takes new work.")
    unknown: Int32 = Field(0, ge=0, description="Groups in phase Unknown.")
    pending: Int32 = Field(0, ge=0, description="Groups in phase Pending.")
    running: Int32 = Field(0, ge=0, description="Groups in phase Running.")
    inqueue: Int32 = Field(0, ge=0, description="Groups in phase Inqueue.")
    completed: Int32 = Field(0, ge=0, description="Groups in phase Completed.")
    reservation: Reservation = Field(Reservation(), description="Nodes held for the queue.")
    allocated: ResourceList = Field({}, description="What pods of the queue occupy.")


class Queue(KubeObject):
    """A share of the cluster that gangs wait in."""

    resource: ClassVar[Resource] = QUEUES

    spec: QueueSpec = Field(QueueSpec(), description="The queue's share.")
    status: QueueStatus = Field(QueueStatus(), description="What it holds.")
