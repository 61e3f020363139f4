"""The collector in slices: the end of an owner of many keeps nobody waiting, and everything goes in the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NAMESPACES
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.garbage import SLICE, Collector
from vcray.cluster.objects.store import Store

MERGE = "application/merge-patch+json"


class Loop:
    """Collects what is called soon."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def run(self) -> int:
        """Call everything, and what that asks for; the number of calls."""
        count = 0
        while self.soon:
            self.soon.popleft()()
            count += 1
        return count


def world() -> tuple[Store, Collector, Loop]:
    store, loop = Store(), Loop()
    collector = store.removal.collector
    assert collector is not None
    collector.defer(loop.call_soon)
    return store, collector, loop


def create(store: Store, name: str, owner: str = "", namespace: str = "default") -> str:
    metadata: JsonObject = {"name": name}
    if owner:
        reference: JsonObject = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": owner,
            "blockOwnerDeletion": True,
        }
        metadata["ownerReferences"] = [reference]
    return store.create(CONFIGMAPS, namespace, {"metadata": metadata}).uid


def count(store: Store, namespace: str = "default") -> int:
    return len(list(store.storage.scan(CONFIGMAPS, namespace)))


def test_many_dependents_go_in_slices_behind_the_delete() -> None:
    store, collector, loop = world()
    owner = create(store, "owner")
    for number in range(5 * SLICE):
        create(store, f"d-{number}", owner)

    store.delete(CONFIGMAPS, "default", "owner")

    assert count(store) == 5 * SLICE
    assert loop.run() >= 5
    assert count(store) == 0
    assert collector.idle


def test_owner_in_the_foreground_goes_after_its_last_dependent() -> None:
    store, _, loop = world()
    owner = create(store, "owner")
    for number in range(2 * SLICE):
        create(store, f"d-{number}", owner)

    store.delete(CONFIGMAPS, "default", "owner", DeleteOptions(propagation="Foreground"))
    assert store.storage.get(CONFIGMAPS, "default", "owner") is not None
    loop.run()

    order = [event.record.name for event in store.storage.since(CONFIGMAPS, 0) if event.change == "DELETED"]
    assert order[-1] == "owner"
    assert len(order) == 2 * SLICE + 1


def test_dependent_that_is_made_while_its_owner_goes_in_the_foreground_goes_too() -> None:
    store, _, loop = world()
    owner = create(store, "owner")
    create(store, "held", owner)
    store.patch(CONFIGMAPS, "default", "held", {"metadata": {"finalizers": ["example.com/held"]}}, MERGE)
    store.delete(CONFIGMAPS, "default", "owner", DeleteOptions(propagation="Foreground"))
    loop.run()

    create(store, "late", owner)
    loop.run()
    assert store.storage.get(CONFIGMAPS, "default", "late") is None
    store.patch(CONFIGMAPS, "default", "held", {"metadata": {"finalizers": []}}, MERGE)
    loop.run()

    assert count(store) == 0


def test_orphans_are_freed_in_slices() -> None:
    store, _, loop = world()
    owner = create(store, "owner")
    for number in range(2 * SLICE):
        create(store, f"d-{number}", owner)

    store.delete(CONFIGMAPS, "default", "owner", DeleteOptions(propagation="Orphan"))
    loop.run()

    assert count(store) == 2 * SLICE
    assert all(not record.owners for record in store.storage.scan(CONFIGMAPS, "default"))


def test_namespace_empties_itself_in_slices() -> None:
    store, _, loop = world()
    store.create(NAMESPACES, "", {"metadata": {"name": "full"}})
    for number in range(3 * SLICE):
        create(store, f"d-{number}", namespace="full")

    store.delete(NAMESPACES, "", "full")

    assert store.storage.get(NAMESPACES, "", "full") is not None
    loop.run()
    assert store.storage.get(NAMESPACES, "", "full") is None
    assert count(store, "full") == 0


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
def test_what_was_under_way_goes_on_after_a_restart(propagation: str) -> None:
    store, _, loop = world()
    owner = create(store, "owner")
    create(store, "d", owner)
    store.delete(CONFIGMAPS, "default", "owner", DeleteOptions(propagation=propagation))
    loop.soon.clear()  # the process ends here
    again = Collector(store.storage, store.catalog, store, store.clock.now)

    again.recover()

    assert count(store) == 0
    assert again.idle
