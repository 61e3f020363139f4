"""Which objects a cache is for: names of schedulers, labels of nodes, its share among several."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.cache.cluster import ClusterCache
from vcray.cache.keeps import Keeps, node_selector
from vcray.cache.ring import Ring
from vcray.cache.store import Event


def snapshot(keeps, *objects):
    cache = ClusterCache(keeps)
    cache.apply(Event("ADDED", item["kind"], item) for item in objects)
    return cache.snapshot()


def names_of(ring, owned, count=3):
    """The first names that hash to this replica, or to another."""
    names = (f"x{number}" for number in range(1000))
    return [name for name in names if ring.owns(name) is owned][:count]


RING = Ring.of("vc-0", "2")
SHARED = Keeps(ring=RING)


def test_only_nodes_that_hash_to_the_replica_are_there():
    ours, others = names_of(RING, True), names_of(RING, False)

    found = snapshot(SHARED, *(node(name) for name in (*ours, *others)))

    assert sorted(found.nodes.names) == sorted(ours)


def test_podgroups_go_by_their_own_name_or_by_that_of_their_first_owner():
    (ours, _, _), (other, _, _) = names_of(RING, True), names_of(RING, False)
    adopted = podgroup("g")
    adopted["metadata"]["name"] = other
    adopted["metadata"]["ownerReferences"] = [{"kind": "Job", "name": ours}, {"kind": "Job", "name": other}]

    found = snapshot(SHARED, queue("default"), podgroup(ours), adopted, podgroup(names_of(RING, False)[1]))

    assert sorted(found.jobs.names) == sorted([f"default/{ours}", f"default/{other}"])


def test_a_pod_of_another_replica_counts_only_on_a_node_of_ours():
    ours, others = names_of(RING, True), names_of(RING, False)
    here = pod(others[0], cpu=1, node=ours[0], phase="Running")
    there = pod(others[1], cpu=1, node=others[2], phase="Running")

    found = snapshot(SHARED, node(ours[0]), here, there)

    assert found.nodes.used[0].tolist() == [1000]


def test_a_waiting_pod_of_another_replica_is_not_seen():
    (ours, *_), (other, *_) = names_of(RING, True), names_of(RING, False)

    found = snapshot(SHARED, queue("default"), podgroup(ours), pod(ours, group=ours), pod(other, group=ours))

    assert found.tasks.names == (f"default/{ours}",)


def test_nodes_need_one_of_the_selected_labels():
    keeps = Keeps(nodes=node_selector(["pool:a", "pool:b"]))

    found = snapshot(
        keeps,
        node("n1", labels={"pool": "a"}),
        node("n2", labels={"pool": "b"}),
        node("n3", labels={"pool": "c"}),
    )

    assert sorted(found.nodes.names) == ["n1", "n2"]


def test_a_node_whose_label_stops_matching_stays_as_it_was_last_seen():
    cache = ClusterCache(Keeps(nodes=node_selector(["pool:a"])))
    cache.apply([Event("ADDED", "Node", node("n1", cpu=4, labels={"pool": "a"}))])

    cache.apply([Event("MODIFIED", "Node", node("n1", cpu=8, labels={"pool": "z"}))])

    assert cache.snapshot().nodes.allocatable[0].tolist() == [4000]


@pytest.mark.parametrize("entry", ["", "pool", "pool:", ":a", "a:b:c"])
def test_malformed_entries_of_the_node_selector_are_dropped(entry):
    assert node_selector([entry]) == ()
    assert node_selector([entry, "pool:a"]) == (("pool", "a"),)
