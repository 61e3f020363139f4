"""RayClusters: a head, then the workers of each group, as many as its replicas within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, RAYCLUSTERS, Resource
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Operator, conditions, is_ready, phase, pod_of
from vcray.cluster.operators.kuberay import gangs
from vcray.controllers import raw
from vcray.controllers.base import Effects, Seen, Steps

HEAD_GROUP: Final = "headgroup"
_AUTOSCALER: Final[JsonObject] = {
    "limits": {"cpu": "500m", "memory": "512Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}


class RayClusters(Operator):
    """Nothing of what happens within Ray: a worker that runs is a worker that has joined."""

    resource: ClassVar[Resource] = RAYCLUSTERS

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a cluster."""
        spec = raw.table(obj, "spec")
        if raw.text(spec, "managedBy") not in ("", "ray.io/kuberay-operator"):
            return
        pods = self.owned(PODS, obj, seen)
        if raw.at(spec, "suspend") is True:
            yield from self.remove(PODS, pods)
            yield from self._report_suspended(obj, seen, now)
            return
        if self.gang and not self._of_a_job(obj):
            sizes = gangs.spec_of(obj, gangs.minima(spec))
            name = gangs.group_name(raw.name(obj))
            yield from self.keep_group(
                obj, name, sizes, gangs.GROUP_FIELDS, seen, annotations=gangs.copied_annotations(obj)
            )
        yield from self._head(obj, pods)
        for group in raw.tables(spec, "workerGroupSpecs"):
            yield from self._workers(obj, group, pods)
        yield from self._report(obj, seen, now)

    def _head(self, cluster: JsonObject, pods: Sequence[JsonObject]) -> Steps[None]:
        heads = [pod for pod in pods if raw.labels_of(pod).get("ray.io/node-type") == "head"]
        ended = [pod for pod in heads if phase(pod) in ("Succeeded", "Failed")]
        kept = "ray.io/disable-provisioned-head-restart" in raw.annotations_of(cluster)
        if ended and not kept:
            yield from self.remove(PODS, ended)
        if len(ended) == len(heads) and not (ended and kept):
            template = _with_autoscaler(cluster, raw.table(cluster, "spec", "headGroupSpec", "template"))
            yield from self._make_pod(cluster, template, "head", HEAD_GROUP, f"{raw.name(cluster)}-head-")

    def _workers(self, cluster: JsonObject, group: JsonObject, pods: Sequence[JsonObject]) -> Steps[None]:
        name, hosts = raw.text(group, "groupName"), gangs.hosts(group)
        mine = [pod for pod in pods if raw.labels_of(pod).get("ray.io/group") == name]
        unwanted = {str(each) for each in _list(raw.at(group, "scaleStrategy", "workersToDelete"))}
        units: dict[str, list[JsonObject]] = {}
        for pod in mine:
            units.setdefault(raw.labels_of(pod).get("ray.io/worker-group-replica-index", ""), []).append(pod)
        broken = [
            index
            for index, unit in units.items()
            if len(unit) < hosts
            or any(phase(pod) in ("Succeeded", "Failed") or raw.name(pod) in unwanted for pod in unit)
        ]
        for index in broken:
            yield from self.remove(PODS, units.pop(index))
        wanted = gangs.wanted(group)
        spare = sorted(units, key=int)[wanted:]
        if spare and (wanted == 0 or raw.at(cluster, "spec", "enableInTreeAutoscaling") is not True):
            for index in spare:
                yield from self.remove(PODS, units.pop(index))
        free = [number for number in range(wanted + len(units)) if str(number) not in units]
        for number in free[: max(0, wanted - len(units))]:
            for host in range(hosts):
                labels = {"ray.io/worker-group-replica-index": str(number)}
                if hosts > 1:
                    labels |= {
                        "ray.io/worker-group-replica-name": f"{name}-{number}",
                        "ray.io/replica-host-index": str(host),
                    }
                prefix = f"{raw.name(cluster)}-{name}-worker-"
                yield from self._make_pod(
                    cluster, raw.table(group, "template"), "worker", name, prefix, labels
                )

    def _make_pod(
        self,
        cluster: JsonObject,
        template: JsonObject,
        node_type: str,
        group: str,
        prefix: str,
        more: dict[str, str] | None = None,
    ) -> Steps[None]:
        labels = {
            "ray.io/cluster": raw.name(cluster),
            "ray.io/node-type": node_type,
            "ray.io/group": group,
            "ray.io/is-ray-node": "yes",
            "ray.io/identifier": f"{raw.name(cluster)}-{node_type}",
            "app.kubernetes.io/name": "kuberay",
            "app.kubernetes.io/created-by": "kuberay-operator",
            **(more or {}),
        }
        marks = {names.GROUP_NAME: self._group_of(cluster), names.TASK_SPEC: group} if self.gang else None
        pod = pod_of(template, labels, marks, generateName=prefix)
        yield from self.make(PODS, cluster, pod)

    def _of_a_job(self, cluster: JsonObject) -> bool:
        return raw.labels_of(cluster).get("ray.io/originated-from-crd") == "RayJob"

    def _group_of(self, cluster: JsonObject) -> str:
        of_a_job = raw.labels_of(cluster)["ray.io/originated-from-cr-name"] if self._of_a_job(cluster) else ""
        return gangs.group_name(of_a_job or raw.name(cluster))

    # -- status ---------------------------------------------------------------------------------------------------------

    def _report(self, cluster: JsonObject, seen: Seen, now: float) -> Steps[None]:
        pods = self.owned(PODS, cluster, seen)
        groups = raw.tables(cluster, "spec", "workerGroupSpecs")
        workers = [pod for pod in pods if raw.labels_of(pod).get("ray.io/node-type") == "worker"]
        desired = sum(gangs.wanted(group) * gangs.hosts(group) for group in groups)
        ready = sum(map(is_ready, workers))
        head = [pod for pod in pods if raw.labels_of(pod).get("ray.io/node-type") == "head"]
        all_ready = bool(head) and all(map(is_ready, pods)) and len(workers) >= desired
        was = raw.text(cluster, "status", "state")
        status: dict[str, JsonValue] = {
            "desiredWorkerReplicas": desired,
            "availableWorkerReplicas": sum(phase(pod) == "Running" for pod in workers),
            "readyWorkerReplicas": ready,
            "minWorkerReplicas": sum(raw.number(each, "minReplicas") * gangs.hosts(each) for each in groups),
            "conditions": conditions(
                cluster,
                {
                    "HeadPodReady": (any(map(is_ready, head)), "HeadPodRunningAndReady"),
                    "RayClusterProvisioned": (all_ready or was == "ready", "AllPodRunningAndReadyFirstTime"),
                    "RayClusterSuspended": (False, "RayClusterSuspended"),
                },
                now,
            ),
        }
        if all_ready and was != "ready":
            status |= {"state": "ready", "lastUpdateTime": rfc3339(now)}
        elif was == "suspended":
            status["state"] = None
        yield from self.report(cluster, status)

    def _report_suspended(self, cluster: JsonObject, seen: Seen, now: float) -> Steps[None]:
        if seen.owned(PODS, raw.uid(cluster)):
            yield from self.report(
                cluster,
                {"conditions": conditions(cluster, {"RayClusterSuspending": (True, "UserRequest")}, now)},
            )
            return
        held = {
            "RayClusterSuspending": (False, "RayClusterSuspended"),
            "RayClusterSuspended": (True, "RayClusterSuspended"),
            "RayClusterProvisioned": (False, "RayClusterSuspended"),
            "HeadPodReady": (False, "RayClusterSuspended"),
        }
        yield from self.report(cluster, {"state": "suspended", "conditions": conditions(cluster, held, now)})


def _with_autoscaler(cluster: JsonObject, template: JsonObject) -> JsonObject:
    """The head's template, with the autoscaler's container where the cluster scales itself."""
    if raw.at(cluster, "spec", "enableInTreeAutoscaling") is not True:
        return template
    spec = raw.table(template, "spec")
    resources = raw.table(cluster, "spec", "autoscalerOptions", "resources") or _AUTOSCALER
    image = raw.text(spec, "containers", 0, "image")
    sidecar: JsonObject = {"name": "autoscaler", "image": image, "resources": resources}
    return {**template, "spec": {**spec, "containers": [*raw.tables(spec, "containers"), sidecar]}}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
