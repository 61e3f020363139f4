"""Each endpoint writes its own part of an object and nothing else."""

from __future__ import annotations

import pytest

from vcray.api.jsonview import dig, dig_list
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODS
from vcray.clock import ManualClock
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
POD: JsonObject = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "one", "resources": {"requests": {"cpu": "1"}}}]},
}


@pytest.fixture
def store() -> Store:
    store = Store(ManualClock())
    store.create(PODS, "default", POD | {})
    return store


def patched(store: Store, subresource: str, patch: JsonObject, how: str = MERGE) -> JsonObject:
    return store.patch(PODS, "default", "p", patch, how, Write(subresource=subresource)).decode()


def test_a_write_of_the_status_leaves_the_spec_alone(store: Store) -> None:
    pod = patched(store, "status", {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}})

    assert dig(pod, "status", "phase") == "Running"
    assert dig(pod, "spec", "nodeName") is None


def test_ephemeral_containers_come_by_their_own_endpoint_and_stay(store: Store) -> None:
    debugger: JsonObject = {"name": "debug", "image": "tools"}
    patched(store, "ephemeralcontainers", {"spec": {"ephemeralContainers": [debugger]}})
    pod = patched(store, "", {"metadata": {"labels": {"a": "b"}}})

    assert dig(pod, "spec", "ephemeralContainers", 0, "name") == "debug"


def test_a_resize_changes_resources_and_no_image(store: Store) -> None:
    wanted: JsonObject = {"name": "c", "image": "two", "resources": {"requests": {"cpu": "2"}}}
    pod = patched(store, "resize", {"spec": {"containers": [wanted]}}, STRATEGIC)

    assert dig(pod, "spec", "containers", 0, "resources", "requests", "cpu") == "2"
    assert dig(pod, "spec", "containers", 0, "image") == "one"


def test_the_finalizers_of_a_namespace_are_written_by_finalize_alone(store: Store) -> None:
    store.create(NAMESPACES, "", {"metadata": {"name": "n"}})
    kept = store.patch(NAMESPACES, "", "n", {"spec": {"finalizers": []}}, MERGE).decode()
    freed = store.patch(
        NAMESPACES, "", "n", {"spec": {"finalizers": []}}, MERGE, Write(subresource="finalize")
    ).decode()

    assert dig_list(kept, "spec", "finalizers") == ["kubernetes"]
    assert dig_list(freed, "spec", "finalizers") == []
