"""The facade: what a snapshot says of plain objects."""

from __future__ import annotations

from tests.builders import gang, node, pod, podgroup, queue
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.core.tables import MISSING, Phase, Status


def test_a_gang_becomes_a_job_with_pending_tasks_of_one_shape() -> None:
    snapshot = snapshot_of([node("n1", gpu=4), queue("default"), *gang("train", 4, gpu=1)])
    assert snapshot.jobs.names == ("default/train",)
    assert snapshot.jobs.min_available.tolist() == [4]
    assert snapshot.jobs.status[0].phase == Phase.INQUEUE
    assert len(snapshot.tasks) == 4
    assert set(snapshot.tasks.node.tolist()) == {MISSING}
    assert set(snapshot.tasks.status.tolist()) == {Status.PENDING}
    assert len(snapshot.shapes) == 1
    assert dict(snapshot.shapes[0].requests) == {"nvidia.com/gpu": 1000, "pods": 1}


def test_foreign_pods_count_on_their_node_only() -> None:
    snapshot = snapshot_of([node("n1"), pod("web", node="n1", cpu=3, scheduler="default-scheduler")])
    assert len(snapshot.tasks) == 0
    assert snapshot.space.amounts(snapshot.nodes.used[:, 0]) == {"cpu": 3000, "pods": 1}


def test_pods_without_a_podgroup_are_no_tasks() -> None:
    assert len(snapshot_of([node("n1"), pod("a", group="g"), pod("b")]).tasks) == 0


def test_a_group_whose_queue_is_missing_stays_without_queue() -> None:
    snapshot = snapshot_of([podgroup("g", queue="nowhere")])
    assert snapshot.jobs.queue.tolist() == [MISSING]
    assert snapshot.jobs.queue_names == ("nowhere",)


def test_a_deleted_object_leaves_the_snapshot() -> None:
    cache = ClusterCache()
    cache.apply([Event("ADDED", "Node", node("n1", version=3))])
    cache.apply([Event("DELETED", "Node", node("n1", version=4))])
    assert cache.snapshot(0.0, 0).nodes.names == ()
