"""The snapshot is a function of the objects: no order of events, number of shards or history shows in it."""

from __future__ import annotations

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cache.assembly import Assembler, World
from tests.strategies import Stream, stream, streams
from vcray.api.meta import JsonObject
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.delta import pack, unpack
from vcray.cache.keeps import Keeps
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard, Router, as_node, as_pod
from vcray.cache.store import Event
from vcray.cache.translate import node_row, pod_row
from vcray.cache.translate_cluster import CLUSTER_KINDS, cluster_row
from vcray.core.decisions import Bind, Commit
from vcray.core.tables import Status

seeds = st.integers(0, 2**32)
quick = settings(deadline=None, max_examples=60)


def plainly(objects: list[JsonObject]) -> bytes:
    """The canonical snapshot of objects by the plain assembly, which shares no state with the incremental way."""
    world = World()
    for item in objects:
        kind = str(item["kind"])
        if kind == "Pod" and Keeps().pod(as_pod(item)):
            row = pod_row(as_pod(item))
            world.pods[row.key] = row
        elif kind == "Node":
            node = node_row(as_node(item))
            world.nodes[node.name] = node
        elif kind in CLUSTER_KINDS:
            world.knowledge.put(cluster_row(kind, item))
    return canonical(Assembler(world).snapshot(0, 0.0, 0))


def batches(events: list[Event], random: Random) -> list[list[Event]]:
    """The events cut into batches of one to eight."""
    found, rest = [], list(events)
    while rest:
        size = random.randint(1, 8)
        found.append(rest[:size])
        rest = rest[size:]
    return found


@quick
@given(streams(), seeds)
def test_increments_equal_the_plain_assembly(stream: Stream, seed: int) -> None:
    cache, random = ClusterCache(), Random(seed)
    for batch in batches(stream.events, random):
        cache.apply(batch)
        if random.random() < 0.3:
            cache.snapshot()
    assert canonical(cache.snapshot()) == plainly(list(stream.objects.values()))


@quick
@given(streams(), seeds)
def test_delta_equals_rebuild(stream: Stream, seed: int) -> None:
    cache, random = ClusterCache(), Random(seed)
    for batch in batches(stream.events, random):
        cache.apply(batch)
        if random.random() < 0.3:
            incremental = canonical(cache.snapshot())
            random.choice([cache.merge.rebuild, cache.merge.compact])()
            assert canonical(cache.snapshot()) == incremental


@quick
@given(streams(), seeds, st.sampled_from([1, 2, 7]))
@example(stream(1375481, 40), 1, 1).via(
    "a claim that names its volume came before it, and the volume named no claim"
)
def test_any_event_order_gives_one_snapshot(stream: Stream, seed: int, pools: int) -> None:
    random = Random(seed)
    shuffled = [*stream.events, *random.choices(stream.events, k=8)]
    random.shuffle(shuffled)
    cache = ClusterCache(pools=pools)
    for batch in batches(shuffled, random):
        cache.apply(batch)
    assert canonical(cache.snapshot()) == plainly(list(stream.objects.values()))


@quick
@given(streams(), seeds)
def test_deltas_may_cross_a_process_late_twice_and_out_of_order(stream: Stream, seed: int) -> None:
    random, router, merge = Random(seed), Router(2), Merge()
    shards = [CacheShard(number) for number in range(3)]
    sent = []
    for event in stream.events:
        for number, routed in router.route(event):
            sent.append(pack(shards[number].apply([routed])))
    random.shuffle(sent)
    for data in [*sent, *random.choices(sent, k=5)]:
        merge.apply(unpack(data))
    assert canonical(merge.snapshot(0.0, 0)) == plainly(list(stream.objects.values()))


@quick
@given(streams(), seeds)
def test_a_merge_that_lost_its_place_is_made_whole_by_full_deltas(stream: Stream, seed: int) -> None:
    random, router, merge = Random(seed), Router(2), Merge()
    shards = [CacheShard(number) for number in range(3)]
    for event in stream.events:
        for number, routed in router.route(event):
            delta = shards[number].apply([routed])
            if random.random() < 0.5:
                merge.apply(delta)
    for shard in shards:
        merge.apply(unpack(pack(shard.full())))
    assert canonical(merge.snapshot(0.0, 0)) == plainly(list(stream.objects.values()))


@quick
@given(streams(), seeds)
def test_assuming_and_forgetting_leaves_no_trace(stream: Stream, seed: int) -> None:
    cache, random = ClusterCache(), Random(seed)
    cache.apply(stream.events)
    before = cache.snapshot()
    whole = canonical(before)
    waiting = [row for row in range(len(before.tasks)) if before.tasks.status[row] == Status.PENDING]
    nodes = [*before.nodes.names, "gone"]
    binds = tuple(
        Bind(before.tasks.names[row], before.tasks.uids[row], random.choice(nodes)) for row in waiting
    )
    cache.merge.assume([Commit("job", binds, True)], 0.0)
    after = cache.snapshot()
    assert sum(after.tasks.status == Status.BINDING) == len(waiting)
    incremental = canonical(after)
    random.choice([cache.merge.rebuild, cache.merge.compact])()
    assert canonical(cache.snapshot()) == incremental
    cache.merge.forget(bind.uid for bind in binds)
    assert canonical(cache.snapshot()) == whole
    assert canonical(before) == whole


@quick
@given(streams(), seeds)
def test_one_shard_may_hold_every_kind(stream: Stream, seed: int) -> None:
    shard, merge = CacheShard(), Merge()
    for batch in batches(stream.events, Random(seed)):
        merge.apply(shard.apply(batch))
    assert canonical(merge.snapshot(0.0, 0)) == plainly(list(stream.objects.values()))
