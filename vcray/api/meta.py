"""What every Kubernetes object shares: JSON aliases, metadata, conditions, label selectors.

The models here are *read-views*: they take the fields that vcray reads, accept anything else without a word, and treat
JSON `null` as absent, as the API server does. Nothing is lost by this, because a writer never sends a model back over a
stored object: it patches the raw JSON. Python names are snake_case, the wire stays camelCase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from vcray.api.times import format_time, parse_time, seconds_of

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object as decoded: the raw form of any Kubernetes object. The models of pydantic check what is in it."""

__all__ = [
    "ApiModel",
    "AtomicList",
    "Condition",
    "JsonObject",
    "JsonValue",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "MicroTime",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "Timestamp",
    "format_time",
    "parse_time",
    "seconds_of",
    "to_json",
]


def _format_micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_time(value: object) -> object:
    return parse_time(value) if isinstance(value, str) else value


Timestamp: TypeAlias = Annotated[
    datetime, BeforeValidator(_read_time), PlainSerializer(format_time, when_used="json")
]
"""`metav1.Time`: whole seconds on the wire."""

MicroTime: TypeAlias = Annotated[
    datetime, BeforeValidator(_read_time), PlainSerializer(_format_micro_time, when_used="json")
]
"""`metav1.MicroTime`: microseconds on the wire (leases, events)."""


class ApiModel(BaseModel):
    """Base of all read-views: frozen, camelCase aliases, unknown fields skipped, null means absent."""

    schema_extra: ClassVar[JsonObject] = {}
    """Keys that the CRD generator adds to the schema of this object."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        if isinstance(data, Mapping) and None in data.values():
            return {key: value for key, value in data.items() if value is not None}
        return data


def to_json(model: ApiModel) -> JsonObject:
    """The model as a JSON object with camelCase names; fields that were never set are left out."""
    dumped: JsonObject = model.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    return dumped


@dataclass(frozen=True, slots=True)
class AtomicList:
    """Marks a list that server-side apply replaces as a whole."""


class OwnerReference(ApiModel):
    """One owner of an object."""

    schema_extra: ClassVar[JsonObject] = {"x-kubernetes-map-type": "atomic"}

    api_version: str = Field(description="API group and version of the owner.")
    kind: str = Field(description="Kind of the owner.")
    name: str = Field(description="Name of the owner.")
    uid: str = Field(description="UID of the owner.")
    controller: bool | None = Field(None, description="Whether the owner is the managing controller.")
    block_owner_deletion: bool | None = Field(
        None, description="Whether foreground deletion of the owner waits for this object."
    )


class ObjectReference(ApiModel):
    """A pointer to another object, by any of its identifying fields."""

    schema_extra: ClassVar[JsonObject] = {"x-kubernetes-map-type": "atomic"}

    api_version: str = Field("", description="API group and version of the object.")
    field_path: str = Field("", description="Part of the object that is meant.")
    kind: str = Field("", description="Kind of the object.")
    name: str = Field("", description="Name of the object.")
    namespace: str = Field("", description="Namespace of the object.")
    resource_version: str = Field("", description="Resource version that was seen.")
    uid: str = Field("", description="UID of the object.")


class ObjectMeta(ApiModel):
    """The metadata fields that vcray reads."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ListMeta(ApiModel):
    """Metadata of a list answer."""

    resource_version: str = ""
    continue_token: str = Field("", alias="continue")
    remaining_item_count: int | None = None


class Condition(ApiModel):
    """A `metav1.Condition`: one aspect of an object's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None
    observed_generation: int | None = None


class LabelSelectorRequirement(ApiModel):
    """One expression of a label selector."""

    key: str = Field(description="Label key the expression looks at.")
    operator: str = Field(description="In, NotIn, Exists or DoesNotExist.")
    values: Annotated[list[str], AtomicList()] = Field([], description="Values for In and NotIn.")


class LabelSelector(ApiModel):
    """Labels and expressions that must all hold; an empty selector matches everything."""

    schema_extra: ClassVar[JsonObject] = {"x-kubernetes-map-type": "atomic"}

    match_labels: dict[str, str] = Field({}, description="Labels that must have exactly these values.")
    match_expressions: Annotated[list[LabelSelectorRequirement], AtomicList()] = Field(
        [], description="Expressions that must all hold."
    )
