"""Nodes and pods on a server without kubelets: the tests play the kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.harness.client import Client


def create_node(
    client: Client,
    name: str,
    resources: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Create a Ready node; `resources` (quantities) are both its capacity and what is allocatable."""
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", **(resources or {})}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played by a test"}
    return client.create(
        "/api/v1/nodes",
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {"taints": taints} if taints else {},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
        },
    )


def set_pod_phase(
    client: Client, namespace: str, name: str, phase: str, exit_code: int | None = None
) -> dict[str, Any]:
    """Write the phase of a pod as a kubelet would; `exit_code` ends its containers with that code."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    status: dict[str, Any] = {"phase": phase}
    if exit_code is not None:
        ended = {"terminated": {"exitCode": exit_code}}
        status["containerStatuses"] = [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": ended,
            }
            for container in client.get(path)["spec"]["containers"]
        ]
    return client.patch(f"{path}/status", {"status": status})


def bound_pods(client: Client, namespace: str) -> dict[str, str]:
    """The pods of a namespace that have a node: pod name -> node name."""
    pods = client.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods if p["spec"].get("nodeName")}
