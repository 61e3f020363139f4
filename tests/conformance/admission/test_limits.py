"""Limit ranges, default classes and namespaces that stay: the same on both servers."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError


class Limits:
    """A namespace with limit ranges."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.client = server.client
        self.root = f"/api/v1/namespaces/{namespace}"

    def put(self, **limit: Any) -> None:
        """A limit range, which admission knows once it has applied it."""
        body = {"metadata": {"name": f"l-{secrets.token_hex(3)}"}, "spec": {"limits": [limit]}}
        self.client.create(f"{self.root}/limitranges", body)

    def pod(self, **resources: dict[str, str]) -> dict[str, Any]:
        containers = [{"name": "c", "image": "i", "resources": resources}]
        body = {"metadata": {"name": f"p-{secrets.token_hex(3)}"}, "spec": {"containers": containers}}
        return self.client.create(f"{self.root}/pods", body)

    def refused(self, **resources: dict[str, str]) -> str:
        with pytest.raises(ApiError) as caught:
            self.pod(**resources)
        assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
        return caught.value.message.partition("is forbidden: ")[2]


@pytest.fixture
def limits(apiserver: Server, namespace: str) -> Limits:
    return Limits(apiserver, namespace)


def test_containers_get_the_defaults_they_lack(limits: Limits) -> None:
    limits.put(type="Container", default={"cpu": "1", "memory": "1Gi"}, defaultRequest={"cpu": "500m"})

    pod = limits.pod(requests={"memory": "1Gi"})

    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "1Gi"},
    }
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; "
        "cpu, memory limit for container c"
    }
    assert pod["status"]["qosClass"] == "Burstable"


def test_bounds_of_containers_are_told_with_their_figures(limits: Limits) -> None:
    limits.put(type="Container", min={"cpu": "100m"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "2"})

    assert limits.refused(requests={"cpu": "50m"}, limits={"cpu": "60m"}) == (
        "minimum cpu usage per Container is 100m, but request is 50m"
    )
    assert limits.refused(requests={"cpu": "2"}, limits={"cpu": "3"}) == (
        "maximum cpu usage per Container is 2, but limit is 3"
    )
    assert limits.refused(requests={"cpu": "500m"}, limits={"cpu": "1500m"}) == (
        "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"
    )


def test_bounds_of_pods_count_all_containers(limits: Limits) -> None:
    limits.put(type="Pod", max={"memory": "1Gi"})

    assert limits.refused(requests={"memory": "1Gi"}, limits={"memory": "2Gi"}) == (
        "maximum memory usage per Pod is 1Gi, but limit is 2Gi"
    )
    assert limits.refused() == "maximum memory usage per Pod is 1Gi.  No limit is specified"


def test_bounds_of_claims(limits: Limits) -> None:
    limits.put(type="PersistentVolumeClaim", min={"storage": "2Gi"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    with pytest.raises(ApiError) as caught:
        limits.client.create(
            f"{limits.root}/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec}
        )

    assert caught.value.message == (
        'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim is 2Gi, '
        "but request is 1Gi"
    )


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(apiserver: Server, name: str) -> None:
    with pytest.raises(ApiError) as caught:
        apiserver.client.delete(f"/api/v1/namespaces/{name}")

    assert caught.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert caught.value.code == 403


def test_there_is_one_default_priority_class(apiserver: Server) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    first, second = f"first-{secrets.token_hex(3)}", f"second-{secrets.token_hex(3)}"
    apiserver.client.create(path, {"metadata": {"name": first}, "value": 1, "globalDefault": True})
    try:
        with pytest.raises(ApiError) as caught:
            apiserver.client.create(path, {"metadata": {"name": second}, "value": 2, "globalDefault": True})
        assert caught.value.message == (
            f'priorityclasses.scheduling.k8s.io "{second}" is forbidden: PriorityClass {first} is already marked as '
            "default. Only one default can exist"
        )
    finally:
        apiserver.client.delete(f"{path}/{first}")


def test_a_claim_without_a_class_gets_the_default_one(apiserver: Server, namespace: str) -> None:
    classes, name = "/apis/storage.k8s.io/v1/storageclasses", f"sc-{secrets.token_hex(3)}"
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    metadata = {"name": name, "annotations": annotations}
    apiserver.client.create(classes, {"metadata": metadata, "provisioner": "example.com/p"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    try:
        made = apiserver.client.create(
            f"/api/v1/namespaces/{namespace}/persistentvolumeclaims",
            {"metadata": {"name": "c"}, "spec": spec},
        )
        assert made["spec"]["storageClassName"] == name
    finally:
        apiserver.client.delete(f"{classes}/{name}")
