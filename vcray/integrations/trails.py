"""From a pod up to the object whose operator made it: pod, Job, JobSet; or pod, StatefulSet, leader pod, LeaderWorkerSet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_JOBS, PODS, STATEFULSETS, Resource
from vcray.controllers import raw
from vcray.integrations.base import Find, Integration

_BETWEEN: Final = (KUBERNETES_JOBS, STATEFULSETS, PODS)
"""Kinds that stand between an operator's object and its pods."""
_LONGEST: Final = 6


@dataclass(frozen=True, slots=True)
class Owned:
    """The object that a pod belongs to, and who speaks for its kind."""

    integration: Integration
    resource: Resource
    owner: JsonObject


class Trails:
    """Finds owners for a set of integrations."""

    def __init__(self, integrations: Sequence[Integration]) -> None:
        self._speakers: dict[Resource, list[Integration]] = {}
        for each in integrations:
            for resource in each.kinds:
                self._speakers.setdefault(resource, []).append(each)
        self._steps: Mapping[tuple[str, str], Resource] = {
            (resource.api_version, resource.kind): resource for resource in (*_BETWEEN, *self._speakers)
        }
        self.labels = frozenset(label for each in integrations for label in each.pod_labels)

    def may_own(self, pod: JsonObject) -> bool:
        """Has the pod a label of some integration's pods?"""
        return not self.labels.isdisjoint(raw.labels_of(pod))

    def speaker(self, resource: Resource, obj: JsonObject) -> Integration | None:
        """Who speaks for an object."""
        return next((each for each in self._speakers.get(resource, ()) if each.owns(obj)), None)

    def owner(self, pod: JsonObject, find: Find) -> Owned | None:
        """The first object above a pod (or the pod itself) that an integration speaks for; None when there is none, or
        one on the way cannot be found, or is another of its name."""
        resource, obj = PODS, pod
        for _ in range(_LONGEST):
            speaker = self.speaker(resource, obj)
            if speaker is not None:
                return Owned(speaker, resource, obj)
            above = raw.controller(obj)
            step = self._steps.get((raw.text(above, "apiVersion"), raw.text(above, "kind")))
            found = find(step, raw.namespace(pod), raw.text(above, "name")) if step is not None else None
            if step is None or found is None or raw.uid(found) != raw.text(above, "uid"):
                return None
            resource, obj = step, found
        return None


def controllers_of(pod: JsonObject) -> Iterable[JsonObject]:
    """All references that claim to manage an object; more than one is a fault."""
    return [each for each in raw.tables(pod, "metadata", "ownerReferences") if each.get("controller") is True]
