"""Defaults that depend on other fields of the same object: one function a type, in place."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from copy import deepcopy

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.images import is_latest

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation in which apps/v1 keeps how often a DaemonSet's template changed."""

_INT32_MAX = 2**31 - 1
_RBAC = "rbac.authorization.k8s.io"
_CONTAINER_LISTS = ("initContainers", "containers")


def _default(obj: JsonObject, **values: JsonValue) -> None:
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


def _section(obj: JsonObject, name: str) -> JsonObject:
    found = obj.get(name)
    if not isinstance(found, dict):
        found = obj[name] = JsonObject()
    return found


def _container(container: JsonObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if is_latest(dig_str(container, "image")) else "IfNotPresent"
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"


def _volume(volume: JsonObject) -> None:
    if len(volume) <= 1:
        volume["emptyDir"] = {}
    image = volume.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        image["pullPolicy"] = "Always" if is_latest(dig_str(image, "reference")) else "IfNotPresent"


def _pod(pod: JsonObject) -> None:
    spec = _section(pod, "spec")
    for name in _CONTAINER_LISTS:
        for container in dig_objects(spec, name):
            limits = dig_object(container, "resources", "limits")
            if limits:
                requests = _section(_section(container, "resources"), "requests")
                for resource, amount in limits.items():
                    requests.setdefault(resource, amount)
    _default(spec, enableServiceLinks=True)
    if spec.get("hostNetwork"):
        for name in _CONTAINER_LISTS:
            for container in dig_objects(spec, name):
                for port in dig_objects(container, "ports"):
                    port["hostPort"] = port.get("hostPort") or port.get("containerPort")


def _service(service: JsonObject) -> None:
    spec = _section(service, "spec")
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif dig(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    kind = spec["type"] = spec.get("type") or "ClusterIP"
    for port in dig_objects(spec, "ports"):
        port["protocol"] = port.get("protocol") or "TCP"
        port["targetPort"] = port.get("targetPort") or port.get("port")
    external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        _default(spec, internalTrafficPolicy="Cluster")
    if kind == "LoadBalancer":
        _default(spec, allocateLoadBalancerNodePorts=True)
        for ingress in dig_objects(service, "status", "loadBalancer", "ingress"):
            if ingress.get("ip"):
                _default(ingress, ipMode="VIP")


def _replication_controller(controller: JsonObject) -> None:
    spec = _section(controller, "spec")
    labels = dig_strings(spec, "template", "metadata", "labels")
    if labels:
        spec["selector"] = spec.get("selector") or dict(labels)
        metadata = _section(controller, "metadata")
        metadata["labels"] = metadata.get("labels") or dict(labels)


def _namespace(namespace: JsonObject) -> None:
    metadata = _section(namespace, "metadata")
    if metadata.get("name"):
        _section(metadata, "labels")["kubernetes.io/metadata.name"] = metadata["name"]


def _node_status(status: JsonObject) -> None:
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = deepcopy(status["capacity"])


def _limit(item: JsonObject) -> None:
    if item.get("type") != "Container":
        return
    amounts = {name: dict(dig_object(item, name)) for name in ("default", "defaultRequest", "max", "min")}
    amounts["default"] = {**amounts["max"], **amounts["default"]}
    amounts["defaultRequest"] = {**amounts["min"], **amounts["default"], **amounts["defaultRequest"]}
    for name in ("default", "defaultRequest"):
        if amounts[name]:
            item[name] = amounts[name]


def _deployment(spec: JsonObject) -> None:
    strategy = _section(spec, "strategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        _default(_section(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")


def _daemon_set(spec: JsonObject) -> None:
    strategy = _section(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        _default(_section(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)


def _stateful_set(spec: JsonObject) -> None:
    strategy = _section(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        _section(strategy, "rollingUpdate")
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and isinstance(rolling, dict):
        _default(rolling, partition=0)
    policy = _section(spec, "persistentVolumeClaimRetentionPolicy")
    for when in ("whenDeleted", "whenScaled"):
        policy[when] = policy.get(when) or "Retain"


def _job(job: JsonObject) -> None:
    labels = dig_strings(job, "spec", "template", "metadata", "labels")
    metadata = _section(job, "metadata")
    if labels and not metadata.get("labels"):
        metadata["labels"] = dict(labels)
    spec = _section(job, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    per_index = spec.get("backoffLimitPerIndex") is not None
    failed_only = spec.get("podFailurePolicy") is not None
    _default(
        spec,
        parallelism=1,
        backoffLimit=_INT32_MAX if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="Failed" if failed_only else "TerminatingOrFailed",
        manualSelector=False,
    )


def _autoscaler(autoscaler: JsonObject) -> None:
    spec = _section(autoscaler, "spec")
    _default(spec, minReplicas=1)
    if not spec.get("metrics"):
        target: JsonObject = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if isinstance(behavior, dict):
        whole: JsonObject = {"type": "Percent", "value": 100, "periodSeconds": 15}
        four: JsonObject = {"type": "Pods", "value": 4, "periodSeconds": 15}
        _default(
            _section(behavior, "scaleUp"),
            stabilizationWindowSeconds=0,
            selectPolicy="Max",
            policies=[four, dict(whole)],
        )
        _default(_section(behavior, "scaleDown"), selectPolicy="Max", policies=[whole])


def _network_policy(spec: JsonObject) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _subject(subject: JsonObject) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = _RBAC


def _device_request(request: JsonObject) -> None:
    if request.get("allocationMode") == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _definition(spec: JsonObject) -> None:
    names = _section(spec, "names")
    kind = dig_str(names, "kind")
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or f"{kind}List"


def _secret(secret: JsonObject) -> None:
    written = secret.pop("stringData", None)
    if isinstance(written, dict) and written:
        data = _section(secret, "data")
        for key, value in written.items():
            data[key] = base64.b64encode(str(value).encode()).decode()


def _daemon_set_marks(daemon_set: JsonObject) -> None:
    annotations = _section(_section(daemon_set, "metadata"), "annotations")
    annotations.setdefault(TEMPLATE_GENERATION, "0")


COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.Volume": _volume,
    "core.v1.Pod": _pod,
    "core.v1.Service": _service,
    "core.v1.Secret": _secret,
    "core.v1.ReplicationController": _replication_controller,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeStatus": _node_status,
    "core.v1.LimitRangeItem": _limit,
    "apps.v1.DeploymentSpec": _deployment,
    "apps.v1.DaemonSet": _daemon_set_marks,
    "apps.v1.DaemonSetSpec": _daemon_set,
    "apps.v1.StatefulSetSpec": _stateful_set,
    "batch.v1.Job": _job,
    "autoscaling.v2.HorizontalPodAutoscaler": _autoscaler,
    "networking.v1.NetworkPolicySpec": _network_policy,
    "rbac.v1.Subject": _subject,
    "resource.v1.ExactDeviceRequest": _device_request,
    "resource.v1.DeviceSubRequest": _device_request,
    "apiextensions.v1.CustomResourceDefinitionSpec": _definition,
}
"""Type without its project's prefix -> what completes an object of it."""
