"""The seeded source of a random cluster: its features and what has been made so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.oracle.facts import Amounts, Object

ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"
FEATURES = {
    "gpu": 0.4,
    "zones": 0.6,
    "taints": 0.3,
    "cordons": 0.25,
    "not ready": 0.15,
    "pod limits": 0.25,
    "lent": 0.1,
    "foreign": 0.3,
    "terminating": 0.5,
    "finished": 0.3,
    "overbooked": 0.1,
    "queues": 0.6,
    "capability": 0.35,
    "guarantee": 0.25,
    "closed": 0.1,
    "zero weights": 0.08,
    "roles": 0.4,
    "best effort": 0.3,
    "gates": 0.15,
    "minimum resources": 0.5,
    "selectors": 0.3,
    "node affinity": 0.3,
    "ports": 0.2,
    "affinity": 0.25,
    "spread": 0.25,
    "images": 0.2,
    "nominations": 0.1,
    "claims": 0.08,
    "namespaces": 0.15,
    "init containers": 0.15,
    "ephemeral": 0.1,
    "missing queue": 0.05,
    "tree": 0.1,
    "deserved": 0.2,
    "stays": 0.1,
    "not reclaimable": 0.1,
    "never": 0.1,
}


THEMES: dict[str, set[str]] = {
    "mixed": set(),
    "spread": {"zones", "spread", "taints", "node affinity", "finished"},
    "neighbours": {"zones", "affinity"},
    "admission": {"minimum resources", "queues", "gates", "selectors", "tight"},
    "fairness": {"queues", "guarantee", "capability", "tight"},
    "roles": {"roles", "tight"},
    "leaving": {"terminating", "tight"},
    "overbooked": {"overbooked", "best effort"},
    "preempting": {"tight", "running"},
    "reclaiming": {"queues", "tight", "running", "deserved"},
    "network": {"hypernodes", "tight", "finished"},
    "branches": {"queues", "tight", "running", "branches"},
    "family": {"queues", "tight", "running", "deserved", "guarantee", "tree"},
}
"""What a cluster is mostly about: these features are always on and frequent, others are rarer than in a mixed one.
One more theme, `wide`, has tens of nodes, so that the kernel works on columns and blocks of them."""


@dataclass(eq=False)
class RandomCluster:
    """The objects of one cluster, its configuration and the seed of its ties."""

    number: int
    rng: Random
    theme: str
    uses: set[str]
    conf: Object
    objects: list[Object] = field(default_factory=list)
    room: dict[str, Amounts] = field(default_factory=dict)
    queues: list[str] = field(default_factory=list)

    @property
    def seed(self) -> int:
        return self.number * 7919 - 5

    def chance(self, feature: str, probability: float) -> bool:
        strength = 1.6 if feature in THEMES.get(self.theme, ()) else 1.0
        return feature in self.uses and self.rng.random() < probability * strength

    @property
    def tight(self) -> bool:
        """Is there less room than the jobs ask for?"""
        return "tight" in self.uses

    def add(self, kind: str, meta: Object, **parts: object) -> Object:
        version = {
            "PodGroup": "scheduling.volcano.sh/v1beta1",
            "Queue": "scheduling.volcano.sh/v1beta1",
            "PriorityClass": "scheduling.k8s.io/v1",
            "HyperNode": "topology.volcano.sh/v1alpha1",
        }.get(kind, "v1")
        stamp = f"2026-01-01T00:00:{self.rng.choice([0, 0, 10, 20, 30]):02d}Z"
        meta = {
            "uid": f"{self.rng.getrandbits(64):016x}",
            "resourceVersion": str(len(self.objects) + 1),
            "creationTimestamp": stamp,
            **meta,
        }
        item = {"apiVersion": version, "kind": kind, "metadata": meta, **parts}
        self.objects.append(item)
        return item
