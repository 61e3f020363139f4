"""Hypothesis strategies: small clusters, their objects, and streams of events.

Objects are made from few names and few values, so that they meet: selectors select, claims are claimed, nodes fill. What
is drawn is a size and a seed, and the rest follows from `random.Random(seed)`: drawing each field would cost more than
the tests themselves. A failing example shrinks to a small size and can be made again from its seed.

A stream gives every change a growing resourceVersion, as an API server does; what the cluster looks like in the end
is `Stream.objects`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from tests import builders
from vcray.api.meta import JsonObject, JsonValue
from vcray.cache.store import Event

T = TypeVar("T")

NODES = ("n1", "n2", "n3", "n4")
GROUPS = ("g1", "g2", "g3")
DRIVER = "example.com/disk"
NAMESPACES = ("default", "team")
PODS = ("a", "b", "train-worker-1", "train-worker-2")
IMAGES = ("train:1", "base", "registry/x:2")
KEYS = ("app", "tier", "job")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "example.com/x")
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


class Maker:
    """Makes objects from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.random.randrange(count) == 0

    def some(self, values: Sequence[T], most: int) -> list[T]:
        """Up to so many different values."""
        return self.random.sample(list(values), self.random.randint(0, min(most, len(values))))

    def maybe(self, make: Callable[[], T]) -> T | None:
        """A value or none."""
        return make() if self.one_in(2) else None

    def small(self) -> int:
        """0 to 4."""
        return self.random.randint(0, 4)

    def labels(self) -> dict[str, str]:
        """Up to three labels."""
        return {key: self.random.choice("ab") for key in self.some(KEYS, 3)}

    def amounts(self) -> dict[str, builders.Amount]:
        """Up to two resources."""
        return {name: self.small() for name in self.some(RESOURCES, 2)}

    def selector(self) -> JsonObject:
        """A label selector."""
        found: JsonObject = {"matchLabels": {**self.labels()}}
        if self.one_in(3):
            operator = self.random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
            expression: JsonObject = {"key": self.random.choice(KEYS), "operator": operator}
            if operator in ("In", "NotIn"):
                expression["values"] = [*self.random.choice(["a", "b", "ab"])]
            found["matchExpressions"] = [expression]
        return found

    def term(self) -> JsonObject:
        """A pod affinity term."""
        term: JsonObject = {"topologyKey": self.random.choice([HOSTNAME, ZONE])}
        if not self.one_in(6):
            term["labelSelector"] = self.selector()
        if self.one_in(3):
            term["namespaces"] = [self.random.choice(NAMESPACES)]
        if self.one_in(3):
            term["namespaceSelector"] = {"matchLabels": {**self.labels()}}
        return term

    def rules(self) -> JsonObject:
        """Required and preferred terms."""
        preferred: list[JsonValue] = [
            {"weight": self.random.randint(1, 100), "podAffinityTerm": self.term()}
            for _ in range(self.random.randint(0, 1))
        ]
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                self.term() for _ in range(self.random.randint(0, 2))
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }

    def pod_spec(self) -> dict[str, JsonValue]:
        """Spec fields beyond requests; mostly none."""
        spec: dict[str, JsonValue] = {}
        if self.one_in(4):
            spec["affinity"] = {"podAffinity": self.rules(), "podAntiAffinity": self.rules()}
        if self.one_in(5):
            spec["topologySpreadConstraints"] = [
                {
                    "topologyKey": self.random.choice([HOSTNAME, ZONE]),
                    "maxSkew": self.random.randint(1, 2),
                    "whenUnsatisfiable": self.random.choice(["DoNotSchedule", "ScheduleAnyway"]),
                    "labelSelector": self.selector(),
                    "matchLabelKeys": self.random.choice([[], ["job"]]),
                }
            ]
        if self.one_in(5):
            spec["nodeSelector"] = {"pool": self.random.choice("ab")}
        if self.one_in(5):
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if self.one_in(6):
            claim = self.random.choice(["d1", "d2"])
            spec["resourceClaims"] = [{"name": "devices", "resourceClaimName": claim}]
        return spec

    def node(self, name: str) -> JsonObject:
        """A node of that name."""
        pool = self.random.choice(["", "a", "b"])
        labels = {ZONE: self.random.choice(["z1", "z2"])} | (
            {"pool": pool, "vcray.io/node-pool": pool} if pool else {}
        )
        return builders.node(
            name,
            cpu=self.random.randint(1, 8),
            memory=self.random.randint(1, 8),
            gpu=self.maybe(self.small),
            labels=labels,
            taints=[builders.taint("dedicated")] if self.one_in(4) else [],
            unschedulable=self.one_in(6),
            ready=not self.one_in(6),
            images=dict.fromkeys(self.some(IMAGES, 2), 2**26),
            annotations={"volcano.sh/oversubscription-cpu": "500"} if self.one_in(2) else None,
        )

    def pod(self, name: str, namespace: str) -> JsonObject:
        """A pod of that name: waiting, bound, running, leaving or ended, ours or (on a node) another scheduler's."""
        phase = self.random.choice(["Pending", "Pending", "Running", "Succeeded", "Failed"])
        node = self.random.choice([*NODES, "unknown"]) if phase != "Pending" or self.one_in(2) else None
        return builders.pod(
            name,
            namespace=namespace,
            group=self.random.choice([None, *GROUPS]),
            cpu=self.maybe(self.small),
            memory=self.maybe(self.small),
            gpu=self.maybe(self.small),
            node=node,
            phase=phase,
            role=self.random.choice([None, "worker", "ps"]),
            priority=self.maybe(self.small),
            labels=self.labels(),
            scheduler="volcano" if node is None else self.random.choice(["volcano", "default-scheduler"]),
            image=self.random.choice(IMAGES),
            ports=self.some([80, 443], 1),
            claims=self.some(["c1", "c2"], 1),
            gates=["wait"] if self.one_in(6) else [],
            nominated=self.random.choice([None, None, "n1"]),
            deleting=self.one_in(5),
            owner=self.random.choice([None, ("ReplicaSet", "rs1")]),
            spec=self.pod_spec(),
            created=self.small(),
        )

    def group(self) -> JsonObject:
        """A PodGroup."""
        return builders.podgroup(
            self.random.choice(GROUPS),
            self.small(),
            namespace=self.random.choice(NAMESPACES),
            queue=self.random.choice(["default", "q1", "nowhere"]),
            phase=self.random.choice([None, "Pending", "Inqueue", "Running"]),
            min_resources=self.maybe(self.amounts),
            min_task_member={role: self.small() for role in self.some(["worker", "chief"], 2)} or None,
            priority_class=self.random.choice([None, "high", "low"]),
            annotations={"vcray.io/released": "suspended"} if self.one_in(6) else None,
        )

    def queue(self) -> JsonObject:
        """A queue."""
        return builders.queue(
            self.random.choice(["root", "default", "q1", "q2"]),
            weight=self.small(),
            parent=self.random.choice([None, "root", "q1"]),
            state=self.random.choice([None, "Open", "Closed"]),
            capability=self.maybe(self.amounts),
        )

    def beside(self) -> JsonObject:
        """A claim, class, namespace, Service, ReplicaSet, or what claims rest on."""
        namespace = self.random.choice(NAMESPACES)
        match self.random.randrange(9):
            case 0:
                return builders.claim(
                    self.random.choice(["c1", "c2"]),
                    namespace=namespace,
                    phase=self.random.choice(["Bound", "Pending", "Lost"]),
                    storage_class=self.random.choice([None, "late"]),
                    modes=self.random.choice([["ReadWriteOnce"], ["ReadWriteOncePod"]]),
                )
            case 5:
                return builders.volume(
                    self.random.choice(["pv-c1", "pv-c2"]),
                    claim=self.random.choice([None, "c1", "c2"]),
                    driver=self.random.choice([None, DRIVER]),
                )
            case 6:
                return builders.csi_node(self.random.choice(NODES), DRIVER, self.maybe(self.small))
            case 7:
                allocated = self.maybe(lambda: [self.random.choice("ab")])
                return builders.resource_claim(self.random.choice(["d1", "d2"]), namespace, allocated)
            case 1:
                name = self.random.choice(["high", "low"])
                return builders.priority_class(name, self.small(), default=self.one_in(2))
            case 2:
                return builders.storage_class("late", waits=self.one_in(2))
            case 3:
                return builders.namespace(namespace, labels=self.labels())
            case 4:
                return builders.service(self.random.choice(["s1", "s2"]), self.labels(), namespace=namespace)
        return builders.replica_set("rs1", self.labels(), namespace=namespace)

    def object(self) -> JsonObject:
        """Any object that the cache reads."""
        match self.random.randrange(8):
            case 0:
                return self.node(self.random.choice(NODES))
            case 1:
                return self.group()
            case 2:
                return self.queue()
            case 3 | 4:
                return self.beside()
        return self.pod(self.random.choice(PODS), self.random.choice(NAMESPACES))


