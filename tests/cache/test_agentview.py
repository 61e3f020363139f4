"""The snapshot of the agent's fast path: everybody's nodes, and as tasks only the pods that wait for it."""

from __future__ import annotations

from tests.builders import node, pod, podgroup, queue
from vcray.cache.cluster import ClusterCache
from vcray.cache.keeps import Keeps
from vcray.cache.store import Event
from vcray.core.decisions import Bind, Commit

KEEPS = Keeps(agents=frozenset({"agent-scheduler"}))


def cache_of(*objects):
    cache = ClusterCache(KEEPS)
    see(cache, *objects)
    return cache


def see(cache, *objects, kind="ADDED"):
    cache.apply(Event(kind, item["kind"], item) for item in objects)


def agent_pod(name, **given):
    return pod(name, scheduler="agent-scheduler", **given)


def test_waiting_pods_of_the_fast_path_are_tasks_there_and_nowhere_else():
    cache = cache_of(
        node("n1"), queue("default"), podgroup("g"), pod("g-0", group="g", cpu=1), agent_pod("a", cpu=2)
    )

    batch, agent = cache.snapshot(), cache.merge.agent_snapshot(0.0, 0)

    assert batch.tasks.names == ("default/g-0",)
    assert agent.tasks.names == ("default/a",)
    assert dict(agent.shapes[agent.tasks.shape[0]].requests)["cpu"] == 2000
    assert agent.jobs.names == ("/agent",)


def test_what_batch_pods_hold_is_taken_for_the_fast_path_and_the_other_way_round():
    cache = cache_of(
        node("n1", cpu=4),
        pod("b", cpu=1, node="n1", phase="Running"),
        agent_pod("a", cpu=2, node="n1", phase="Running"),
    )

    for snapshot in (cache.snapshot(), cache.merge.agent_snapshot(0.0, 0)):
        assert snapshot.nodes.used[0].tolist() == [3000]


def test_a_placement_of_the_fast_path_counts_at_once_and_until_it_is_refused():
    cache = cache_of(node("n1", cpu=4), agent_pod("a", cpu=2))
    uid = cache.merge.agent_snapshot(0.0, 0).tasks.uids[0]

    cache.merge.assume([Commit("/agent", (Bind("default/a", uid, "n1"),), False)], 0.0)

    assert cache.snapshot().nodes.used[0].tolist() == [2000]
    assert cache.merge.agent_snapshot(0.0, 0).tasks.names == ()
    cache.merge.forget([uid])
    assert cache.snapshot().nodes.used[0].tolist() == [0]
    assert cache.merge.agent_snapshot(0.0, 0).tasks.names == ("default/a",)


def test_room_that_is_being_freed_does_not_count():
    leaving = pod("old", cpu=3, node="n1", phase="Running", deleting=True)
    cache = cache_of(node("n1", cpu=4), leaving, agent_pod("a", cpu=2))

    snapshot = cache.merge.agent_snapshot(0.0, 0)

    assert snapshot.nodes.used[0].tolist() == [3000]
    assert not snapshot.nodes.releasing.any()


def test_gated_pods_and_those_left_out_are_not_there():
    cache = cache_of(node("n1"), agent_pod("gated", gates=["later"]), agent_pod("a"), agent_pod("b"))

    snapshot = cache.merge.agent_snapshot(0.0, 0, frozenset({"default/b"}))

    assert snapshot.tasks.names == ("default/a",)


def test_pods_of_the_fast_path_that_read_selectors_have_them_resolved():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    cache = cache_of(
        node("n1"),
        pod("x", labels={"app": "x"}, node="n1", phase="Running"),
        agent_pod("a", spec={"affinity": {"podAntiAffinity": anti}}),
    )

    snapshot = cache.merge.agent_snapshot(0.0, 0)

    (found,) = snapshot.shapes[snapshot.tasks.shape[0]].anti_affinity
    assert snapshot.nodes.match[found.selector].tolist() == [1]


def test_the_increments_equal_a_rebuild():
    cache = cache_of(node("n1"), agent_pod("a", cpu=1), agent_pod("b", cpu=2, gates=["x"]))
    see(cache, agent_pod("c", cpu=3), node("n2"))
    before = cache.merge.agent_snapshot(0.0, 0)

    cache.merge.rebuild()
    after = cache.merge.agent_snapshot(0.0, 0)

    def told(snapshot):
        return [
            (name, snapshot.shapes[shape])
            for name, shape in sorted(zip(snapshot.tasks.names, snapshot.tasks.shape.tolist(), strict=True))
        ]

    assert told(before) == told(after)


def test_numbers_given_anew_keep_the_pods_of_the_fast_path():
    cache = cache_of(node("n1"), agent_pod("a", cpu=1))

    cache.merge.compact()

    assert cache.merge.agent_snapshot(0.0, 0).tasks.names == ("default/a",)
