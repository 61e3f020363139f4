"""Typed structs that pods, nodes and claims share: metadata, selectors, conditions, resource lists.

Structs are frozen and untracked by the garbage collector, so a hundred thousand of them cost no collection time.
Import them through `vcray.api.wire`.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from vcray.api.quantity import Quantity

ResourceList: TypeAlias = dict[str, Quantity]
"""Resource name to quantity, as written."""


class Wire(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Options shared by all structs here."""


class OwnerRef(Wire, frozen=True):
    """One owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(Wire, frozen=True):
    """Object metadata without managed fields."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerRef, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerRef | None:
        """The owner that manages this object, if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Requirement(Wire, frozen=True):
    """One expression of a label or node selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class Selector(Wire, frozen=True):
    """A label selector; both parts must hold, an empty one matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class Condition(Wire, frozen=True):
    """One condition of a pod or node."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class Resources(Wire, frozen=True):
    """Requests and limits."""

    requests: ResourceList = {}
    limits: ResourceList = {}
