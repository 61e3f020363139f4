"""Router and shards as actors: every change reaches its shard, a first list is passed on by all."""

from __future__ import annotations

from vcray.actors.local_runtime import LocalRuntime
from vcray.actors.messages import (
    Changed,
    Message,
    NodeChange,
    NodeChanges,
    ObjectChange,
    ObjectChanges,
    PodChange,
    PodChanges,
    Synced,
)
from vcray.actors.shards import RouterActor, ShardActor, sources
from vcray.api.resources import NODES, PODGROUPS, PODS
from vcray.api.wire import to_node, to_pod
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard, Router
from vcray.sim import shorthand


class Collector:
    """Stands for the coordinator."""

    def __init__(self) -> None:
        self.merge = Merge()
        self.synced: set[tuple[str, int]] = set()

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""

    async def receive(self, message: Message) -> Message | None:
        if isinstance(message, Changed):
            self.merge.apply(message.parcel.delta)
        elif isinstance(message, Synced):
            self.synced.add((message.resource, message.shard))
        return None


async def test_changes_go_through_router_and_shards_into_one_snapshot() -> None:
    runtime = LocalRuntime(frames=True)
    collector = Collector()
    head = await runtime.spawn("coordinator", lambda: collector)
    pools = 3
    shards = [
        await runtime.spawn(f"cache-{index}", lambda index=index: ShardActor(CacheShard(index), head))  # type: ignore[misc]
        for index in range(pools + 1)
    ]
    router = await runtime.spawn("router", lambda: RouterActor(Router(pools), shards))

    nodes = [to_node(shorthand.node(f"n{index}", "8c", "")) for index in range(5)]
    pods = [
        to_pod(pod) for pod in shorthand.pods("p", {"count": 4, "size": "1c", "group": "g", "node": "n1"}, "")
    ]
    await router.ask(NodeChanges(tuple(NodeChange("ADDED", node) for node in nodes)))
    await router.ask(PodChanges(tuple(PodChange("ADDED", pod) for pod in pods)))
    group = ObjectChange("ADDED", shorthand.group("g", 4, ""))
    await router.ask(ObjectChanges(PODGROUPS.full_name, (group,)))
    for resource in (PODS, NODES, PODGROUPS):
        await router.ask(Synced(resource.full_name))
    await runtime.activity.quiet()

    snapshot = collector.merge.snapshot(0.0, 0)
    assert sorted(snapshot.nodes.names) == [f"n{index}" for index in range(5)]
    assert len(snapshot.tasks) == 4
    row = snapshot.nodes.names.index("n1")
    assert snapshot.nodes.used[0, row] == 4000
    wanted = sources((each.full_name for each in (PODS, NODES, PODGROUPS)), pools)
    assert wanted <= collector.synced
    await runtime.stop()
