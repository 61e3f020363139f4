"""nodeinfo.volcano.sh/v1alpha1: Numatopology, a node's CPU layout; the object is named like its node."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vcray.api.meta import ApiModel
from vcray.api.objects import KubeObject
from vcray.api.resources import NUMATOPOLOGIES, Resource


class NumaResource(ApiModel):
    """A resource with its free units by id."""

    allocatable: str = Field("", description="Ids of the free units, as a cpuset such as 0-3,8.")
    capacity: int = Field(0, description="Units in all.")


class CpuPlace(ApiModel):
    """Where a CPU sits."""

    numa: int = Field(0, ge=0, description="NUMA node.")
    socket: int = Field(0, ge=0, description="Socket.")
    core: int = Field(0, ge=0, description="Core.")


class ContainerAllocation(ApiModel):
    """Units given to a container."""

    name: str = Field("", description="Name of the container.")
    allocations: dict[str, str] = Field({}, description="Ids of the units by resource.")


class PodAllocation(ApiModel):
    """Units given to a pod."""

    uid: str = Field("", description="UID of the pod.")
    name: str = Field("", description="Name of the pod.")
    namespace: str = Field("", description="Namespace of the pod.")
    container_allocations: list[ContainerAllocation] = Field([], description="Units by container.")


class NumatopologySpec(ApiModel):
    """A node's CPU layout and what of it is taken."""

    policies: dict[str, str] = Field(
        {}, description="The kubelet's CPUManagerPolicy and TopologyManagerPolicy."
    )
    res_reserved: dict[str, str] = Field({}, description="Amounts that are kept for the system.")
    numares: dict[str, NumaResource] = Field({}, description="Resources by name.")
    cpu_detail: dict[str, CpuPlace] = Field({}, description="Where each CPU sits, by its id.")
    pod_allocations: list[PodAllocation] = Field([], description="What pods were given.")


class Numatopology(KubeObject):
    """A node's CPU layout, written by an exporter on the node."""

    resource: ClassVar[Resource] = NUMATOPOLOGIES

    spec: NumatopologySpec = Field(NumatopologySpec(), description="The layout.")
