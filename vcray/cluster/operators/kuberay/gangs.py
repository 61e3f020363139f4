"""The PodGroups of KubeRay's volcano plugin, with its own arithmetic (integrations.md 1.4): minResources goes by the replicas
that are written, not by those that are made, and sees neither the autoscaler's container nor init containers."""

from __future__ import annotations

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.operators.kuberay import templates
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json

GROUP_FIELDS = ("minMember", "minResources")
"""What the plugin keeps in step."""


def group_name(name: str) -> str:
    """The PodGroup of a RayCluster or RayJob."""
    return f"ray-{name}-pg"


def wanted(group: JsonObject) -> int:
    """Replicas that the operator makes of a worker group."""
    if raw.at(group, "suspend") is True:
        return 0
    least, most = raw.number(group, "minReplicas"), raw.number(group, "maxReplicas", default=2**31 - 1)
    return min(max(raw.number(group, "replicas"), least), most)


def hosts(group: JsonObject) -> int:
    """Pods of one replica."""
    return max(1, raw.number(group, "numOfHosts", default=1))


def minima(spec: JsonObject, submitter: Usage | None = None) -> JsonObject:
    """minMember and minResources of a cluster's spec."""
    scales = raw.at(spec, "enableInTreeAutoscaling") is True
    members, total = 1, dict(submitter or {})
    add_usage(total, _containers(raw.table(spec, "headGroupSpec", "template")))
    for group in raw.tables(spec, "workerGroupSpecs"):
        if raw.at(group, "suspend") is True:
            continue
        members += (raw.number(group, "minReplicas") if scales else wanted(group)) * hosts(group)
        counted = raw.number(group, "minReplicas" if scales else "replicas") * hosts(group)
        add_usage(total, _containers(raw.table(group, "template")), counted)
    return {"minMember": members, "minResources": usage_json(total)}


def submitter(job: JsonObject) -> Usage:
    """What the plugin holds for the pod or container that submits a RayJob."""
    mode = raw.text(job, "spec", "submissionMode") or "K8sJobMode"
    own = raw.table(job, "spec", "submitterPodTemplate")
    if mode == "K8sJobMode" and own:
        return _containers(own)
    if mode in ("K8sJobMode", "SidecarMode"):
        return _containers({"spec": {"containers": [{"resources": templates.SUBMITTER_RESOURCES}]}})
    return {}


def nothing() -> JsonObject:
    """The sizes of a group whose cluster is gone."""
    return {"minMember": 0, "minResources": {}}


def spec_of(owner: JsonObject, sizes: JsonObject) -> JsonObject:
    """spec of a new PodGroup: its sizes, and what the object's labels say."""
    labels = raw.labels_of(owner)
    spec: JsonObject = {**sizes}
    if labels.get(names.QUEUE_NAME):
        spec["queue"] = labels[names.QUEUE_NAME]
    if labels.get(names.RAY_PRIORITY_CLASS):
        spec["priorityClassName"] = labels[names.RAY_PRIORITY_CLASS]
    mode = labels.get(names.NETWORK_TOPOLOGY_MODE)
    if mode:
        topology: JsonObject = {"mode": mode}
        tier = labels.get(names.NETWORK_TOPOLOGY_HIGHEST_TIER_ALLOWED, "")
        if tier.isdecimal():
            topology["highestTierAllowed"] = int(tier)
        spec["networkTopology"] = topology
    return spec


def copied_annotations(owner: JsonObject) -> JsonValue:
    """All of the object's annotations go to its group."""
    return raw.strings(raw.annotations_of(owner))


def _containers(template: JsonObject) -> Usage:
    """What the containers of a template ask for."""
    containers: JsonObject = {"containers": [*raw.tables(template, "spec", "containers")]}
    return effective(containers, "requests")
