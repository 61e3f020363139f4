"""RayClusters: a head, then the workers of each group, as many as its replicas within its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, PODGROUPS, PODS, RAYCLUSTERS, Resource
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Operator, conditions, is_ready, phase, pod_of
from vcray.cluster.operators.kuberay import gangs, templates, words
from vcray.controllers import raw
from vcray.controllers.base import Effects, Patch, Seen, Steps, must

_ENDED: Final = ("Succeeded", "Failed")


class RayClusters(Operator):
    """Nothing of what happens within Ray: a worker that runs is a worker that has joined."""

    resource: ClassVar[Resource] = RAYCLUSTERS
    owns: ClassVar[tuple[Resource, ...]] = (PODS, PODGROUPS, KUBERNETES_JOBS)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a cluster."""
        spec = raw.table(obj, "spec")
        if not words.is_ours(spec):
            return
        if raw.table(spec, "gcsFaultToleranceOptions") and not _finalizers(obj):
            obj = yield from self._set_finalizers(obj, [words.REDIS_FINALIZER])
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
        outdated = _outdated(obj, pods)
        if outdated:
            yield from self.remove(PODS, outdated)
            return
        yield from self._head(obj, pods)
        for group in raw.tables(spec, "workerGroupSpecs"):
            yield from self._workers(obj, group, pods, seen)
        yield from self._report(obj, seen, now)

    def leave(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """The pods go first, then a Job empties the Redis that kept the head's state, then the cluster may go."""
        if words.REDIS_FINALIZER not in _finalizers(obj):
            return
        pods = [pod for pod in seen.owned(PODS, raw.uid(obj)) if raw.controlled_by(pod, raw.uid(obj))]
        if pods:
            yield from self.remove(PODS, [pod for pod in pods if not raw.terminating(pod)])
            return
        jobs = self.owned(KUBERNETES_JOBS, obj, seen)
        if not jobs:
            spec: JsonObject = {
                "backoffLimit": 0,
                "activeDeadlineSeconds": 300,
                "template": templates.redis_cleanup(obj),
            }
            job: JsonObject = {"metadata": {"name": f"{raw.name(obj)}-redis-cleanup"}, "spec": spec}
            yield from self.make(KUBERNETES_JOBS, obj, job)
        elif holds(jobs[0], "Complete") or holds(jobs[0], "Failed"):
            yield from self._set_finalizers(obj, [])

    def _set_finalizers(self, cluster: JsonObject, finalizers: list[JsonValue]) -> Steps[JsonObject]:
        patch: JsonObject = {"metadata": {"uid": raw.uid(cluster), "finalizers": finalizers}}
        outcome = yield Patch(RAYCLUSTERS, raw.namespace(cluster), raw.name(cluster), patch)
        return cluster if outcome.not_found else must(outcome, "set finalizers")

    def _head(self, cluster: JsonObject, pods: Sequence[JsonObject]) -> Steps[None]:
        heads = [pod for pod in pods if _is(pod, "head")]
        ended = [pod for pod in heads if phase(pod) in _ENDED]
        once = words.KEEP_HEAD in raw.annotations_of(cluster)
        if once and holds(cluster, "RayClusterProvisioned"):
            return
        if ended:
            yield from self.remove(PODS, ended)
        if len(ended) == len(heads):
            prefix = f"{raw.name(cluster)}-head-"
            yield from self._make_pod(cluster, templates.head(cluster), "head", words.HEAD_GROUP, prefix)

    def _workers(
        self, cluster: JsonObject, group: JsonObject, pods: Sequence[JsonObject], seen: Seen
    ) -> Steps[None]:
        """A replica of several hosts comes and goes as a whole."""
        name, hosts = raw.text(group, "groupName"), gangs.hosts(group)
        unwanted = set(_texts(raw.at(group, "scaleStrategy", "workersToDelete")))
        units: dict[int, list[JsonObject]] = {}
        for pod in pods:
            if raw.labels_of(pod).get(words.GROUP) == name and _is(pod, "worker"):
                units.setdefault(int(raw.labels_of(pod)[words.REPLICA_INDEX]), []).append(pod)
        for index, unit in list(units.items()):
            lost = any(phase(pod) in _ENDED or raw.name(pod) in unwanted for pod in unit)
            if lost or len(unit) < hosts:
                yield from self.remove(PODS, units.pop(index))
        wanted = gangs.wanted(group)
        scales = raw.at(cluster, "spec", "enableInTreeAutoscaling") is True
        for index in sorted(units)[wanted:] if not scales or not wanted else ():
            yield from self.remove(PODS, units.pop(index))
        free = [number for number in range(wanted + len(units)) if number not in units]
        born: list[JsonValue] = [raw.version(cluster), *_uids(seen.owned(PODS, raw.uid(cluster)))]
        template, prefix = templates.worker(group), f"{raw.name(cluster)}-{name}-worker-"
        for number in free[: max(0, wanted - len(units))]:
            replica = f"{name}-{templates.digest([number, *born])[:5]}"
            for host in range(hosts):
                labels = {words.REPLICA_INDEX: str(number)}
                if hosts > 1:
                    labels |= {words.REPLICA_NAME: replica, words.HOST_INDEX: str(host)}
                yield from self._make_pod(cluster, template, "worker", name, prefix, labels)

    def _make_pod(
        self,
        cluster: JsonObject,
        template: JsonObject,
        node_type: str,
        group: str,
        prefix: str,
        more: Mapping[str, str] | None = None,
    ) -> Steps[None]:
        labels = {
            words.CLUSTER: raw.name(cluster),
            words.NODE_TYPE: node_type,
            words.GROUP: group,
            "ray.io/is-ray-node": "yes",
            "ray.io/identifier": f"{raw.name(cluster)}-{node_type}",
            **words.MADE_BY,
            **(more or {}),
        }
        marks = None
        if self.gang:
            marks = {names.GROUP_NAME: self._group_of(cluster), names.TASK_SPEC: group}
            labels |= words.handed_on(cluster)
        pod = pod_of(template, labels, marks, generateName=prefix)
        if raw.text(cluster, "spec", "upgradeStrategy", "type") == "Recreate":
            made_of: JsonObject = {words.RECREATE_HASH: templates.spec_hash(raw.table(cluster, "spec"))}
            annotations: JsonObject = {**raw.table(pod, "metadata", "annotations"), **made_of}
            pod["metadata"] = {**raw.table(pod, "metadata"), "annotations": annotations}
        yield from self.make(PODS, cluster, pod)

    def _of_a_job(self, cluster: JsonObject) -> bool:
        return raw.labels_of(cluster).get(words.ORIGIN_KIND) == "RayJob"

    def _group_of(self, cluster: JsonObject) -> str:
        of_a_job = raw.labels_of(cluster)[words.ORIGIN_NAME] if self._of_a_job(cluster) else ""
        return gangs.group_name(of_a_job or raw.name(cluster))

    # -- status ---------------------------------------------------------------------------------------------------------

    def _report(self, cluster: JsonObject, seen: Seen, now: float) -> Steps[None]:
        pods = self.owned(PODS, cluster, seen)
        groups = raw.tables(cluster, "spec", "workerGroupSpecs")
        workers = [pod for pod in pods if _is(pod, "worker")]
        desired = sum(gangs.wanted(group) * gangs.hosts(group) for group in groups)
        ready = sum(map(is_ready, workers))
        head = [pod for pod in pods if _is(pod, "head")]
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


def _is(pod: JsonObject, node_type: str) -> bool:
    return raw.labels_of(pod).get(words.NODE_TYPE) == node_type


def _outdated(cluster: JsonObject, pods: Sequence[JsonObject]) -> list[JsonObject]:
    """Pods of another spec than the present one, where the cluster is to be made anew then."""
    if raw.text(cluster, "spec", "upgradeStrategy", "type") != "Recreate":
        return []
    present = templates.spec_hash(raw.table(cluster, "spec"))
    return [pod for pod in pods if raw.annotation(pod, words.RECREATE_HASH) not in ("", present)]


def _uids(objects: Sequence[JsonObject]) -> list[str]:
    return [raw.uid(each) for each in objects]


def _finalizers(obj: JsonObject) -> list[str]:
    return _texts(raw.at(obj, "metadata", "finalizers"))


def _texts(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