@dataclass
class Stream:
    """Events in the order in which they happened, and the objects that are there in the end."""

    seed: int
    events: list[Event] = field(default_factory=list)
    objects: dict[tuple[str, str], JsonObject] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"stream({self.seed}, {len(self.events)})"


def identity(item: JsonObject) -> tuple[str, str]:
    """Kind and `namespace/name`."""
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return str(item["kind"]), f"{metadata.get('namespace', '')}/{metadata['name']}"


def _with(item: JsonObject, version: int, uid: str) -> JsonObject:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return item | {"metadata": metadata | {"resourceVersion": str(version), "uid": uid}}


def _uid(item: JsonObject) -> str:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["uid"])


def stream(seed: int, size: int) -> Stream:
    """Creations, changes and deletions; an object deleted and made again has another UID."""
    maker, made = Maker(seed), Stream(seed)
    for version in range(1, size + 1):
        if made.objects and maker.one_in(6):
            place = maker.random.choice(sorted(made.objects))
            last = made.objects.pop(place)
            made.events.append(Event("DELETED", place[0], _with(last, version, _uid(last))))
            continue
        item = maker.object()
        place = identity(item)
        known = made.objects.get(place)
        item = _with(item, version, _uid(known) if known else f"{_uid(item)}-{version}")
        made.events.append(Event("MODIFIED" if known else "ADDED", place[0], item))
        made.objects[place] = item
    return made


def streams(max_size: int = 60) -> st.SearchStrategy[Stream]:
    """Event streams."""
    return st.builds(stream, st.integers(0, 2**32), st.integers(1, max_size))


def cluster(seed: int, size: int) -> list[JsonObject]:
    """Objects of a small cluster, each name once."""
    return list(stream(seed, size).objects.values())


def clusters(max_size: int = 60) -> st.SearchStrategy[list[JsonObject]]:
    """Small clusters."""
    return st.builds(cluster, st.integers(0, 2**32), st.integers(1, max_size))
