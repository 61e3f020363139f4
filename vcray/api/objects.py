"""What Volcano's kinds share beyond metadata: the object frame, standard conditions, embedded metadata, topology rule."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vcray.api.marks import CONDITION_REASON, QUALIFIED_NAME, SERVED, Int64
from vcray.api.meta import ApiModel, ObjectMeta, Timestamp
from vcray.api.resources import Resource


class KubeObject(ApiModel):
    """Frame of a top-level kind; `resource` says where it is served."""

    resource: ClassVar[Resource]

    api_version: str = Field("", description="Group and version of this object's schema.")
    kind: str = Field("", description="Name of this object's kind.")
    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        return self.metadata.key


class EmbeddedMeta(ApiModel):
    """Metadata of an object inside another: only what a template may set."""

    name: str = Field("", description="Name of the object to make.")
    namespace: str = Field("", description="Namespace of the object to make.")
    labels: dict[str, str] = Field({}, description="Labels of the object to make.")
    annotations: dict[str, str] = Field({}, description="Annotations of the object to make.")
    finalizers: list[str] = Field([], description="Finalizers of the object to make.")


class StandardCondition(ApiModel):
    """A `metav1.Condition` with the bounds that the API server enforces."""

    type: str = Field(max_length=316, pattern=QUALIFIED_NAME, description="Which aspect this is about.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    reason: str = Field(
        min_length=1, max_length=1024, pattern=CONDITION_REASON, description="Why, as one CamelCase word."
    )
    message: str = Field(max_length=32768, description="Why, in a sentence.")
    last_transition_time: Timestamp = Field(description="When the status last changed.")
    observed_generation: Int64 | None = Field(
        None, ge=0, description="Generation of the object that this was seen for."
    )


class TopologyMode(StrEnum):
    """How binding a network topology rule is."""

    HARD = "hard"
    SOFT = "soft"


class NetworkTopology(ApiModel):
    """How close in the network the pods have to be. The two tier fields exclude each other at admission."""

    mode: Annotated[TopologyMode, SERVED] = Field(
        TopologyMode.HARD, description="hard: outside the tier nothing starts; soft: a preference."
    )
    highest_tier_allowed: int | None = Field(
        None, ge=0, description="Largest tier number of a HyperNode that may hold all pods."
    )
    highest_tier_name: str = Field(
        "", max_length=253, description="The same limit by the tier's name instead of its number."
    )
