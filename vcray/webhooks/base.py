"""What the rules of all kinds have in common: what they may look at, what they answer.

A rule is a function of the request and of a read-only view of the cluster. It never waits, never writes, and answers the
same for the same view, so the same functions serve the webhook over HTTPS and a simulated cluster within a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import jsonpointer

from vcray.api import names
from vcray.api.jsonview import dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.cache.supposed import Wanted
from vcray.webhooks.resource_groups import ResourceGroup

Patch: TypeAlias = tuple[JsonObject, ...]
"""A JSON patch, operations in order; an empty one goes out as JSON `null`, as Volcano's does."""


class Look(Protocol):
    """The cluster as the rules see it."""

    def queue(self, name: str) -> JsonObject | None:
        """The Queue of that name, None when there is none."""
        ...

    def queues(self) -> Sequence[JsonObject]:
        """All queues in the order of their names."""
        ...

    def children(self, parent: str) -> Sequence[JsonObject]:
        """The queues whose `spec.parent` is this one, in the order of their names."""
        ...

    def namespace(self, name: str) -> JsonObject | None:
        """The Namespace of that name, None when there is none or it cannot be read."""
        ...

    def podgroup(self, namespace: str, name: str) -> JsonObject | None:
        """The PodGroup of that name, None when there is none. Asked only by the rules of tenants and of integrations."""
        ...

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """An object of any kind, as it was a moment ago; None when there is none. Asked only by the rule of integrations."""
        ...

    def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        """How many pods of each kind have a place now, or would if they came, those that have one among them; None where nobody
        knows. Asked only for what grows by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What an administrator may choose; the defaults are Volcano's.

    `resource_groups` are those of the admission configuration, None without one; `gate_pods` is the feature gate
    SchedulingGatesQueueAdmission. `release_namespace` is where the control plane's ServiceAccounts are; `operators` are patterns
    of users and groups whose word counts as theirs does (docs/tenants.md)."""

    scheduler_name: str = names.SCHEDULER_NAME
    max_queue_depth: int = 5
    check_allocated_pods: bool = False
    protect_root_queue: bool = True
    other_scheduler_names: tuple[str, ...] = ()
    gate_pods: bool = False
    resource_groups: tuple[ResourceGroup, ...] | None = None
    release_namespace: str = names.SYSTEM_NAMESPACE
    operators: tuple[str, ...] = ()

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """All schedulers of this control plane; the first is the default of jobs."""
        return (self.scheduler_name, *self.other_scheduler_names)


@dataclass(frozen=True, slots=True)
class User:
    """Who sent a request, as an API server authenticated him; a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`."""

    name: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a rule: objects are empty where the operation has none."""

    operation: str
    namespace: str
    name: str
    new: JsonObject
    old: JsonObject
    look: Look
    rules: Rules
    user: User = User()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rule says: refused with a `problem`, or allowed, with a patch where the rule mutates.

    `patch` None: the answer carries none at all. `warnings` are sentences that the API server shows to who wrote the object."""

    problem: str = ""
    patch: Patch | None = None
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.problem


def annotation_path(key: str) -> str:
    """Where a patch finds an annotation."""
    return f"/metadata/annotations/{jsonpointer.escape(key)}"


def add(path: str, value: JsonValue) -> JsonObject:
    """A patch operation that sets a field, there or not."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: JsonValue) -> JsonObject:
    """A patch operation that sets a field that is there."""
    return {"op": "replace", "path": path, "value": value}


def name_of(obj: JsonObject) -> str:
    """metadata.name."""
    return dig_str(obj, "metadata", "name")


def annotations_of(obj: JsonObject) -> dict[str, str]:
    """metadata.annotations."""
    return dig_strings(obj, "metadata", "annotations")


def queue_not_found(name: str) -> str:
    """How a lister says that a queue does not exist."""
    return f'queue.scheduling.volcano.sh "{name}" not found'
