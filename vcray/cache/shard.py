"""One shard of the cache: events of its part of the cluster in, deltas out. And who gets which event.

Pods with a node go to the shard of the node's pool, pending pods to one chosen by their gang, nodes by their pool, all
other kinds to the cluster shard. Which shard holds an object never changes a snapshot; it only spreads the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from vcray.api import names
from vcray.api.quantity import QuantityError
from vcray.api.wire import Node, Pod, to_node, to_pod
from vcray.cache.delta import Delta, PodMatrix
from vcray.cache.groups import AGENT_JOB, job_of
from vcray.cache.keeps import Keeps
from vcray.cache.podspec import PodForm
from vcray.cache.rows import ClusterRow, NodeRow, PodRow
from vcray.cache.store import Event, KubeObject, Store, version_of
from vcray.cache.translate import node_row, pod_row
from vcray.cache.translate_cluster import CLUSTER_KINDS, cluster_row, key_of, resource_version_of

MOVED: Final = "MOVED"
"""Event type of a pod that another shard keeps from now on."""

FORMS: Final = 65536
"""How many distinct forms are remembered so that equal pods share one; past it the memory starts anew."""

BAD_OBJECT: Final = (QuantityError, ValueError, msgspec.ValidationError)


def bucket(text: str, count: int) -> int:
    """A stable number below `count` for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") % count


def pool_of(node: str, label: str, pools: int) -> int:
    """The pool of a node: by its `vcray.io/node-pool` label, else by its name."""
    return bucket(f"pool {label}" if label else f"node {node}", pools)


class Router:
    """Decides which shards see an event: 0..pools-1 for pods and nodes, `pools` for all other kinds.

    Remembers where each pod and node went last: an object that changes its shard is moved, with a word to the old one, and
    what is older than the last word goes nowhere. Deletions go everywhere, since a tombstone must meet late events."""

    def __init__(self, pools: int = 1) -> None:
        self.pools = pools
        self.cluster = pools
        self._pods: dict[str, tuple[int, int]] = {}
        self._nodes: dict[str, tuple[int, int]] = {}

    def route(self, event: Event) -> tuple[tuple[int, Event], ...]:
        """(shard, event) in delivery order; nothing for kinds that the cache does not read and for old news.

        Raises what `BAD_OBJECT` lists for a pod or node that cannot be read."""
        if event.kind == "Pod":
            pod = as_pod(event.object)
            return self._to_pool(Event(event.type, "Pod", pod), self._pods, self._pool_of_pod(pod))
        if event.kind == "Node":
            node = as_node(event.object)
            label = node.metadata.labels.get(names.NODE_POOL, "")
            return self._to_pool(
                Event(event.type, "Node", node), self._nodes, pool_of(node.metadata.name, label, self.pools)
            )
        return ((self.cluster, event),) if event.kind in CLUSTER_KINDS else ()

    def _pool_of_pod(self, pod: Pod) -> int:
        node = pod.spec.node_name
        if not node:
            return bucket(f"gang {job_of(pod) or pod.metadata.key}", self.pools)
        known = self._nodes.get(node)
        return pool_of(node, "", self.pools) if known is None else known[1]

    def _to_pool(
        self, event: Event, homes: dict[str, tuple[int, int]], home: int
    ) -> tuple[tuple[int, Event], ...]:
        key, version = key_of(event.object), version_of(resource_version_of(event.object))
        seen, before = homes.get(key, (0, home))
        if version and version < seen:
            return ()
        if event.type == "DELETED":
            homes.pop(key, None)
            return tuple((shard, event) for shard in range(self.pools))
        homes[key] = (version, home)
        if before == home:
            return ((home, event),)
        return ((before, Event(MOVED, event.kind, event.object)), (home, event))


