"""Quotas are counted, charged, freed and refused alike on both servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError


class Quotas:
    """One namespace with a quota."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.client = server.client
        self.root = f"/api/v1/namespaces/{namespace}"

    def put(self, hard: dict[str, str], **spec: object) -> None:
        """A quota; returns when it has been counted."""
        body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
        self.client.create(f"{self.root}/resourcequotas", body)
        wait_until(lambda: set(self.used()) == set(hard), "the quota to be counted")

    def used(self) -> dict[str, str]:
        status = self.client.get(f"{self.root}/resourcequotas/q").get("status", {})
        used: dict[str, str] = status.get("used", {})
        return used

    def pod(self, name: str, requests: dict[str, str] | None = None, **spec: object) -> dict[str, Any]:
        container = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        return self.client.create(f"{self.root}/pods", body)


@pytest.fixture
def quotas(cluster: Server, cluster_namespace: str) -> Quotas:
    return Quotas(cluster, cluster_namespace)


def test_pods_are_charged_and_freed(quotas: Quotas) -> None:
    quotas.put({"pods": "3", "requests.cpu": "2", "memory": "1Gi", "count/pods": "9"})

    quotas.pod("a", {"cpu": "500m", "memory": "252Mi"})
    quotas.pod("b", {"cpu": "1", "memory": "1Mi"})
    assert quotas.used() == {"pods": "2", "requests.cpu": "1500m", "memory": "253Mi", "count/pods": "2"}

    quotas.client.delete(f"{quotas.root}/pods/a", grace_s=0)
    left = {"pods": "1", "requests.cpu": "1", "memory": "1Mi", "count/pods": "1"}
    wait_until(lambda: quotas.used() == left, "the quota to be freed")


def test_what_exceeds_is_refused_in_the_same_words(quotas: Quotas) -> None:
    quotas.put({"pods": "5", "requests.cpu": "1", "limits.cpu": "1"})

    with pytest.raises(ApiError) as caught:
        quotas.pod("silent")
    assert caught.value.message == (
        'pods "silent" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.cpu for: c'
    )

    limits = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1500m"}}}]
    with pytest.raises(ApiError) as caught:
        quotas.pod("large", containers=limits)
    assert caught.value.message == (
        'pods "large" is forbidden: exceeded quota: q, requested: limits.cpu=1500m,requests.cpu=1500m, '
        "used: limits.cpu=0,requests.cpu=0, limited: limits.cpu=1,requests.cpu=1"
    )
    assert caught.value.code == 403


def test_objects_of_any_kind_are_counted(quotas: Quotas) -> None:
    quotas.put({"count/secrets": "1", "services.nodeports": "2", "services": "5"})
    spec = {"type": "NodePort", "ports": [{"port": 80}, {"port": 81, "name": "b"}]}
    spec["ports"][0]["name"] = "a"  # type: ignore[index]

    quotas.client.create(f"{quotas.root}/secrets", {"metadata": {"name": "s"}})
    quotas.client.create(f"{quotas.root}/services", {"metadata": {"name": "s"}, "spec": spec})

    assert quotas.used() == {"count/secrets": "1", "services.nodeports": "2", "services": "1"}
    with pytest.raises(
        ApiError, match=r"exceeded quota: q, requested: count/secrets=1, used: count/secrets=1"
    ):
        quotas.client.create(f"{quotas.root}/secrets", {"metadata": {"name": "t"}})


def test_scopes_choose_the_pods(quotas: Quotas) -> None:
    quotas.put({"pods": "5"}, scopes=["NotBestEffort", "NotTerminating"])

    quotas.pod("best-effort")
    quotas.pod("ends", {"cpu": "1"}, activeDeadlineSeconds=100)
    quotas.pod("counts", {"cpu": "1"})

    assert quotas.used() == {"pods": "1"}


def test_changed_limits_are_taken_up(quotas: Quotas) -> None:
    quotas.put({"pods": "1"})

    quotas.client.patch(
        f"{quotas.root}/resourcequotas/q", {"spec": {"hard": {"configmaps": "9", "pods": None}}}
    )

    wait_until(lambda: "configmaps" in quotas.used(), "the new limits to be counted")
    assert quotas.used() == {"configmaps": "1"}  # the certificate of the API server
