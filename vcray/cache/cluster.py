"""The cache in one object, for tests and simple callers: events in, snapshots out."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.cache.assume import ASSUMED_S
from vcray.cache.keeps import Keeps
from vcray.cache.merge import Merge
from vcray.cache.shard import BAD_OBJECT, CacheShard, Router
from vcray.cache.store import Event
from vcray.cache.translate_cluster import key_of
from vcray.core.snapshot import Snapshot


class ClusterCache:
    """Holds a cluster's objects. `pools` is the number of shards that share pods and nodes; it changes no snapshot.

    With several pools, objects need a resourceVersion: it alone tells which of two shards knows better."""

    def __init__(
        self,
        keeps: Keeps | Iterable[str] = (names.SCHEDULER_NAME,),
        pools: int = 1,
        assumed_s: float = ASSUMED_S,
    ) -> None:
        found = keeps if isinstance(keeps, Keeps) else tuple(keeps)
        self.merge = Merge(assumed_s)
        self._router = Router(pools)
        self._shards = [CacheShard(number, found) for number in range(pools + 1)]

    def apply(self, events: Iterable[Event]) -> None:
        """Take in changes. Kinds that the cache does not read are skipped, objects that it cannot read are left as
        they were and listed in `merge.refused`."""
        batches: dict[int, list[Event]] = {}
        for event in events:
            try:
                routes = self._router.route(event)
            except BAD_OBJECT as error:
                self.merge.refused.append((event.kind, key_of(event.object), str(error)))
                continue
            for shard, routed in routes:
                batches.setdefault(shard, []).append(routed)
        for shard in sorted(batches, reverse=True):
            self.merge.apply(self._shards[shard].apply(batches[shard]))

    def snapshot(self, now: float = 0.0, seed: int = 0) -> Snapshot:
        """The present state as a frozen snapshot."""
        return self.merge.snapshot(now, seed)


def snapshot_of(objects: Iterable[JsonObject], now: float = 0.0, seed: int = 0) -> Snapshot:
    """The snapshot of some Kubernetes objects, for tests: scheduler name `volcano`, one shard."""
    cache = ClusterCache()
    cache.apply(Event("ADDED", str(item.get("kind", "")), item) for item in objects)
    return cache.snapshot(now, seed)