class CacheShard:
    """Keeps the newest row of each object that it was sent and tells what changed. Pure: it only answers."""

    def __init__(self, shard: int = 0, keeps: Keeps | Iterable[str] = (names.SCHEDULER_NAME,)) -> None:
        self.shard = shard
        self.generation = 0
        self._keeps = keeps if isinstance(keeps, Keeps) else Keeps(frozenset(keeps))
        self._pods: Store[PodRow] = Store()
        self._nodes: Store[NodeRow] = Store()
        self._cluster: dict[str, Store[ClusterRow]] = {kind: Store() for kind in CLUSTER_KINDS}
        self._forms: dict[PodForm, PodForm] = {}
        self._refused: list[tuple[str, str, str]] = []

    def apply(self, events: Iterable[Event]) -> Delta:
        """Take in events and say what changed. An object that cannot be read is left as it was and named."""
        changes = _Changes()
        for event in events:
            try:
                self._take(event, changes)
            except BAD_OBJECT as error:
                self._refused.append((event.kind, key_of(event.object), str(error)))
        return self._delta(changes, full=False)

    def full(self) -> Delta:
        """All that the shard holds, for a reader that lost its place."""
        changes = _Changes()
        changes.pods = {row.key: row for row in self._pods}
        changes.nodes = {row.name: row for row in self._nodes}
        for kind, store in self._cluster.items():
            changes.cluster |= {(kind, key): (version, row) for key, version, row in store.items()}
        return self._delta(changes, full=True)

    def _delta(self, changes: _Changes, full: bool) -> Delta:
        self.generation += 1
        matrix = PodMatrix(changes.pods.values())
        refused, self._refused = tuple(self._refused), []
        return Delta(
            shard=self.shard,
            generation=self.generation,
            full=full,
            strings=matrix.strings,
            forms=matrix.forms,
            labels=matrix.labels,
            claims=matrix.claims,
            facts=matrix.facts,
            keys=matrix.keys,
            uids=matrix.uids,
            values=matrix.values,
            gone=tuple(changes.gone.items()),
            nodes=tuple(changes.nodes.values()),
            gone_nodes=tuple(changes.gone_nodes.items()),
            cluster=tuple(changes.cluster.values()),
            gone_cluster=tuple((*place, version) for place, version in changes.gone_cluster.items()),
            refused=refused,
        )

    def _take(self, event: Event, changes: _Changes) -> None:
        key, version = key_of(event.object), version_of(resource_version_of(event.object))
        if event.kind == "Pod":
            self._take_pod(event, key, version, changes)
        elif event.kind == "Node":
            self._take_node(event, key, version, changes)
        elif event.kind in CLUSTER_KINDS:
            self._take_cluster(event, key, version, changes)

    def _take_pod(self, event: Event, key: str, version: int, changes: _Changes) -> None:
        if event.type == MOVED:
            self._pods.move_away(key)
            return
        if event.type == "DELETED":
            if self._pods.outdates(key, version):
                return
            changes.pods.pop(key, None)
            if self._pods.drop(key, version) or version:
                changes.gone[key] = max(version, changes.gone.get(key, 0))
            return
        pod = as_pod(event.object)
        if not self._keeps.pod(pod):
            return
        row = pod_row(pod)
        if self._keeps.for_agent(pod):
            row = row._replace(job=AGENT_JOB)
        if len(self._forms) > FORMS:
            self._forms.clear()
        row = row._replace(form=self._forms.setdefault(row.form, row.form))
        before = self._pods.get(key)
        if self._pods.put(key, version, row) and (
            before is None or before[3:] != row[3:] or before.uid != row.uid
        ):
            changes.pods[key] = row

    def _take_node(self, event: Event, key: str, version: int, changes: _Changes) -> None:
        if event.type == MOVED:
            self._nodes.move_away(key)
            return
        if event.type == "DELETED":
            if self._nodes.outdates(key, version):
                return
            changes.nodes.pop(key, None)
            if self._nodes.drop(key, version) or version:
                changes.gone_nodes[key] = max(version, changes.gone_nodes.get(key, 0))
            return
        node = as_node(event.object)
        if not self._keeps.node(node):
            return
        row = node_row(node)
        before = self._nodes.get(key)
        if self._nodes.put(key, version, row) and (before is None or before[2:] != row[2:]):
            changes.nodes[key] = row

    def _take_cluster(self, event: Event, key: str, version: int, changes: _Changes) -> None:
        place, store = (event.kind, key), self._cluster[event.kind]
        if event.type == "DELETED":
            if store.outdates(key, version):
                return
            changes.cluster.pop(place, None)
            if store.drop(key, version) or version:
                changes.gone_cluster[place] = max(version, changes.gone_cluster.get(place, 0))
            return
        if (
            event.kind == "PodGroup"
            and isinstance(event.object, dict)
            and not self._keeps.group(event.object)
        ):
            return
        row = cluster_row(event.kind, event.object)
        before = store.get(key)
        if store.put(key, version, row) and before != row:
            changes.cluster[place] = (version, row)


class _Changes:
    """What a batch of events changed, each key once, the last word."""

    def __init__(self) -> None:
        self.pods: dict[str, PodRow] = {}
        self.gone: dict[str, int] = {}
        self.nodes: dict[str, NodeRow] = {}
        self.gone_nodes: dict[str, int] = {}
        self.cluster: dict[tuple[str, str], tuple[int, ClusterRow]] = {}
        self.gone_cluster: dict[tuple[str, str], int] = {}


def as_pod(value: KubeObject) -> Pod:
    """The object as a typed pod. Raises msgspec.ValidationError, ValueError for another kind."""
    if isinstance(value, dict):
        return to_pod(value)
    if isinstance(value, Pod):
        return value
    raise ValueError(f"a {type(value).__name__} came as a Pod")


def as_node(value: KubeObject) -> Node:
    """The object as a typed node. Raises msgspec.ValidationError, ValueError for another kind."""
    if isinstance(value, dict):
        return to_node(value)
    if isinstance(value, Node):
        return value
    raise ValueError(f"a {type(value).__name__} came as a Node")
