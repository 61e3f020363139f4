"""From a pod up to the object whose operator made it: pod, Job, JobSet; or pod, StatefulSet, leader pod, LeaderWorkerSet; or straight
to the object that the pod names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS, KUBERNETES_JOBS, PODS, REPLICASETS, STATEFULSETS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Find, Integration, Member, Ref
from vcray.integrations.podmarks import PodMarks

WORKLOADS: Final = (KUBERNETES_JOBS, STATEFULSETS, REPLICASETS, DEPLOYMENTS)
_BETWEEN: Final = (*WORKLOADS, PODS)
"""Kinds that stand between an operator's object and its pods."""
_LONGEST: Final = 6


@dataclass(frozen=True, slots=True)
class Owned:
    """The object that a pod belongs to, and who speaks for its kind."""

    integration: Integration
    resource: Resource
    owner: JsonObject


@dataclass(frozen=True, slots=True)
class Line:
    """What an object goes back to: the objects above it (and itself), the uids of all, and (kind, name) of those that are named as
    owners. `whole`: nothing that could be found is missing."""

    objects: tuple[tuple[Resource, JsonObject], ...]
    uids: frozenset[str]
    names: frozenset[tuple[str, str]]
    whole: bool


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds what is mirrored, and nothing else."""

    seen: Seen
    mirrored: tuple[Resource, ...]

    def __call__(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        return self.seen.get(resource, namespace, name) if resource in self.mirrored else None


class Trails:
    """Finds owners for a set of integrations."""

    def __init__(self, integrations: Sequence[Integration]) -> None:
        self._speakers: dict[Resource, list[Integration]] = {}
        for each in integrations:
            for resource in each.kinds:
                self._speakers.setdefault(resource, []).append(each)
        self._steps: Mapping[tuple[str, str], Resource] = {
            (resource.api_version, resource.kind): resource
            for resource in (
                *_BETWEEN,
                *self._speakers,
                *(one for each in integrations for one in each.reads),
            )
        }
        self.marks = PodMarks.of(integrations)
        self._namers = tuple(each for each in integrations if type(each).named is not Integration.named)

    def may_own(self, pod: JsonObject) -> bool:
        """Has the pod a mark of some integration's pods?"""
        return self.marks.bears(pod)

    def named(self, pod: JsonObject) -> tuple[Ref, Member] | None:
        """The object that a pod names itself, and its place there."""
        return next((found for each in self._namers if (found := each.named(pod)) is not None), None)

    def speaker(self, resource: Resource, obj: JsonObject) -> Integration | None:
        """Who speaks for an object."""
        return next((each for each in self._speakers.get(resource, ()) if each.owns(obj)), None)

    def owner(self, pod: JsonObject, find: Find) -> Owned | None:
        """The first object above a pod (or the pod itself) that an integration speaks for; None when there is none, or
        one on the way cannot be found, or is another of its name."""
        named = self.named(pod)
        if named is not None:
            ref, _ = named
            owner = find(ref.resource, ref.namespace, ref.name)
            speaker = None if owner is None else self.speaker(ref.resource, owner)
            return None if owner is None or speaker is None else Owned(speaker, ref.resource, owner)
        resource, obj = PODS, pod
        for _ in range(_LONGEST):
            speaker = self.speaker(resource, obj)
            if speaker is not None:
                return Owned(speaker, resource, obj)
            above = _above(resource, obj)
            step = self._steps.get((raw.text(above, "apiVersion"), raw.text(above, "kind")))
            found = find(step, raw.namespace(pod), raw.text(above, "name")) if step is not None else None
            if step is None or found is None or raw.uid(found) != raw.text(above, "uid"):
                return None
            resource, obj = step, found
        return None

    def line(self, resource: Resource, obj: JsonObject, find: Find) -> Line:
        """All that manages an object, up to what no integration knows of."""
        objects, uids, named = [(resource, obj)], {raw.uid(obj)}, {(resource.kind, raw.name(obj))}
        whole = False
        for _ in range(_LONGEST):
            above = _above(*objects[-1])
            step = self._steps.get((raw.text(above, "apiVersion"), raw.text(above, "kind")))
            if above:
                uids.add(raw.text(above, "uid"))
                named.add((raw.text(above, "kind"), raw.text(above, "name")))
            if step is None:
                whole = True
                break
            found = find(step, raw.namespace(obj), raw.text(above, "name"))
            if found is None or raw.uid(found) != raw.text(above, "uid"):
                break
            objects.append((step, found))
        return Line(tuple(objects), frozenset(uids), frozenset(named), whole)


def _above(resource: Resource, obj: JsonObject) -> JsonObject:
    """The reference to the managing owner; of what stands between, else to the only owner: some operators leave it plain."""
    references = raw.tables(obj, "metadata", "ownerReferences")
    if not raw.controller(obj) and resource != PODS and len(references) == 1:
        return references[0]
    return raw.controller(obj)


def controllers_of(pod: JsonObject) -> Iterable[JsonObject]:
    """All references that claim to manage an object; more than one is a fault."""
    return [each for each in raw.tables(pod, "metadata", "ownerReferences") if each.get("controller") is True]
