"""Writes that change nothing, writes with conditions, scale, and what answers to them look like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "d"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
}


def collection(namespace: str, plural: str = "configmaps") -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}"


def test_a_dry_run_answers_as_if_and_changes_nothing(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)

    made = apiserver.client.create(f"{path}?dryRun=All", {"metadata": {"generateName": "a-"}})
    assert made["metadata"]["name"].startswith("a-")
    assert "resourceVersion" not in made["metadata"]
    assert apiserver.client.get(path)["items"] == []

    present = apiserver.client.create(path, {"metadata": {"name": "a"}})
    changed = apiserver.client.request(
        "PATCH", f"{path}/a?dryRun=All", {"data": {"x": "1"}}, "application/merge-patch+json"
    )
    gone = apiserver.client.request("DELETE", f"{path}/a?dryRun=All")
    assert changed["data"] == {"x": "1"}
    assert changed["metadata"]["resourceVersion"] == present["metadata"]["resourceVersion"]
    assert gone["status"] == "Success"
    assert "data" not in apiserver.client.get(f"{path}/a")


def test_a_deletion_is_bound_to_a_version_and_an_identity(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    made = apiserver.client.create(path, {"metadata": {"name": "a"}})

    for condition in ({"uid": "other"}, {"resourceVersion": "1"}):
        with pytest.raises(ApiError) as refused:
            apiserver.client.request("DELETE", f"{path}/a", {"preconditions": condition})
        assert refused.value.code == 409
        assert refused.value.message.startswith('Operation cannot be fulfilled on ConfigMap "a": the ')
    right = {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}
    answer = apiserver.client.request("DELETE", f"{path}/a", {"preconditions": right})

    assert answer["status"] == "Success"
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}


def test_some_kinds_are_created_by_a_put(apiserver: Server, namespace: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    made = apiserver.client.replace(
        f"{leases}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}
    )
    with pytest.raises(ApiError) as refused:
        apiserver.client.replace(f"{collection(namespace)}/a", {"metadata": {"name": "a"}})

    assert made["spec"]["holderIdentity"] == "x"
    assert refused.value.code == 404


def test_scale_shows_and_sets_the_replicas(apiserver: Server, namespace: str) -> None:
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    made = apiserver.client.create(deployments, DEPLOYMENT)

    shown = apiserver.client.get(f"{deployments}/d/scale")
    scaled = apiserver.client.patch(f"{deployments}/d/scale", {"spec": {"replicas": 3}})
    put = apiserver.client.replace(f"{deployments}/d/scale", {**scaled, "spec": {"replicas": 5}})
    with pytest.raises(ApiError) as conflict:
        apiserver.client.replace(f"{deployments}/d/scale", {**scaled, "spec": {"replicas": 6}})
    with pytest.raises(ApiError) as negative:
        apiserver.client.patch(f"{deployments}/d/scale", {"spec": {"replicas": -1}})

    assert shown["kind"] == "Scale"
    assert shown["metadata"]["uid"] == made["metadata"]["uid"]
    assert (shown["spec"], shown["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "a=b"})
    assert (scaled["spec"], put["spec"]) == ({"replicas": 3}, {"replicas": 5})
    assert apiserver.client.get(f"{deployments}/d")["spec"]["replicas"] == 5
    assert conflict.value.code == 409
    assert negative.value.message == (
        'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    )


def test_an_object_comes_as_yaml_as_a_table_or_as_metadata_alone(apiserver: Server, namespace: str) -> None:
    path = collection(namespace)
    apiserver.client.create(path, {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}})

    text, headers = apiserver.client.raw("GET", f"{path}/a", accept="application/yaml")
    table = apiserver.client.table(path)
    partial, _ = apiserver.client.raw(
        "GET", path, accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    )

    assert headers["content-type"] == "application/yaml"
    assert b"kind: ConfigMap\n" in text
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert table["rows"][0]["cells"][:2] == ["a", 2]
    assert b'"kind":"PartialObjectMetadataList"' in partial
    assert b'"x":' not in partial


def test_a_namespace_that_ends_takes_nothing_new(apiserver: Server) -> None:
    name = apiserver.create_namespace("ending")
    path = collection(name)
    apiserver.client.create(path, {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    apiserver.client.delete(f"/api/v1/namespaces/{name}")

    with pytest.raises(ApiError) as refused:
        apiserver.client.create(path, {"metadata": {"name": "b"}})

    assert refused.value.code == 403
    assert refused.value.message == (
        f'configmaps "b" is forbidden: unable to create new content in namespace {name} because it is being terminated'
    )
