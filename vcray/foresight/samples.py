"""Small clusters on which a plugin is held to the laws: nodes of several kinds, gangs that run in two queues, pods that wait.

Made of plain objects and read as the cache reads a cluster's, so that a plugin sees what it sees in earnest.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.meta import JsonObject, JsonValue
from vcray.cache.cluster import snapshot_of
from vcray.core.snapshot import Snapshot

NOW = 1_790_000_000.0
GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
SAMPLES = 4


def samples() -> Iterator[Snapshot]:
    """`SAMPLES` clusters, the same each time."""
    return (snapshot_of(_objects(number), NOW, number) for number in range(SAMPLES))


def _objects(number: int) -> list[JsonObject]:
    nodes = [_node(f"n{index}", index, number) for index in range(4 + number)]
    made: list[JsonObject] = [*nodes, _queue("root", 1), _queue("default", 1), _queue("other", 2 + number)]
    for index in range(3 + number):
        queue = "default" if index % 2 else "other"
        name = f"runs-{index}"
        made.append(_group(name, queue, 1 + index % 2, "Running"))
        for at in range(3):
            where = index if index % 2 else index + at  # some gangs stand on one node, some are spread
            made.append(_pod(f"{name}-{at}", name, index + at, f"n{where % len(nodes)}", "worker"))
    for index in range(4):
        name = f"waits-{index}"
        made.append(_group(name, "default" if index < 2 else "other", 2, "Inqueue"))
        made += [_pod(f"{name}-{at}", name, index, role="worker") for at in range(2 + index % 2)]
    return made


def _node(name: str, index: int, number: int) -> JsonObject:
    amounts: JsonObject = {"cpu": str(2 + 2 * index), "memory": f"{8 + 4 * index}Gi", "pods": str(5 + number)}
    if index % 2:
        amounts[GPU] = "4"
    labels: JsonObject = {
        "kubernetes.io/hostname": name,
        ZONE: f"z{index % 2}",
        "disk": "ssd" if index % 3 else "hdd",
    }
    taints: JsonValue = [{"key": "busy", "value": "yes", "effect": "PreferNoSchedule"}] if index == 1 else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _queue(name: str, weight: int) -> JsonObject:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
        "spec": {"weight": weight, "reclaimable": name != "root"},
        "status": {"state": "Open"},
    }


def _group(name: str, queue: str, least: int, phase: str) -> JsonObject:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"minMember": least, "queue": queue, "minResources": {"cpu": "1"}},
        "status": {"phase": phase},
    }


def _pod(name: str, group: str, kind: int, node: str = "", role: str = "") -> JsonObject:
    """A pod of one of four kinds: plain, with a GPU, with a port and a selector, best effort with spreading."""
    kind %= 4
    requests: JsonObject = {"cpu": "500m", "memory": "1Gi"} if kind != 3 else {}
    if kind == 1:
        requests[GPU] = "1"
    container: JsonObject = {
        "name": "main",
        "image": "train:1",
        "resources": {"requests": requests, "limits": {GPU: "1"} if kind == 1 else {}},
    }
    spec: JsonObject = {"schedulerName": "volcano", "containers": [container], "priority": kind}
    if kind == 2:
        container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        spec["nodeSelector"] = {"disk": "ssd"}
    if kind == 3:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"group": group}},
            }
        ]
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"group": group},
            "annotations": {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": role},
        },
        "spec": spec,
        "status": {"phase": "Running" if node else "Pending"},
    }
