"""What the admission actor knows of the cluster: queues, namespaces and PodGroups as last seen, with the names that it missed.

A rule looks at this view without waiting. What it asked for and did not find is remembered, so that whoever runs the rule
can read it from the API server and judge again: a queue may be created and used before its event has come. Objects of other kinds
are read when they are asked for, and held for a moment: the pods of one owner come all at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from vcray.actors.objects import ObjectMirrors, place_of
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, QUEUES, Resource
from vcray.cache.supposed import Wanted
from vcray.webhooks.services import TENANT_SERVICES, Service

WATCHED: tuple[Resource, ...] = (QUEUES, NAMESPACES, PODGROUPS)
"""What verdicts may rest on."""

HELD_S: Final = 2.0
"""How long an object of a kind that is not watched counts as fresh."""
MOST_HELD: Final = 1024
"""Objects of such kinds after which those that count no more are let go."""

Asked: TypeAlias = tuple[Resource, str, str]
"""Resource, namespace and name of an object."""


def watched_for(services: Iterable[Service]) -> tuple[Resource, ...]:
    """What these services look at. Volcano's installations let the webhooks read namespaces only where PodGroups are mutated;
    tenants are told apart by their namespaces, and who joins a gang by who owns it."""
    enabled = set(services)
    if enabled & set(TENANT_SERVICES):
        return WATCHED
    mutated = any(service.resource == PODGROUPS and service.mutates for service in enabled)
    return (QUEUES, NAMESPACES) if mutated else (QUEUES,)


class Known:
    """Queues by name and by parent, namespaces and PodGroups by name; newer versions win however they come. `now` is in seconds.

    Of those that are not `watched` here, and of all other kinds, what was read counts for a moment."""

    def __init__(self, now: Callable[[], float], watched: Sequence[Resource] = WATCHED) -> None:
        self._watched = frozenset(watched)
        self._mirrors = ObjectMirrors(WATCHED)
        self._children: dict[str, list[str]] = {}
        self._now = now
        self._briefly: dict[Asked, tuple[float, JsonObject]] = {}

    def put(self, resource: Resource, obj: JsonObject) -> None:
        """Take in an object, from an event or from a read."""
        if resource not in self._watched:
            self._hold(resource, obj)
            return
        change = self._mirrors.put(resource, obj)
        if change is not None and resource == QUEUES:
            self._move(change.old, change.new)

    def remove(self, resource: Resource, obj: JsonObject) -> None:
        """Take in a deletion."""
        change = self._mirrors.remove(resource, obj)
        if change is not None and resource == QUEUES:
            self._move(change.old, None)

    def forget(self, resource: Resource, namespace: str, name: str) -> None:
        """The API server has no such object any more."""
        held = self.get(resource, namespace, name)
        if resource not in self._watched:
            self._briefly.pop((resource, namespace, name), None)
        elif held is not None:
            self.remove(resource, held)

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """An object as last seen; of a kind that is not watched, only within a moment."""
        if resource in self._watched:
            return self._mirrors.get(resource, namespace, name)
        read, obj = self._briefly.get((resource, namespace, name), (0.0, None))
        return obj if self._now() - read < HELD_S else None

    def _hold(self, resource: Resource, obj: JsonObject) -> None:
        now = self._now()
        if len(self._briefly) >= MOST_HELD:
            self._briefly = {key: each for key, each in self._briefly.items() if now - each[0] < HELD_S}
        self._briefly[resource, *place_of(obj)] = now, obj

    def queues(self) -> Sequence[JsonObject]:
        """All queues by name."""
        return self._mirrors.list(QUEUES)

    def children(self, parent: str) -> Sequence[JsonObject]:
        """The queues below this one, by name."""
        found = (self.get(QUEUES, "", name) for name in self._children.get(parent, ()))
        return [queue for queue in found if queue is not None]

    def _move(self, old: JsonObject | None, new: JsonObject | None) -> None:
        name = dig_str(new or old, "metadata", "name")
        before, after = (dig_str(each, "spec", "parent") for each in (old, new))
        if before == after and old is not None and new is not None:
            return
        names = self._children.get(before, [])
        at = bisect_left(names, name)
        if old is not None and at < len(names) and names[at] == name:
            del names[at]
            if not names:
                del self._children[before]
        if new is not None and after:
            insort(self._children.setdefault(after, []), name)


class Glance:
    """What one run of a rule sees. `asked` are the objects it asked for by name, found or not.

    `places` is the answer to the question for room that an earlier run of it left in `wanted`, once there is one.
    Implements `vcray.webhooks.base.Look`."""

    def __init__(self, known: Known, places: Sequence[int | None] | None = None) -> None:
        self._known = known
        self._places = places
        self.asked: dict[Asked, bool] = {}
        self.wanted: tuple[Wanted, ...] = ()

    def queue(self, name: str) -> JsonObject | None:
        return self.find(QUEUES, "", name)

    def queues(self) -> Sequence[JsonObject]:
        return self._known.queues()

    def children(self, parent: str) -> Sequence[JsonObject]:
        return self._known.children(parent)

    def namespace(self, name: str) -> JsonObject | None:
        return self.find(NAMESPACES, "", name)

    def podgroup(self, namespace: str, name: str) -> JsonObject | None:
        return self.find(PODGROUPS, namespace, name)

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        found = self._known.get(resource, namespace, name) if name else None
        if name:
            self.asked[resource, namespace, name] = found is not None
        return found

    def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        self.wanted = tuple(wanted)
        known = self._places is not None and len(self._places) == len(wanted)
        return self._places if known and self._places else [None] * len(wanted)
