"""A cluster for the rules to look at, and requests to ask them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.cache.supposed import Wanted
from vcray.webhooks.base import Request, Rules, User, name_of

NOBODY = User()


@dataclass
class Seen:
    """Queues, namespaces and PodGroups as given; what is not given does not exist."""

    given: Sequence[JsonObject] = ()
    namespaces: dict[str, JsonObject] = field(default_factory=dict)
    groups: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    others: dict[tuple[Resource, str, str], JsonObject] = field(default_factory=dict)
    places: Sequence[int | None] | None = None
    wanted: tuple[Wanted, ...] = ()

    def queue(self, name: str) -> JsonObject | None:
        return next((queue for queue in self.given if name_of(queue) == name), None)

    def queues(self) -> list[JsonObject]:
        return sorted(self.given, key=name_of)

    def children(self, parent: str) -> list[JsonObject]:
        return [queue for queue in self.queues() if dig_str(queue, "spec", "parent") == parent]

    def namespace(self, name: str) -> JsonObject | None:
        return self.namespaces.get(name)

    def podgroup(self, namespace: str, name: str) -> JsonObject | None:
        return self.groups.get((namespace, name))

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        return self.others.get((resource, namespace, name))

    def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        self.wanted = tuple(wanted)
        return [None] * len(wanted) if self.places is None else self.places


def queue(name: str, state: str = "Open", pods: int | None = None, **spec: JsonValue) -> JsonObject:
    """A queue; `pods` are those the scheduler has placed in it."""
    status: JsonObject = {"state": state}
    if pods is not None:
        status["allocated"] = {"pods": str(pods)}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def ask(
    operation: str,
    new: JsonObject | None = None,
    old: JsonObject | None = None,
    seen: Seen | None = None,
    name: str = "",
    user: User = NOBODY,
    **rules: object,
) -> Request:
    """A request as a webhook hands it on."""
    obj = new or {}
    return Request(
        operation,
        dig_str(obj, "metadata", "namespace"),
        name or name_of(obj),
        obj,
        old or {},
        seen or Seen(),
        Rules(**rules),  # type: ignore[arg-type]
        user,
    )
