"""The merge: node sums, placements in flight, tables that never change once handed out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import gang, node, pod, podgroup, queue
from vcray.api.meta import JsonObject
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event
from vcray.core.decisions import Bind, Commit
from vcray.core.tables import MISSING, Status


def _cache(*objects: JsonObject, **options: float) -> ClusterCache:
    cache = ClusterCache(**options)  # type: ignore[arg-type]
    _apply(cache, *objects)
    return cache


def _apply(cache: ClusterCache, *objects: JsonObject, kind: str = "ADDED") -> None:
    cache.apply(Event(kind, str(item["kind"]), item) for item in objects)


def _used(cache: ClusterCache, name: str) -> dict[str, int]:
    snapshot = cache.snapshot()
    return snapshot.space.amounts(snapshot.nodes.used[:, snapshot.nodes.names.index(name)])


def test_a_node_that_shrinks_keeps_what_runs_on_it() -> None:
    cache = _cache(node("n1", gpu=8, version=1), pod("a", gpu=8, node="n1", version=2))
    _apply(cache, node("n1", gpu=6, labels={"touched": "yes"}, version=3))
    assert _used(cache, "n1")["nvidia.com/gpu"] == 8000


def test_a_node_made_again_carries_the_pods_that_never_left() -> None:
    cache = _cache(node("n1", version=1), pod("a", cpu=2, node="n1", version=2))
    _apply(cache, node("n1", version=3), kind="DELETED")
    assert cache.snapshot().nodes.names == ()
    _apply(cache, node("n1", version=4))
    assert _used(cache, "n1")["cpu"] == 2000


def test_a_node_comes_back_ready() -> None:
    cache = _cache(node("n1", ready=False, version=1))
    assert cache.snapshot().nodes.ready.tolist() == [False]
    _apply(cache, node("n1", version=2))
    assert cache.snapshot().nodes.ready.tolist() == [True]


def test_pods_on_unknown_nodes_are_listed_without_a_node() -> None:
    tasks = _cache(podgroup("g"), pod("a", group="g", node="nowhere")).snapshot().tasks
    assert (tasks.status.tolist(), tasks.node.tolist()) == ([Status.RUNNING], [MISSING])


def test_terminating_pods_are_used_and_releasing_and_ended_ones_neither() -> None:
    cache = _cache(
        node("n1"),
        pod("leaving", cpu=1, node="n1", deleting=True),
        pod("ended", cpu=2, node="n1", phase="Succeeded"),
        pod("running", cpu=4, node="n1"),
    )
    nodes = cache.snapshot().nodes
    assert (nodes.used[0, 0], nodes.releasing[0, 0]) == (5000, 1000)


def test_pods_become_tasks_when_their_group_comes_and_cease_when_it_goes() -> None:
    cache = _cache(node("n1"), pod("a", group="g", cpu=1, node="n1"))
    assert len(cache.snapshot().tasks) == 0
    _apply(cache, podgroup("g"))
    assert cache.snapshot().tasks.names == ("default/a",)
    _apply(cache, podgroup("g"), kind="DELETED")
    assert len(cache.snapshot().tasks) == 0
    assert _used(cache, "n1")["cpu"] == 1000


def test_a_snapshot_handed_out_never_changes() -> None:
    cache = _cache(node("n1", version=1), queue("default", version=2), *gang("g", 3, cpu=1))
    first = cache.snapshot()
    before = canonical(first)
    _apply(
        cache,
        node("n2"),
        pod("x", cpu=5, node="n1"),
        podgroup("g", 2),
        pod("g-worker-0", group="g", node="n2"),
    )
    cache.merge.rebuild()
    assert canonical(first) == before
    for array in (
        first.nodes.used,
        first.nodes.match,
        first.tasks.status,
        first.jobs.queue,
        first.queues.weight,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_generation_counts_snapshots_that_differ_whatever_the_number_of_shards() -> None:
    for pools in (1, 7):
        cache = ClusterCache(pools=pools)
        _apply(cache, node("n1", version=1), *gang("g", 5, cpu=1), queue("default", version=2))
        assert [cache.snapshot().generation, cache.snapshot().generation] == [1, 1]
        _apply(cache, node("n2", version=3))
        assert cache.snapshot().generation == 2


def test_one_delta_may_bring_a_resource_a_group_and_its_pods() -> None:
    group = podgroup("g", min_resources={"example.com/x": 1})
    events = [Event("ADDED", str(item["kind"]), item) for item in (node("n1"), group, pod("a", group="g"))]
    merge = Merge()
    merge.apply(CacheShard().apply(events))
    assert merge.snapshot(0.0, 0).tasks.names == ("default/a",)


def _assume(cache: ClusterCache, name: str, target: str, now: float = 0.0) -> None:
    tasks = cache.snapshot().tasks
    uid = tasks.uids[tasks.names.index(name)]
    cache.merge.assume([Commit("default/g", (Bind(name, uid, target),), True)], now)


def _status(cache: ClusterCache, name: str) -> Status:
    tasks = cache.snapshot().tasks
    return Status(int(tasks.status[tasks.names.index(name)]))


def _gang_on_one_node() -> ClusterCache:
    return _cache(node("n1", version=1), *gang("g", 2, cpu=1))


def test_an_assumed_placement_counts_until_the_watch_confirms_it() -> None:
    cache = _gang_on_one_node()
    _assume(cache, "default/g-worker-0", "n1")
    assert _status(cache, "default/g-worker-0") == Status.BINDING
    assert _used(cache, "n1")["cpu"] == 1000
    _apply(cache, pod("g-worker-0", group="g", cpu=1, node="n1"))
    assert _status(cache, "default/g-worker-0") == Status.RUNNING
    assert _used(cache, "n1")["cpu"] == 1000
    assert cache.merge.expire(1e9) == ()


def test_an_assumed_placement_stays_counted_on_a_node_that_shrinks() -> None:
    cache = _gang_on_one_node()
    _assume(cache, "default/g-worker-0", "n1")
    _apply(cache, node("n1", cpu=0, version=9))
    assert _status(cache, "default/g-worker-0") == Status.BINDING
    assert _used(cache, "n1")["cpu"] == 1000


def test_an_update_without_a_node_does_not_undo_a_placement_in_flight() -> None:
    cache = _gang_on_one_node()
    _assume(cache, "default/g-worker-0", "n1")
    _apply(cache, pod("g-worker-0", group="g", cpu=1, annotations={"note": "new"}))
    assert _status(cache, "default/g-worker-0") == Status.BINDING


def test_a_refused_placement_is_forgotten() -> None:
    cache = _gang_on_one_node()
    before = canonical(cache.snapshot())
    _assume(cache, "default/g-worker-0", "n1")
    cache.merge.forget(["uid-pod-default-g-worker-0"])
    assert canonical(cache.snapshot()) == before


def test_an_unconfirmed_placement_expires() -> None:
    cache = _gang_on_one_node()
    _assume(cache, "default/g-worker-0", "n1", now=100.0)
    assert cache.merge.expire(129.0) == ()
    assert cache.merge.expire(130.0) == ("uid-pod-default-g-worker-0",)
    assert _status(cache, "default/g-worker-0") == Status.PENDING


def test_a_pod_made_again_under_the_name_is_not_covered_by_the_old_placement() -> None:
    cache = _gang_on_one_node()
    _assume(cache, "default/g-worker-0", "n1")
    again = pod("g-worker-0", group="g", cpu=1)
    again["metadata"]["uid"] = "another"  # type: ignore[index, call-overload]
    _apply(cache, again)
    assert _status(cache, "default/g-worker-0") == Status.PENDING
    assert _used(cache, "n1") == {}


def test_placements_of_pods_that_are_gone_are_passed_over() -> None:
    cache = _gang_on_one_node()
    cache.merge.assume([Commit("default/g", (Bind("default/nobody", "u", "n1"),), True)], 0.0)
    assert _used(cache, "n1") == {}


def test_gated_pods_are_summed_per_job() -> None:
    cache = _cache(podgroup("g"), pod("a", group="g", cpu=2, gates=["wait"]), pod("b", group="g", cpu=1))
    jobs, space = cache.snapshot().jobs, cache.snapshot().space
    assert space.amounts(jobs.requested_gated[:, 0]) == {"cpu": 2000, "pods": 1}


def test_topology_spread_leaves_out_pods_that_are_going_and_affinity_does_not() -> None:
    selector = {"matchLabels": {"app": "a"}}
    spec: JsonObject = {
        "topologySpreadConstraints": [
            {
                "topologyKey": "zone",
                "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ],
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": selector}
                ]
            }
        },
    }
    cache = _cache(
        node("n1"),
        podgroup("g"),
        pod("w", group="g", spec=spec),
        pod("on", labels={"app": "a"}, node="n1"),
        pod("off", labels={"app": "a"}, node="n1", deleting=True),
    )
    snapshot = cache.snapshot()
    counts = {item.living: int(snapshot.nodes.match[row, 0]) for row, item in enumerate(snapshot.selectors)}
    assert counts == {True: 1, False: 2}


def test_required_affinity_counts_pods_that_match_all_terms() -> None:
    def term(key: str, value: str) -> JsonObject:
        return {"topologyKey": "zone", "labelSelector": {"matchLabels": {key: value}}}

    rules: JsonObject = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term("app", "a"), term("tier", "x")]
        }
    }
    cache = _cache(
        node("n1"),
        podgroup("g"),
        pod("w", group="g", spec={"affinity": rules}),
        pod("half", labels={"app": "a"}, node="n1"),
        pod("both", labels={"app": "a", "tier": "x"}, node="n1"),
    )
    snapshot = cache.snapshot()
    assert len(snapshot.selectors) == 1
    assert snapshot.nodes.match[:, 0].tolist() == [1]


def test_a_selector_nobody_reads_any_more_leaves_no_trace_in_shapes() -> None:
    term: JsonObject = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
    rules: JsonObject = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cache = _cache(node("n1"), podgroup("g"), pod("x", group="g", labels={"app": "a"}, node="n1"))
    plain = canonical(cache.snapshot())
    _apply(cache, pod("w", group="g", spec={"affinity": rules}, version=5))
    assert [shape.matches for shape in cache.snapshot().shapes if shape.matches]
    _apply(cache, pod("w", group="g", version=6), kind="DELETED")
    assert canonical(cache.snapshot()) == plain


def test_images_matter_only_where_some_node_has_them() -> None:
    cache = _cache(node("n1", images={"base": 7}), podgroup("g"), pod("a", group="g", image="other"))
    assert cache.snapshot().shapes[0].images == ()
    _apply(cache, node("n2", images={"other:latest": 9}))
    snapshot = cache.snapshot()
    assert snapshot.shapes[0].images == ("other:latest",)
    nodes, sizes = snapshot.nodes.images["other:latest"]
    assert [snapshot.nodes.names[row] for row in nodes.tolist()] == ["n2"]
    assert sizes.tolist() == [9]


def test_ties_are_ranked_by_seed_and_name_alone() -> None:
    few = _cache(node("a"), node("b"), node("c"))
    other = _cache(node("c"), node("a"), node("b"))
    for seed in (0, 1, -5):
        assert np.array_equal(few.snapshot(0.0, seed).nodes.tie, other.snapshot(0.0, seed).nodes.tie)


def test_names_of_jobs_long_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcray.cache.compaction.SPARE", 100)
    cache = _cache(node("n1"), queue("default"), *gang("stays", 2, cpu=1))
    before = canonical(cache.snapshot())
    for turn in range(20):
        passing = [
            item
            for number in range(turn * 20, turn * 20 + 20)
            for item in (
                podgroup(f"job-{number}"),
                pod(f"pod-{number}", group=f"job-{number}", claims=[f"c-{number}"]),
            )
        ]
        _apply(cache, *passing)
        _apply(cache, *passing, kind="DELETED")
    assert canonical(cache.snapshot()) == before
    state = cache.merge._state
    assert len(state.strings) + state.resolver.numbered() < 100 + 4 * 60
    assert len(state.resolver.labels) < 60
