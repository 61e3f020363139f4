"""Pages of lists, versions of lists, deletions of collections."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError


def config_maps(apiserver: Server, namespace: str, count: int) -> str:
    """The path of a collection with `count` objects, every second one marked."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(count):
        labels = {"half": "even" if number % 2 == 0 else "odd"}
        apiserver.client.create(path, {"metadata": {"name": f"c{number}", "labels": labels}})
    return path


def names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_pages_show_the_list_as_it_was_when_the_first_one_was_read(apiserver: Server, namespace: str) -> None:
    path = config_maps(apiserver, namespace, 5)

    first = apiserver.client.get(f"{path}?limit=2")
    apiserver.client.create(path, {"metadata": {"name": "c9"}})
    apiserver.client.delete(f"{path}/c3")
    second = apiserver.client.get(f"{path}?limit=2&continue={first['metadata']['continue']}")
    third = apiserver.client.get(f"{path}?limit=2&continue={second['metadata']['continue']}")

    assert [names(page) for page in (first, second, third)] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
    assert "continue" not in third["metadata"]


def test_a_page_of_selected_objects_does_not_count_what_remains(apiserver: Server, namespace: str) -> None:
    path = config_maps(apiserver, namespace, 5)

    first = apiserver.client.get(f"{path}?limit=2&labelSelector=half=even")
    rest = apiserver.client.get(
        f"{path}?limit=2&labelSelector=half=even&continue={first['metadata']['continue']}"
    )

    assert names(first) + names(rest) == ["c0", "c2", "c4"]
    assert "remainingItemCount" not in first["metadata"]


def test_an_exact_version_is_listed_as_it_was(apiserver: Server, namespace: str) -> None:
    path = config_maps(apiserver, namespace, 2)
    before = apiserver.client.get(path)["metadata"]["resourceVersion"]
    apiserver.client.delete(f"{path}/c0")

    exact = apiserver.client.get(f"{path}?resourceVersion={before}&resourceVersionMatch=Exact")
    newer = apiserver.client.get(f"{path}?resourceVersion={before}&resourceVersionMatch=NotOlderThan")

    assert names(exact) == ["c0", "c1"]
    assert exact["metadata"]["resourceVersion"] == before
    assert names(newer) == ["c1"]


def test_a_broken_page_token_is_refused(apiserver: Server) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client.get("/api/v1/namespaces?limit=1&continue=zzz")

    assert refused.value.code == 400
    assert refused.value.message.startswith("invalid continue token: continue key is not valid: ")


def test_a_collection_is_deleted_by_its_labels_and_its_members_are_told(
    apiserver: Server, namespace: str
) -> None:
    path = config_maps(apiserver, namespace, 4)

    gone = apiserver.client.request("DELETE", f"{path}?labelSelector=half=odd", {})

    assert names(gone) == ["c1", "c3"]
    assert names(apiserver.client.get(path)) == ["c0", "c2"]


def test_items_of_built_in_kinds_do_not_repeat_their_kind(apiserver: Server, namespace: str) -> None:
    listed = apiserver.client.get(config_maps(apiserver, namespace, 1))

    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert not {"kind", "apiVersion"} & listed["items"][0].keys()


def test_one_event_has_two_shapes(apiserver: Server, namespace: str) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace},
        "reason": "Tested",
        "message": "a word",
        "type": "Normal",
    }
    apiserver.client.create(f"/api/v1/namespaces/{namespace}/events", event)

    newer = apiserver.client.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/e")
    chosen = apiserver.client.get(
        f"/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.name=p,reason=Tested"
    )

    assert (newer["regarding"]["name"], newer["note"]) == ("p", "a word")
    assert names(chosen) == ["e"]
