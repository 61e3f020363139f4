"""Watches over HTTP: initial events, selectors, forms, ends."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.harness.base import Server


def lines(apiserver: Server, path: str, accept: str = "application/json") -> list[dict[str, Any]]:
    """All events of a watch that ends by itself."""
    answer, _ = apiserver.client.raw("GET", f"{path}{'&' if '?' in path else '?'}watch=true", accept=accept)
    return [json.loads(line) for line in answer.splitlines()]


def told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_a_watch_without_version_begins_with_what_is_there(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    apiserver.client.create(path, {"metadata": {"name": "a"}})

    assert told(lines(apiserver, f"{path}?timeoutSeconds=1")) == [("ADDED", "a")]


def test_initial_events_end_with_a_marked_bookmark(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    apiserver.client.create(path, {"metadata": {"name": "a"}})
    query = (
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
    )

    events = lines(apiserver, f"{path}?{query}")

    assert told(events)[:2] == [("ADDED", "a"), ("BOOKMARK", "")]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_an_object_comes_into_and_goes_out_of_a_selectors_view(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    since = apiserver.client.get(path)["metadata"]["resourceVersion"]
    apiserver.client.create(path, {"metadata": {"name": "a", "labels": {"seen": "no"}}})
    for value in ("yes", "yes", "no"):
        body = {
            "metadata": {"labels": {"seen": value}, "annotations": {"n": value * 2}},
            "data": {value: "1"},
        }
        apiserver.client.patch(f"{path}/a", body)
    apiserver.client.patch(f"{path}/a", {"metadata": {"labels": {"seen": "yes"}}})
    apiserver.client.delete(f"{path}/a")

    query = f"labelSelector=seen=yes&resourceVersion={since}&timeoutSeconds=1"
    events = lines(apiserver, f"{path}?{query}")

    assert [event["type"] for event in events] == ["ADDED", "DELETED", "ADDED", "DELETED"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(versions)


def test_a_single_object_is_watched_by_its_name(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    since = apiserver.client.get(path)["metadata"]["resourceVersion"]
    for name in ("a", "b"):
        apiserver.client.create(path, {"metadata": {"name": name}})

    query = f"fieldSelector=metadata.name=b&resourceVersion={since}&timeoutSeconds=1"

    assert told(lines(apiserver, f"{path}?{query}")) == [("ADDED", "b")]


def test_a_watch_may_show_metadata_alone_or_tables(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    apiserver.client.create(path, {"metadata": {"name": "a"}, "data": {"x": "1"}})

    partial = lines(
        apiserver, f"{path}?timeoutSeconds=1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    )
    tables = lines(apiserver, f"{path}?timeoutSeconds=1", "application/json;as=Table;g=meta.k8s.io;v=v1")

    assert partial[0]["object"]["kind"] == "PartialObjectMetadata"
    assert partial[0]["object"].keys() == {"kind", "apiVersion", "metadata"}
    assert tables[0]["object"]["rows"][0]["cells"][:2] == ["a", 1]


def test_a_deletion_is_told_with_the_last_state_and_a_newer_version(
    apiserver: Server, namespace: str
) -> None:
    path = collection(namespace)
    made = apiserver.client.create(path, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    apiserver.client.delete(f"{path}/a")
    version = made["metadata"]["resourceVersion"]

    events = lines(apiserver, f"{path}?resourceVersion={version}&timeoutSeconds=1")

    assert told(events) == [("DELETED", "a")]
    assert events[0]["object"]["data"] == {"x": "1"}
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) > int(version)
