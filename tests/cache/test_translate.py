"""Objects -> rows."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.api.quantity import QuantityError
from vcray.api.wire import to_node, to_pod
from vcray.cache.rows import GroupRow, QueueRow
from vcray.cache.translate import node_row, pod_row
from vcray.cache.translate_cluster import cluster_row
from vcray.core.tables import Phase, QueueState


def test_oversubscription_adds_to_allocatable_but_not_to_the_kubernetes_reading() -> None:
    notes = {"volcano.sh/oversubscription-cpu": "1500.7", "volcano.sh/oversubscription-memory": "many"}
    row = node_row(to_node(node("n1", cpu=2, annotations=notes)))
    assert dict(row.allocatable)["cpu"] == 3500
    assert dict(row.kube_allocatable)["cpu"] == 2000
    assert dict(row.allocatable)["memory"] == dict(row.kube_allocatable)["memory"]


def test_a_node_without_ready_condition_counts_as_ready() -> None:
    item = node("n1")
    item["status"] = {"allocatable": {"cpu": "1"}}
    assert node_row(to_node(item)).ready
    assert not node_row(to_node(node("n1", ready=False))).ready


def test_a_large_init_container_and_overhead_count() -> None:
    spec = {
        "initContainers": [
            {"name": "setup", "resources": {"requests": {"cpu": "6"}}},
            {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
        ],
        "overhead": {"cpu": "250m"},
    }
    row = pod_row(to_pod(pod("a", cpu="100m", spec=spec)))
    assert dict(row.form.requests)["cpu"] == 6250


def test_a_bad_quantity_is_an_error() -> None:
    with pytest.raises(QuantityError):
        pod_row(to_pod(pod("a", cpu="lots")))


def test_a_pod_group_without_status_or_queue_gets_the_defaults() -> None:
    item = podgroup("g", 3)
    item["spec"] = {"minMember": 3}
    del item["status"]
    row = cluster_row("PodGroup", item)
    assert isinstance(row, GroupRow)
    assert (row.queue, row.status.phase, row.min_resources, row.preemptable) == (
        "default",
        Phase.EMPTY,
        None,
        False,
    )


def test_quota_style_names_in_min_resources_drop_out() -> None:
    row = cluster_row("PodGroup", podgroup("g", min_resources={"cpu": 2, "requests.cpu": 5, "count/pods": 4}))
    assert isinstance(row, GroupRow)
    assert row.min_resources == (("cpu", 2000),)


def test_reclaimable_is_true_unless_said_otherwise() -> None:
    for said, expected in ((None, True), (True, True), (False, False)):
        row = cluster_row("Queue", queue("q", reclaimable=said))
        assert isinstance(row, QueueRow)
        assert row.reclaimable is expected


def test_an_unknown_queue_state_is_unknown() -> None:
    row = cluster_row("Queue", queue("q", state="Ajar"))
    assert isinstance(row, QueueRow)
    assert row.state == QueueState.UNKNOWN


def test_an_absurd_amount_is_bounded_so_that_sums_cannot_wrap() -> None:
    row = cluster_row("PodGroup", podgroup("g", min_resources={"memory": "9E", "cpu": "9E"}))
    assert isinstance(row, GroupRow)
    assert row.min_resources == (("cpu", 2**50), ("memory", 2**50))
    assert dict(pod_row(to_pod(pod("a", memory="9E"))).form.requests)["memory"] == 2**50
