"""`check_integration`: does an integration keep the rules on which the keeper of groups and admission rest?

    1  its name, kinds and marks are given; a name is in small letters
    2  the same object gives the same answers, and is left as it was
    3  whatever is wrong with an object, `asks` answers and `gangs` answers or raises Malformed: fields that are missing, of another
       type, or negative, one at a time
    4  names of gangs can be those of PodGroups; in a gang a task stands once, with a minimum of at least 0 and room for as many
    5  a pod of the object bears one of the marks, and its group is one of the object's gangs, or of a gang above it
    6  an object that is suspended or has ended, as far as you give such, holds no room

Meant for the tests of integrations' authors: give it an object as a user writes it, and pods as the operator makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.controllers import raw
from vcray.integrations.base import Gang, Integration, Malformed
from vcray.integrations.podmarks import PodMarks

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_INSTEAD: Final[tuple[JsonValue, ...]] = (None, -1, "x", 1.5, True, [], {}, [None], {"x": 1})


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken, and on what."""

    rule: int
    what: str


@dataclass(frozen=True, slots=True)
class Given:
    """Objects that the integration may read, by resource. Implements `vcray.controllers.base.Seen`."""

    objects: Mapping[Resource, Sequence[JsonObject]] = field(default_factory=dict)

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """One object by name."""
        found = self.list(resource, namespace or None)
        return next((each for each in found if raw.name(each) == name), None)

    def list(self, resource: Resource, namespace: str | None = None) -> Sequence[JsonObject]:
        """All objects of a namespace."""
        found = self.objects.get(resource, ())
        return [each for each in found if namespace in (None, raw.namespace(each))]

    def owned(self, resource: Resource, owner_uid: str) -> Sequence[JsonObject]:
        """Objects whose ownerReferences name this uid."""
        return [
            each
            for each in self.list(resource)
            if any(owner.get("uid") == owner_uid for owner in raw.tables(each, "metadata", "ownerReferences"))
        ]


def check_integration(
    integration: Integration,
    owner: JsonObject,
    pods: Sequence[JsonObject] = (),
    seen: Given | None = None,
    idle: Sequence[JsonObject] = (),
) -> list[Breach]:
    """All rules on one object of its kinds; an empty list when they hold.

    `pods` are some of the object's, `idle` the same object suspended or ended, `seen` what else there is."""
    return list(_breaches(integration, owner, pods, seen or Given(), idle))


def _breaches(
    integration: Integration,
    owner: JsonObject,
    pods: Sequence[JsonObject],
    seen: Given,
    idle: Sequence[JsonObject],
) -> Iterator[Breach]:
    yield from _introduction(integration)
    before = raw.copied(owner)
    first, again = integration.gangs(owner, seen), integration.gangs(raw.copied(owner), seen)
    integration.asks(owner)
    if owner != before:
        yield Breach(2, "the object was changed")
    if list(first) != list(again):
        yield Breach(2, f"gangs differ from call to call: {first} and {again}")
    yield from _of_malformed(integration, owner, seen)
    for gang in first:
        yield from _of_gang(gang)
    yield from _of_pods(integration, owner, pods, first)
    for each in idle:
        for gang in integration.gangs(each, seen):
            if any(part.minimum or part.reserved for part in gang.parts) or gang.min_member:
                yield Breach(6, f"gang {gang.name} holds room: {gang.parts}")


def _introduction(integration: Integration) -> Iterator[Breach]:
    if not _NAME.fullmatch(getattr(integration, "name", "")):
        yield Breach(1, "`name` must be in small letters, as a label may hold it")
    if not getattr(integration, "kinds", ()):
        yield Breach(1, "`kinds` names no resource")
    if not (getattr(integration, "pod_labels", ()) or integration.pod_fields):
        yield Breach(1, "neither `pod_labels` nor `pod_fields` tells its pods from others")


def _of_malformed(integration: Integration, owner: JsonObject, seen: Given) -> Iterator[Breach]:
    for where, broken in _broken(owner):
        for asked in ("asks", "gangs"):
            try:
                if asked == "asks":
                    integration.asks(broken)
                else:
                    integration.gangs(broken, seen)
            except Malformed:
                if asked == "asks":
                    yield Breach(
                        3, f"asks raises Malformed with another {where}; it answers what can be read"
                    )
            except Exception as error:
                yield Breach(3, f"{asked} raises {type(error).__name__} with another {where}: {error}")


def _broken(owner: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The object with one field of its spec or status replaced, each by each of some values."""
    for path in _paths(owner, ()):
        if path[0] not in ("spec", "status"):
            continue
        for value in _INSTEAD:
            broken = raw.copied(owner)
            holder: JsonValue = broken
            for step in path[:-1]:
                holder = holder[step]  # type: ignore[index]
            holder[path[-1]] = value  # type: ignore[index]
            yield ".".join(map(str, path)) + f" ({value!r})", broken


def _paths(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))


def _of_gang(gang: Gang) -> Iterator[Breach]:
    if not _NAME.fullmatch(gang.name) or len(gang.name) > 253:
        yield Breach(4, f"'{gang.name}' cannot be the name of a PodGroup")
    tasks = [part.task for part in gang.parts]
    twice = {task for task in tasks if tasks.count(task) > 1}
    if twice:
        yield Breach(4, f"gang {gang.name} has task {', '.join(sorted(twice))} twice")
    for part in gang.parts:
        if not part.task or part.minimum < 0 or part.reserved < part.minimum:
            yield Breach(
                4, f"gang {gang.name}: {part.minimum} of '{part.task}' start, room for {part.reserved}"
            )


def _of_pods(
    integration: Integration, owner: JsonObject, pods: Sequence[JsonObject], gangs: Sequence[Gang]
) -> Iterator[Breach]:
    marks = PodMarks.of([integration])
    names = {gang.name for gang in gangs}
    for pod in pods:
        if not marks.bears(pod):
            yield Breach(5, f"pod {raw.name(pod)} bears none of the marks")
        member = integration.member(owner, pod)
        if member is not None and names and member.group not in names:
            yield Breach(5, f"pod {raw.name(pod)} belongs to {member.group}, which is none of the gangs")
