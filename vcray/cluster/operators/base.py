"""What every stand-in operator is: a pure controller of one kind that looks at an object anew whenever it or what it owns changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.jsonview import condition_of, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODGROUPS, PODS, Resource
from vcray.clock import rfc3339
from vcray.controllers import raw
from vcray.controllers.base import (
    Change,
    Create,
    Delete,
    Effects,
    Patch,
    Propagation,
    Request,
    Seen,
    Steps,
    must,
)

VOLCANO: Final = "volcano"
"""The gang support of an operator that makes PodGroups itself."""
SCRIPT: Final = "vcray.io/stand-in-script"
"""Annotation of ours on an object: the shell script that its driver runs here, in place of a program that is not here."""


@dataclass(frozen=True, slots=True)
class Follow:
    """Look at an object."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Operator(ABC):
    """One kind. `gang`: `volcano` where it makes PodGroups itself, else empty. Implements `vcray.controllers.base.Controller`."""

    resource: ClassVar[Resource]
    owns: ClassVar[tuple[Resource, ...]] = (PODS, PODGROUPS)
    """Kinds whose objects it makes."""
    max_requeue = -1
    starts_anew = True

    def __init__(self, gang: str = "") -> None:
        self.gang = gang == VOLCANO

    @property
    def name(self) -> str:
        """Its kind, as controllers are called."""
        return f"{self.resource.singular}-operator"

    @property
    def watches(self) -> tuple[Resource, ...]:
        """Its kind and what it makes."""
        return (self.resource, *self.owns)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """The object itself, or the owner of what changed."""
        obj = change.object
        if change.resource == self.resource:
            return (Follow(raw.namespace(obj), raw.name(obj)),)
        above = raw.controller(obj)
        ours = (raw.text(above, "apiVersion"), raw.text(above, "kind"))
        if ours == (self.resource.api_version, self.resource.kind):
            return (Follow(raw.namespace(obj), raw.text(above, "name")),)
        return ()

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """One turn of an object, or of the end of one."""
        assert isinstance(request, Follow)
        obj = seen.get(self.resource, request.namespace, request.name)
        if obj is not None and raw.terminating(obj):
            yield from self.leave(obj, seen, now)
        elif obj is not None:
            yield from self.follow(obj, seen, now)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Never comes."""
        yield from ()

    @abstractmethod
    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """Bring the world in line with an object."""

    def leave(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """What has to be done while an object is being deleted; without a finalizer nothing: the garbage collector does it."""
        yield from ()

    # -- writing --------------------------------------------------------------------------------------------------------

    def owned(self, resource: Resource, owner: JsonObject, seen: Seen) -> list[JsonObject]:
        """What the object controls and is not being deleted."""
        found = seen.owned(resource, raw.uid(owner))
        return [
            each for each in found if raw.controlled_by(each, raw.uid(owner)) and not raw.terminating(each)
        ]

    def make(
        self, resource: Resource, owner: JsonObject, obj: JsonObject, kind: Resource | None = None
    ) -> Steps[JsonObject]:
        """Create an object that `owner`, which is of our kind or of `kind`, controls, in its namespace. ReconcileError when
        that is refused."""
        kind = kind or self.resource
        metadata = {**raw.table(obj, "metadata"), "namespace": raw.namespace(owner)}
        metadata["ownerReferences"] = [raw.owner_reference(kind.api_version, kind.kind, owner)]
        head: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind}
        outcome = yield Create(resource, {**head, **obj, "metadata": metadata})
        return must(outcome, f"create {resource.kind}")

    def remove(
        self, resource: Resource, objects: Iterable[JsonObject], propagation: Propagation = "Background"
    ) -> Steps[None]:
        """Delete objects, unless they are gone, and what they own: a Job would leave its pods behind otherwise."""
        for each in objects:
            outcome = yield Delete(
                resource, raw.namespace(each), raw.name(each), uid=raw.uid(each), propagation=propagation
            )
            if not outcome.not_found and not outcome.conflict:
                must(outcome, f"delete {resource.kind} {raw.name(each)}")

    def report(self, obj: JsonObject, status: Mapping[str, JsonValue]) -> Steps[None]:
        """Write those fields of the status that differ."""
        before = raw.table(obj, "status")
        changed = {name: value for name, value in status.items() if before.get(name) != value}
        if changed:
            patch: JsonObject = {"metadata": {"uid": raw.uid(obj)}, "status": changed}
            outcome = yield Patch(
                self.resource, raw.namespace(obj), raw.name(obj), patch, subresource="status"
            )
            if not outcome.not_found and not outcome.conflict:
                must(outcome, f"report on {raw.name(obj)}")

    def keep_group(
        self,
        owner: JsonObject,
        name: str,
        spec: JsonObject,
        fields: Sequence[str],
        seen: Seen,
        **metadata: JsonValue,
    ) -> Steps[JsonObject]:
        """The PodGroup that the real operator's plugin makes; of one that exists only `fields` are kept in step."""
        present = seen.get(PODGROUPS, raw.namespace(owner), name)
        if present is None:
            group: JsonObject = {
                "metadata": {"name": name, **metadata},
                "spec": spec,
                "status": {"phase": "Pending"},
            }
            return (yield from self.make(PODGROUPS, owner, group))
        old = raw.table(present, "spec")
        changed: JsonObject = {
            field: spec.get(field) for field in fields if old.get(field) != spec.get(field)
        }
        if changed:
            operations: list[JsonValue] = [
                {"op": "add", "path": f"/spec/{field}", "value": value} for field, value in changed.items()
            ]
            outcome = yield Patch(PODGROUPS, raw.namespace(owner), name, operations, "json")
            return must(outcome, f"update PodGroup {name}")
        return present


def pod_of(
    template: JsonObject,
    labels: Mapping[str, str],
    gang: Mapping[str, str] | None = None,
    **metadata: JsonValue,
) -> JsonObject:
    """A pod of a template with an operator's labels. `gang`: annotations of its group; the scheduler is Volcano's then."""
    spec: JsonObject = {**raw.table(template, "spec")}
    annotations: JsonObject = {**raw.table(template, "metadata", "annotations")}
    if gang is not None:
        annotations |= raw.strings(gang)
        spec["schedulerName"] = names.SCHEDULER_NAME
    head: JsonObject = {
        **metadata,
        "labels": {**raw.table(template, "metadata", "labels"), **raw.strings(labels)},
        "annotations": annotations,
    }
    return {"metadata": head, "spec": spec}


def phase(pod: JsonObject) -> str:
    """Where a pod is."""
    return raw.text(pod, "status", "phase")


def is_ready(pod: JsonObject) -> bool:
    """Does its condition Ready hold?"""
    return holds(pod, "Ready")


def conditions(obj: JsonObject, wanted: Mapping[str, tuple[bool, str]], now: float) -> list[JsonValue]:
    """The object's conditions with these, each True or False for a reason; times move only where a status does."""
    kept: list[JsonValue] = [
        each for each in raw.tables(obj, "status", "conditions") if each.get("type") not in wanted
    ]
    for kind, (true, reason) in wanted.items():
        status = "True" if true else "False"
        old = condition_of(obj, kind)
        if old.get("status") == status and old.get("reason") == reason:
            kept.append(old)
            continue
        kept.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "",
                "lastTransitionTime": rfc3339(now),
            }
        )
    return kept
