"""The priority of a pod comes from its class, on both servers alike."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Pods:
    """Pods of one namespace and the priority classes made for them."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.client = server.client
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.classes: list[str] = []

    def priority_class(self, value: int, **more: object) -> str:
        name = f"class-{secrets.token_hex(3)}"
        self.client.create(CLASSES, {"metadata": {"name": name}, "value": value, **more})
        self.classes.append(name)
        return name

    def create(self, **spec: object) -> dict[str, Any]:
        body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
        made: dict[str, Any] = self.client.create(self.path, body)["spec"]
        return made

    def refused(self, **spec: object) -> str:
        with pytest.raises(ApiError) as caught:
            self.create(**spec)
        assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
        return caught.value.message.partition("is forbidden: ")[2]


@pytest.fixture
def pods(apiserver: Server, namespace: str) -> Iterator[Pods]:
    made = Pods(apiserver, namespace)
    yield made
    for name in made.classes:
        apiserver.client.delete(f"{CLASSES}/{name}")


def test_a_pod_takes_value_and_policy_from_its_class(pods: Pods) -> None:
    name = pods.priority_class(7, preemptionPolicy="Never")

    made = pods.create(priorityClassName=name)

    assert (made["priority"], made["preemptionPolicy"]) == (7, "Never")


def test_a_pod_without_a_class_has_none(pods: Pods) -> None:
    made = pods.create()

    assert (made["priority"], made["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in made


def test_the_default_class_is_for_pods_that_name_none(pods: Pods) -> None:
    name = pods.priority_class(5, globalDefault=True)

    made = pods.create()

    assert (made["priorityClassName"], made["priority"]) == (name, 5)


def test_a_class_that_is_not_there_is_named(pods: Pods) -> None:
    assert pods.refused(priorityClassName="nothing") == "no PriorityClass with name nothing was found"


def test_a_pod_may_not_contradict_its_class(pods: Pods) -> None:
    name = pods.priority_class(7)

    assert pods.refused(priorityClassName=name, priority=8) == (
        "the integer value of priority (8) must not be provided in pod spec; priority admission controller computed 7 "
        "from the given PriorityClass name"
    )
    assert pods.refused(priorityClassName=name, preemptionPolicy="Never") == (
        "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller "
        "computed PreemptLowerPriority from the given PriorityClass name"
    )
