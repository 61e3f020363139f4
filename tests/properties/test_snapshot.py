"""The snapshot is a function of the objects: no order of events, number of shards or history shows in it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.strategies import Stream, streams
from vcray.api.meta import JsonObject
from vcray.cache.assemble import Assembler, World
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.shard import as_node, as_pod
from vcray.cache.store import Event
from vcray.cache.translate import counts, node_row, pod_row
from vcray.cache.translate_cluster import CLUSTER_KINDS, cluster_row

quick = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def plainly(objects: list[JsonObject]) -> bytes:
    """The canonical snapshot of objects by the plain assembly, which shares no state with the incremental way."""
    world = World()
    for item in objects:
        kind = str(item["kind"])
        if kind == "Pod" and counts(as_pod(item), frozenset({"volcano"})):
            row = pod_row(as_pod(item))
            world.pods[row.key] = row
        elif kind == "Node":
            node = node_row(as_node(item))
            world.nodes[node.name] = node
        elif kind in CLUSTER_KINDS:
            world.knowledge.put(cluster_row(kind, item))
    return canonical(Assembler(world).snapshot(0, 0.0, 0))


def batches(data: st.DataObject, events: list[Event]) -> list[list[Event]]:
    """The events cut into batches."""
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=6))
    return [events[start:end] for start, end in pairwise([0, *sorted(cuts), len(events)])]


@settings(quick, max_examples=40)
@given(streams(20), st.data())
def test_increments_equal_the_plain_assembly(stream: Stream, data: st.DataObject) -> None:
    cache = ClusterCache()
    for batch in batches(data, stream.events):
        cache.apply(batch)
    assert canonical(cache.snapshot()) == plainly(list(stream.objects.values()))


@settings(quick, max_examples=30)
@given(streams(20), st.data())
def test_delta_equals_rebuild_after_every_batch(stream: Stream, data: st.DataObject) -> None:
    cache = ClusterCache()
    for batch in batches(data, stream.events):
        cache.apply(batch)
        incremental = canonical(cache.snapshot())
        if data.draw(st.booleans()):
            cache.merge.rebuild()
            assert canonical(cache.snapshot()) == incremental


@settings(quick, max_examples=30)
@given(streams(20), st.data(), st.sampled_from([1, 2, 7]))
def test_any_event_order_gives_one_snapshot(stream: Stream, data: st.DataObject, pools: int) -> None:
    doubled = [*stream.events, *data.draw(st.lists(st.sampled_from(stream.events), max_size=10))]
    shuffled = data.draw(st.permutations(doubled))
    cache = ClusterCache(pools=pools)
    for batch in batches(data, shuffled):
        cache.apply(batch)
    assert canonical(cache.snapshot()) == plainly(list(stream.objects.values()))
