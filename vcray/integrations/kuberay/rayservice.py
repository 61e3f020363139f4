"""RayService: each of its clusters is a gang of its own. What is told here is that an upgrade cannot go on.

An upgrade runs two clusters at once. When the queue or the nodes have no room for the second, the first goes on serving and nothing
else says so (integrations.md 1.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from vcray.api.jsonview import condition_of, holds
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, RAYCLUSTERS, RAYSERVICES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, Ref, Remark
from vcray.integrations.kuberay import _clusters as ray

WAITS: Final = "UpgradeWaitsForRoom"


class RayService(Integration):
    """Makes no groups: labels and annotations of the service are on its clusters, and those are RayClusters like others."""

    name: ClassVar[str] = "rayservice"
    kinds: ClassVar[tuple[Resource, ...]] = (RAYSERVICES,)
    reads: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS, PODGROUPS)
    pod_labels: ClassVar[tuple[str, ...]] = (ray.CLUSTER,)

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        return ray.asks_of(raw.table(spec, "rayClusterConfig"), raw.text(spec, "managedBy"))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        ray.parts_of(raw.table(owner, "spec", "rayClusterConfig"), "spec.rayClusterConfig")
        return ()  # its clusters have theirs

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return None

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref | Remark]:
        if change.resource != PODGROUPS or change.new is None:
            return
        if not _waits(change.new) or (change.old is not None and _waits(change.old)):
            return
        yield from _remarks(change.new, seen)


def _waits(group: JsonObject) -> bool:
    return holds(group, "Unschedulable")


def _remarks(group: JsonObject, seen: Seen) -> Iterator[Remark]:
    cluster = _owner(group, RAYCLUSTERS, seen)
    service = None if cluster is None else _owner(cluster, RAYSERVICES, seen)
    if cluster is None or service is None:
        return
    serving = raw.text(service, "status", "activeServiceStatus", "rayClusterName")
    if not serving or serving == raw.name(cluster):
        return
    yield Remark(
        Ref.of(RAYSERVICES, service),
        "Warning",
        WAITS,
        f'cluster "{raw.name(cluster)}" of the upgrade has no room beside "{serving}", which goes on serving;'
        f" give its queue room for both, or take the change back: {_why(group)}",
    )


def _owner(obj: JsonObject, resource: Resource, seen: Seen) -> JsonObject | None:
    above = raw.controller(obj)
    if (raw.text(above, "apiVersion"), raw.text(above, "kind")) != (resource.api_version, resource.kind):
        return None
    found = seen.get(resource, raw.namespace(obj), raw.text(above, "name"))
    return found if found is not None and raw.uid(found) == raw.text(above, "uid") else None


def _why(group: JsonObject) -> str:
    short = condition_of(group, "Unschedulable")
    return raw.text(short, "message") or raw.text(short, "reason")
