"""Simulated nodes as objects: what a node offers, how it is named and reached, and its heartbeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339

FLEET_LABEL = "vcray.io/fleet"
"""Label of a simulated node: the fleet whose kubelet plays it."""
STOPPED_ANNOTATION = "vcray.io/stopped"
"""`"true"` on a simulated node: its kubelet stops, as if the machine had lost power."""
KWOK_ANNOTATION = "kwok.x-k8s.io/node"
"""Annotation of nodes that kwok would play; here their pods start and vanish at once."""

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
_PODS_PER_NODE = 253


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What each node of a fleet offers. Amounts are Kubernetes quantities; no GPU when `gpu` is 0."""

    cpu: str = "8"
    memory: str = "16Gi"
    pods: int = 110
    gpu: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    ephemeral_storage: str = "100Gi"
    extra: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[JsonObject, ...] = ()

    def resources(self) -> JsonObject:
        """Capacity, which is all allocatable."""
        amounts: JsonObject = {
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": self.ephemeral_storage,
            "pods": str(self.pods),
            **self.extra,
        }
        if self.gpu:
            amounts[self.gpu_resource] = str(self.gpu)
        return amounts


class NodeSlot:
    """One node that a kubelet plays. Its addresses follow from its number.

    It is stopped when its annotation says so, or when it was `unplugged` from within.
    """

    __slots__ = ("_following", "annotated", "fast", "ip", "lease_known", "name", "number", "unplugged")

    def __init__(self, name: str, number: int, fast: bool = False) -> None:
        self.name, self.number, self.fast = name, number, fast
        place = number + 1
        self.ip = f"172.{16 + (place >> 16) % 16}.{place >> 8 & 255}.{place & 255}"
        self.annotated = self.unplugged = False
        self.lease_known = False
        self._following = 0

    @property
    def alive(self) -> bool:
        """Whether its kubelet runs."""
        return not self.annotated and not self.unplugged

    @property
    def pod_cidr(self) -> str:
        """The addresses of its pods."""
        return f"10.{128 + (self.number >> 8) % 128}.{self.number & 255}.0/24"

    def next_ip(self) -> str:
        """An address for a new pod; one comes again only after all others."""
        self._following = self._following % _PODS_PER_NODE + 1
        return f"10.{128 + (self.number >> 8) % 128}.{self.number & 255}.{self._following}"


def node_object(slot: NodeSlot, shape: NodeShape, fleet: str, now: float) -> JsonObject:
    """The Node as its kubelet registers it, Ready."""
    labels: JsonObject = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": slot.name,
        "kubernetes.io/os": "linux",
        FLEET_LABEL: fleet,
        **shape.labels,
    }
    spec: JsonObject = {"podCIDR": slot.pod_cidr, "podCIDRs": [slot.pod_cidr]}
    if shape.taints:
        spec["taints"] = [dict(taint) for taint in shape.taints]
    return {
        "metadata": {"name": slot.name, "labels": labels, "annotations": dict(shape.annotations)},
        "spec": spec,
        "status": node_status(slot, shape, now),
    }


def node_status(slot: NodeSlot, shape: NodeShape, now: float) -> JsonObject:
    """All that a kubelet tells of its node."""
    return {
        "capacity": shape.resources(),
        "allocatable": shape.resources(),
        "conditions": conditions(now),
        "addresses": [
            {"type": "InternalIP", "address": slot.ip},
            {"type": "Hostname", "address": slot.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": slot.name,
            "containerRuntimeVersion": "containerd://2.0.0",
            "kernelVersion": "6.1.0",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.1",
            "machineID": slot.name,
            "operatingSystem": "linux",
            "osImage": "simulated by vcray",
            "systemUUID": slot.name,
        },
    }


_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def conditions(now: float) -> list[JsonValue]:
    """The conditions of a healthy node."""
    moment = rfc3339(now)
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
        }
        for kind, status, reason, message in _CONDITIONS
    ]


def micro_time(seconds: float) -> str:
    """A time with microseconds, as leases have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lease_object(slot: NodeSlot, duration_s: int, now: float) -> JsonObject:
    """The lease that a kubelet renews as long as it lives."""
    return {
        "metadata": {"name": slot.name, "namespace": LEASE_NAMESPACE},
        "spec": {
            "holderIdentity": slot.name,
            "leaseDurationSeconds": duration_s,
            "renewTime": micro_time(now),
        },
    }
