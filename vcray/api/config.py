"""config.volcano.sh/v1alpha1: ColocationConfiguration, memory rules for pods that share nodes with online services."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from vcray.api.marks import SERVED, Schema
from vcray.api.meta import ApiModel, LabelSelector
from vcray.api.objects import KubeObject, StandardCondition
from vcray.api.resources import COLOCATIONCONFIGURATIONS, Resource


class MemoryQos(ApiModel):
    """Memory limits of the cgroup, in percent of the container's own limit or request."""

    high_ratio: Annotated[int, SERVED] = Field(
        100, ge=0, le=100, description="memory.high in percent of the limit."
    )
    low_ratio: Annotated[int, SERVED] = Field(
        0, ge=0, le=100, description="memory.low in percent of the request."
    )
    min_ratio: Annotated[int, SERVED] = Field(
        0, ge=0, le=100, description="memory.min in percent of the request."
    )


class ColocationConfigurationSpec(ApiModel):
    """Which pods, which rules."""

    selector: LabelSelector | None = Field(None, description="Pods that the rules apply to.")
    memory_qos: MemoryQos | None = Field(None, description="Memory rules.")


class ColocationConfigurationStatus(ApiModel):
    """State of the configuration."""

    conditions: Annotated[
        list[StandardCondition],
        Schema({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = Field([], description="State of the configuration.")


class ColocationConfiguration(KubeObject):
    """Memory rules for the pods that a selector picks."""

    resource: ClassVar[Resource] = COLOCATIONCONFIGURATIONS

    spec: ColocationConfigurationSpec = Field(description="Which pods, which rules.")
    status: ColocationConfigurationStatus = Field(
        ColocationConfigurationStatus(), description="State of the configuration."
    )
