"""Shards and routing."""

from __future__ import annotations

import pytest

from tests.builders import gang, node, pod, queue
from vcray.cache.delta import DeltaError, pack, unpack
from vcray.cache.shard import CacheShard, Router, pool_of
from vcray.cache.store import Event


def _added(kind: str, item: dict[str, object]) -> Event:
    return Event("ADDED", kind, item)  # type: ignore[arg-type]


def test_a_heartbeat_is_no_change() -> None:
    shard = CacheShard()
    assert shard.apply([_added("Node", node("n1", version=1))])
    assert not shard.apply([Event("MODIFIED", "Node", node("n1", version=2))])


def test_other_schedulers_pods_count_only_once_they_have_a_node() -> None:
    shard = CacheShard()
    assert not shard.apply([_added("Pod", pod("a", scheduler="default-scheduler"))])
    assert shard.apply([_added("Pod", pod("a", scheduler="default-scheduler", node="n1"))]).keys == (
        "default/a",
    )


def test_an_object_that_cannot_be_read_is_named_and_the_rest_goes_on() -> None:
    delta = CacheShard().apply([_added("Pod", pod("bad", cpu="lots")), _added("Pod", pod("good"))])
    assert delta.keys == ("default/good",)
    assert [(kind, key) for kind, key, _ in delta.refused] == [("Pod", "default/bad")]
    assert "'lots' is not a quantity" in delta.refused[0][2]


def test_a_delta_survives_the_wire() -> None:
    events = [_added(str(item["kind"]), item) for item in (node("n1"), queue("q"), *gang("a", 3, gpu=1))]
    delta = CacheShard().apply(events)
    again = unpack(pack(delta))
    assert pack(again) == pack(delta)
    assert (again.values == delta.values).all()
    assert again.forms == delta.forms


def test_a_delta_of_another_version_is_refused() -> None:
    with pytest.raises(DeltaError, match="schema 99, this process reads 4"):
        unpack(b"\x91\x63")
    with pytest.raises(DeltaError, match="not a delta"):
        unpack(b"\xc1")


def test_members_of_a_gang_wait_in_one_shard_and_then_join_their_node() -> None:
    router = Router(7)
    waiting = {router.route(_added("Pod", pod(f"w{i}", group="g", version=1)))[0][0] for i in range(20)}
    assert len(waiting) == 1
    home = router.route(_added("Node", node("n1", version=2)))[0][0]
    moves = router.route(Event("MODIFIED", "Pod", pod("w0", group="g", node="n1", version=3)))
    assert moves[-1][0] == home == pool_of("n1", "", 7)
    assert [event.type for _, event in moves] == (
        ["MODIFIED"] if waiting == {home} else ["MOVED", "MODIFIED"]
    )


def test_nodes_of_one_pool_label_share_a_shard() -> None:
    router = Router(7)
    labels = {"vcray.io/node-pool": "a100"}
    assert len({router.route(_added("Node", node(f"n{i}", labels=labels)))[0][0] for i in range(20)}) == 1
    assert len({router.route(_added("Node", node(f"m{i}")))[0][0] for i in range(50)}) > 1


def test_what_is_older_than_the_last_word_goes_nowhere() -> None:
    router = Router(2)
    router.route(_added("Pod", pod("a", version=5)))
    assert router.route(_added("Pod", pod("a", version=4))) == ()


def test_kinds_of_no_concern_go_nowhere() -> None:
    assert Router(2).route(Event("ADDED", "Secret", {"kind": "Secret", "metadata": {"name": "x"}})) == ()
