"""What RayClusters, and those inside RayJobs and RayServices, have in common (integrations.md 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, effective
from vcray.integrations.base import Asks, Growth, Malformed, Part, SubGroups, count, template

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
REPLICA_NAME: Final = "ray.io/worker-group-replica-name"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"
ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
HEAD_GROUP: Final = "headgroup"
OPERATOR: Final = "ray.io/kuberay-operator"
NO_LIMIT: Final = 2**31 - 1

_SIDECAR: Final[JsonObject] = {
    "containers": [{"resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}]
}
"""What the autoscaler's container takes where nobody says otherwise."""
_WAITER: Final[JsonObject] = {
    "name": "wait-gcs-ready",
    "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}},
}
"""What KubeRay has each worker run first."""


def group_name(name: str) -> str:
    """The PodGroup of a RayCluster or RayJob, as KubeRay's own plugin calls it."""
    return f"ray-{name}-pg"


def group_of_cluster(cluster: JsonObject) -> str:
    """The PodGroup of a RayCluster's pods: that of its RayJob where it has one."""
    labels = raw.labels_of(cluster)
    if labels.get(ORIGIN_KIND) == "RayJob" and labels.get(ORIGIN_NAME):
        return group_name(labels[ORIGIN_NAME])
    return group_name(raw.name(cluster))


def asks_of(spec: JsonObject, manager: str, *more: JsonObject) -> Asks:
    """Templates of a cluster's spec, the head's first; `manager` as managedBy says."""
    groups = (raw.table(each, "template") for each in raw.tables(spec, "workerGroupSpecs"))
    templates = (raw.table(spec, "headGroupSpec", "template"), *groups, *more)
    return Asks(templates=templates, manager="" if manager in ("", OPERATOR) else manager)


def parts_of(spec: JsonObject, where: str, beside_head: Usage | None = None) -> tuple[Part, ...]:
    """The head and its worker groups, with the least that each starts with. Raises Malformed; `where` is the field of `spec`."""
    scales = raw.at(spec, "enableInTreeAutoscaling") is True
    beside = dict(beside_head or {})
    if scales:
        for name, amount in _autoscaler(spec).items():
            beside[name] = beside.get(name, 0) + amount
    head = template(spec, f"{where}.headGroupSpec.template", "headGroupSpec", "template")
    parts = (Part(HEAD_GROUP, 1, 1, head, beside=beside), *_workers(spec, where, scales))
    names = [part.task for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Malformed(
            f"{where}.workerGroupSpecs: groupName '{twice}' is there twice; give each group a name of its own"
        )
    return parts


def _workers(spec: JsonObject, where: str, scales: bool) -> Iterator[Part]:
    for index, group in enumerate(raw.tables(spec, "workerGroupSpecs")):
        place = f"{where}.workerGroupSpecs[{index}]"
        name = raw.text(group, "groupName")
        if not name:
            raise Malformed(f"{place}.groupName: must be given")
        replicas = count(group, f"{place}.replicas", "replicas", default=0)
        least = count(group, f"{place}.minReplicas", "minReplicas", default=0)
        most = count(group, f"{place}.maxReplicas", "maxReplicas", default=NO_LIMIT)
        hosts = count(group, f"{place}.numOfHosts", "numOfHosts", default=1)
        if least > most:
            raise Malformed(f"{place}: minReplicas {least} is above maxReplicas {most}")
        wanted = least if scales else min(max(replicas, least), most)
        if raw.at(group, "suspend") is True:
            wanted = 0
        pods = wanted * hosts
        units = SubGroups(hosts, wanted, {GROUP: name}, (REPLICA_NAME,)) if hosts > 1 else None
        yield Part(name, pods, pods, template(group, f"{place}.template", "template"), units)


def grown(cluster: str, old: JsonObject, spec: JsonObject) -> Iterator[Growth]:
    """Worker groups of a cluster of this name whose replicas are above those of the `old` spec and above minReplicas.
    Raises Malformed."""
    before = {
        raw.text(group, "groupName"): raw.number(group, "replicas")
        for group in raw.tables(old, "workerGroupSpecs")
    }
    for index, group in enumerate(raw.tables(spec, "workerGroupSpecs")):
        place, name = f"spec.workerGroupSpecs[{index}]", raw.text(group, "groupName")
        replicas = count(group, f"{place}.replicas", "replicas", default=0)
        least = count(group, f"{place}.minReplicas", "minReplicas", default=0)
        most = count(group, f"{place}.maxReplicas", "maxReplicas", default=NO_LIMIT)
        hosts = count(group, f"{place}.numOfHosts", "numOfHosts", default=1)
        asked, stays = min(replicas, most), max(before.get(name, 0), least)
        if asked <= stays or not hosts or raw.at(group, "suspend") is True:
            continue
        yield Growth(
            ("spec", "workerGroupSpecs", index, "replicas"),
            asked,
            stays,
            _waiting(template(group, f"{place}.template", "template")),
            {CLUSTER: cluster, NODE_TYPE: "worker", GROUP: name},
            hosts,
            REPLICA_NAME if hosts > 1 else "",
        )


def _waiting(template: JsonObject) -> JsonObject:
    """A worker's template with what waits for the head."""
    spec = raw.table(template, "spec")
    return {**template, "spec": {**spec, "initContainers": [*raw.tables(spec, "initContainers"), _WAITER]}}


def _autoscaler(spec: JsonObject) -> Usage:
    """What the autoscaler's container beside the head takes."""
    given = raw.table(spec, "autoscalerOptions", "resources")
    container: JsonObject = {"resources": given}
    return effective({"containers": [container]} if given else _SIDECAR, "requests")
