"""RayCluster: the head and the least number of workers start together; more workers join one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, RAYCLUSTERS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Growth, Integration, Member
from vcray.integrations.kuberay import _clusters as ray


class RayCluster(Integration):
    """Stand-alone ones and those of RayServices; those of a RayJob are in its gang."""

    name: ClassVar[str] = "raycluster"
    kinds: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS,)
    pod_labels: ClassVar[tuple[str, ...]] = (ray.CLUSTER,)
    follows_pods: ClassVar[bool] = True
    self_growing: ClassVar[str] = (
        "has(object.spec) && has(object.spec.enableInTreeAutoscaling) && object.spec.enableInTreeAutoscaling == true"
    )

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        return ray.asks_of(spec, raw.text(spec, "managedBy"))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        name = ray.group_of_cluster(owner)
        if name != ray.group_name(raw.name(owner)) or raw.text(raw.controller(owner), "kind") == "RayJob":
            return ()
        spec = raw.table(owner, "spec")
        if raw.at(spec, "suspend") is True:
            return (Gang(name),)
        return (Gang(name, ray.parts_of(spec, "spec")),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        labels = raw.labels_of(pod)
        if labels.get(ray.NODE_TYPE) not in ("head", "worker"):
            return None  # the Job that cleans up a Redis bears the head's other labels (trap T18)
        leads = labels[ray.NODE_TYPE] == "head"
        return Member(ray.group_of_cluster(owner), labels.get(ray.GROUP, ""), leads)

    def grows(self, old: JsonObject, new: JsonObject) -> Sequence[Growth]:
        spec = raw.table(new, "spec")
        if raw.at(spec, "enableInTreeAutoscaling") is not True or raw.at(spec, "suspend") is True:
            return ()
        return tuple(ray.grown(raw.name(new), raw.table(old, "spec"), spec))

    def begun(self, owner: JsonObject, seen: Seen) -> bool:
        return bool(seen.owned(PODS, raw.uid(owner)))

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        if seen.owned(PODS, raw.uid(owner)):
            return ""
        if raw.terminating(owner):
            return "deleted"  # the pod that empties its Redis may need the room (trap T18)
        return "suspended" if raw.at(owner, "spec", "suspend") is True else ""
