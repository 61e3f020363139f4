"""The cache in one object, for tests and simple callers: events in, snapshots out."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api.meta import JsonObject
from vcray.api.wire import Node, Pod, to_node, to_pod
from vcray.cache.assemble import Assembler, World
from vcray.cache.store import Event, Store, version_of
from vcray.cache.translate import counts, node_row, pod_row
from vcray.cache.translate_cluster import CLUSTER_KINDS, cluster_row, key_of, resource_version_of
from vcray.core.snapshot import Snapshot


class ClusterCache:
    """Holds a cluster's objects; `pools` is the number of shards that share the work."""

    def __init__(self, scheduler_names: Iterable[str] = ("volcano",), pools: int = 1) -> None:
        self.scheduler_names = frozenset(scheduler_names)
        self.pools = pools
        self.world = World()
        self.generation = 0
        self._seen: Store[str] = Store()

    def apply(self, events: Iterable[Event]) -> None:
        """Take in changes; kinds that the cache does not read are skipped. Raises QuantityError, ValidationError."""
        for event in events:
            self._apply(event)
        self.generation += 1

    def _apply(self, event: Event) -> None:
        key, version = key_of(event.object), version_of(resource_version_of(event.object))
        seen = f"{event.kind}/{key}"
        if event.type == "DELETED":
            if self._seen.drop(seen, version):
                self._drop(event.kind, key)
        elif self._seen.put(seen, version, key):
            self._put(event)

    def _put(self, event: Event) -> None:
        if event.kind == "Pod":
            pod = event.object if isinstance(event.object, Pod) else to_pod(event.object)  # type: ignore[arg-type]
            if counts(pod, self.scheduler_names):
                self.world.pods[pod.metadata.key] = pod_row(pod)
            else:
                self.world.pods.pop(pod.metadata.key, None)
        elif event.kind == "Node":
            node = event.object if isinstance(event.object, Node) else to_node(event.object)  # type: ignore[arg-type]
            self.world.nodes[node.metadata.name] = node_row(node)
        elif event.kind in CLUSTER_KINDS:
            self.world.knowledge.put(cluster_row(event.kind, event.object))

    def _drop(self, kind: str, key: str) -> None:
        if kind == "Pod":
            self.world.pods.pop(key, None)
        elif kind == "Node":
            self.world.nodes.pop(key, None)
        elif kind in CLUSTER_KINDS:
            self.world.knowledge.drop(kind, key)

    def snapshot(self, now: float = 0.0, seed: int = 0) -> Snapshot:
        """The present state as a frozen snapshot."""
        return Assembler(self.world).snapshot(self.generation, now, seed)


def snapshot_of(objects: Iterable[JsonObject], now: float = 0.0, seed: int = 0) -> Snapshot:
    """The snapshot of some Kubernetes objects, for tests: scheduler name `volcano`, one shard."""
    cache = ClusterCache()
    cache.apply(Event("ADDED", str(item.get("kind", "")), item) for item in objects)
    return cache.snapshot(now, seed)
