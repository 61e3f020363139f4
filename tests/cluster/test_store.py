"""The store beyond what the conformance tests ask of any server: determinism, history, limits of paging."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NAMESPACES, PODS
from vcray.clock import ManualClock
from vcray.cluster import Store
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.record import Change, StoredEvent
from vcray.cluster.objects.storage import Storage
from vcray.cluster.objects.store import Selection
from vcray.kube.errors import BadRequest, Conflict, Forbidden, Gone, NotFound

POD: JsonObject = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
MERGE = "application/merge-patch+json"


def config_map(name: str, **metadata: object) -> JsonObject:
    return {"metadata": {"name": name, **metadata}}  # type: ignore[dict-item]


def story(seed: int) -> list[bytes]:
    """A fixed sequence of writes; the bodies it leaves."""
    clock = ManualClock()
    store = Store(clock, seed=seed)
    for number in range(3):
        store.create(PODS, "default", {"metadata": {"generateName": "p-"}, **POD})
        clock.advance(1.5)
        store.create(CONFIGMAPS, "default", config_map(f"c{number}"))
    return [record.body for resource in (PODS, CONFIGMAPS) for record in store.storage.scan(resource)]


def test_the_same_writes_leave_the_same_bytes() -> None:
    assert story(1) == story(1)


def test_another_seed_gives_other_identities() -> None:
    assert story(1) != story(2)


def test_times_come_from_the_clock() -> None:
    store = Store(ManualClock(1_700_000_000))

    made = store.create(CONFIGMAPS, "default", config_map("a")).decode()

    assert made["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"  # type: ignore[index,call-overload]


def test_a_history_holds_its_number_of_changes_and_no_more() -> None:
    store = Store(ManualClock(), history=3)
    start = store.storage.version
    for number in range(4):
        store.create(CONFIGMAPS, "default", config_map(f"c{number}"))

    with pytest.raises(Gone, match="too old resource version"):
        store.storage.since(CONFIGMAPS, start)
    assert [event.record.name for event in store.storage.since(CONFIGMAPS, start + 1)] == ["c1", "c2", "c3"]


def test_changes_of_one_kind_do_not_push_out_anothers() -> None:
    store = Store(ManualClock(), history=3)
    start = store.storage.version
    store.create(CONFIGMAPS, "default", config_map("a"))
    for number in range(9):
        store.create(PODS, "default", {"metadata": {"name": f"p{number}"}, **POD})

    assert [event.change for event in store.storage.since(CONFIGMAPS, start)] == [Change.ADDED]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["put", "delete"])), max_size=25), st.data()
)
def test_a_list_at_an_earlier_version_shows_what_was_there_then(
    steps: list[tuple[str, str]], data: st.DataObject
) -> None:
    storage = Storage()
    shown: dict[int, list[tuple[str, bytes]]] = {0: []}
    for name, what in steps:
        record = storage.get(CONFIGMAPS, "ns", name)
        if what == "put":
            storage.put(CONFIGMAPS, {"metadata": {"name": name, "namespace": "ns", "uid": name}})
        elif record is not None:
            storage.remove(record, record.decode())
        shown[storage.version] = [(item.name, item.body) for item in storage.scan(CONFIGMAPS)]

    version = data.draw(st.sampled_from(sorted(shown)))

    assert [(item.name, item.body) for item in storage.scan_at(CONFIGMAPS, version)] == shown[version]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(0, 20))
def test_pages_put_together_are_the_whole_list(limit: int, count: int) -> None:
    store = Store(ManualClock())
    for number in range(count):
        store.create(CONFIGMAPS, "default", config_map(f"c{number:02}"))

    names: list[str] = []
    page = store.list(CONFIGMAPS, Selection("default", limit=limit))
    while True:
        names += [record.name for record in page.records]
        assert page.remaining == count - len(names)
        if not page.token:
            break
        page = store.list(CONFIGMAPS, Selection("default", limit=limit, token=page.token))

    assert names == [f"c{number:02}" for number in range(count)]


def test_a_page_token_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequest, match="continue key is not valid"):
        Store(ManualClock()).list(CONFIGMAPS, Selection(token="nonsense"))


def test_a_failed_write_leaves_nothing_behind() -> None:
    store = Store(ManualClock())
    store.create(CONFIGMAPS, "default", config_map("a"))
    events: list[StoredEvent] = []
    store.storage.listen(events.append)
    version = store.storage.version

    with pytest.raises(Conflict):
        store.delete(CONFIGMAPS, "default", "a", DeleteOptions(uid="other"))
    with pytest.raises(NotFound):
        store.patch(CONFIGMAPS, "default", "none", {}, MERGE)
    store.create(CONFIGMAPS, "default", config_map("b"))

    assert [event.record.name for event in events] == ["b"]
    assert store.storage.version == version + 1


def test_nothing_new_enters_a_namespace_that_is_ending() -> None:
    store = Store(ManualClock())
    store.create(NAMESPACES, "", config_map("old"))
    store.create(CONFIGMAPS, "old", config_map("held", finalizers=["example.com/x"]))
    store.delete(NAMESPACES, "", "old")

    with pytest.raises(Forbidden, match="because it is being terminated"):
        store.create(CONFIGMAPS, "old", config_map("new"))
    store.patch(CONFIGMAPS, "old", "held", {"metadata": {"finalizers": None}}, MERGE)

    with pytest.raises(NotFound):
        store.read(NAMESPACES, "", "old")


def test_a_chain_of_owners_falls_as_a_whole() -> None:
    store = Store(ManualClock())
    uid = ""
    for name in ("a", "b", "c"):
        owners: list[JsonObject] = (
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": uid}] if uid else []
        )
        uid = store.create(CONFIGMAPS, "default", config_map(name, ownerReferences=owners)).uid

    store.delete(CONFIGMAPS, "default", "a")

    assert list(store.storage.scan(CONFIGMAPS)) == []


def test_an_object_with_another_living_owner_only_loses_the_reference() -> None:
    store = Store(ManualClock())
    owners = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": name,
            "uid": store.create(CONFIGMAPS, "default", config_map(name)).uid,
        }
        for name in ("one", "two")
    ]
    store.create(CONFIGMAPS, "default", config_map("owned", ownerReferences=owners))

    store.delete(CONFIGMAPS, "default", "one")

    left = store.read(CONFIGMAPS, "default", "owned").decode()
    assert left["metadata"]["ownerReferences"] == [owners[1]]  # type: ignore[index,call-overload]


def test_an_owner_of_a_kind_that_is_not_served_keeps_what_it_owns() -> None:
    store = Store(ManualClock())
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "r", "uid": "u"}

    store.create(CONFIGMAPS, "default", config_map("owned", ownerReferences=[owner]))

    assert store.read(CONFIGMAPS, "default", "owned")


def test_listeners_hear_every_change_once_and_in_order() -> None:
    store = Store(ManualClock())
    heard: list[tuple[str, int]] = []
    stop = store.storage.listen(lambda event: heard.append((str(event.change), event.version)))

    store.create(CONFIGMAPS, "default", config_map("a"))
    store.patch(CONFIGMAPS, "default", "a", {"data": {"x": "1"}}, MERGE)
    store.delete(CONFIGMAPS, "default", "a")
    stop()
    store.create(CONFIGMAPS, "default", config_map("b"))

    assert [change for change, _ in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert [version for _, version in heard] == sorted({version for _, version in heard})
