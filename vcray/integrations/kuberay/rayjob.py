"""RayJob: one gang over all clusters that it makes, with room for the pod that submits; it follows the live cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import RAYCLUSTERS, RAYJOBS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.controllers.podusage import effective
from vcray.integrations.base import Asks, Gang, Integration, Member, Part, Ref
from vcray.integrations.kuberay import _clusters as ray

SUBMITTER: Final = "submittergroup"
FINISHED: Final = ("Complete", "Failed")
_SUBMITTER: Final[JsonObject] = {
    "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
}
"""What KubeRay gives a submitter of its own making."""


class RayJob(Integration):
    """Its cluster's pods are told by the RayCluster; the submitter's are told here."""

    name: ClassVar[str] = "rayjob"
    kinds: ClassVar[tuple[Resource, ...]] = (RAYJOBS,)
    reads: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS,)
    pod_labels: ClassVar[tuple[str, ...]] = (ray.ORIGIN_NAME,)

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        more = [raw.table(spec, "submitterPodTemplate")] if raw.table(spec, "submitterPodTemplate") else []
        return ray.asks_of(raw.table(spec, "rayClusterSpec"), raw.text(spec, "managedBy"), *more)

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        spec, status = raw.table(owner, "spec"), raw.text(owner, "status", "jobDeploymentStatus")
        if raw.table(spec, "clusterSelector") or status == "ValidationFailed":
            return ()
        name = ray.group_name(raw.name(owner))
        cluster = _live_cluster(owner, seen)
        if cluster is None and (status in (*FINISHED, "Retrying") or raw.at(spec, "suspend") is True):
            return (Gang(name),)
        if cluster is not None and raw.at(cluster, "spec", "suspend") is True:
            return (Gang(name),)
        mode = raw.text(spec, "submissionMode") or "K8sJobMode"
        if cluster is not None:
            parts = ray.parts_of(raw.table(cluster, "spec"), "spec.rayClusterSpec")
        else:
            beside = effective(raw.table(_SUBMITTER, "spec"), "requests") if mode == "SidecarMode" else None
            parts = ray.parts_of(raw.table(spec, "rayClusterSpec"), "spec.rayClusterSpec", beside)
        if mode == "K8sJobMode" and status not in FINISHED:
            own = raw.table(spec, "submitterPodTemplate")
            parts = (*parts, Part(SUBMITTER, 0, 1, own or _SUBMITTER))
        return (Gang(name, parts),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        if raw.table(owner, "spec", "clusterSelector"):
            return None
        return Member(ray.group_name(raw.name(owner)), SUBMITTER)

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        labels = raw.labels_of(change.object)
        if labels.get(ray.ORIGIN_KIND) == "RayJob" and labels.get(ray.ORIGIN_NAME):
            yield Ref(RAYJOBS, raw.namespace(change.object), labels[ray.ORIGIN_NAME])

    def begun(self, owner: JsonObject, seen: Seen) -> bool:
        return bool(seen.owned(RAYCLUSTERS, raw.uid(owner)))

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        if _live_cluster(owner, seen, dying=True) is not None:
            return ""
        if raw.text(owner, "status", "jobDeploymentStatus") in FINISHED:
            return "finished"
        return "suspended" if raw.at(owner, "spec", "suspend") is True else ""


def _live_cluster(job: JsonObject, seen: Seen, dying: bool = False) -> JsonObject | None:
    """The cluster that the job has now; one that is being deleted only where asked for."""
    found = [
        each
        for each in seen.owned(RAYCLUSTERS, raw.uid(job))
        if raw.controlled_by(each, raw.uid(job)) and (dying or not raw.terminating(each))
    ]
    named = raw.text(job, "status", "rayClusterName")
    return next((each for each in found if raw.name(each) == named), found[-1] if found else None)
