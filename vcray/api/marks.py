"""Marks that a model's field carries for the CRD generator, beside pydantic's own bounds.

Bounds (`ge`, `le`, `min_length`, `max_length`, `pattern`) and enums become schema rules by themselves. What pydantic
has no word for stands here: number formats, list maps, defaults that the server writes, raw schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from vcray.api.meta import JsonObject


@dataclass(frozen=True, slots=True)
class Schema:
    """Keys to add to the property's schema as they stand."""

    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ServedDefault:
    """The field's Python default is a schema default too: the API server writes it into stored objects."""


@dataclass(frozen=True, slots=True)
class CoreSchema:
    """The field holds a Kubernetes type whose schema comes from the data file, under this key."""

    key: str


@dataclass(frozen=True, slots=True)
class QuantityMark:
    """A quantity: an integer or a string of the quantity grammar."""


SERVED = ServedDefault()

Int32: TypeAlias = Annotated[int, Schema({"format": "int32"})]
Int64: TypeAlias = Annotated[int, Schema({"format": "int64"})]
AmountText: TypeAlias = Annotated[str | int | float, QuantityMark()]
"""A quantity inside a model; read it with `vcray.api.quantity`."""
ResourceList: TypeAlias = dict[str, AmountText]
"""Resource name to quantity; read it with `vcray.api.podresources.resource_amounts`."""

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
QUALIFIED_NAME = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
