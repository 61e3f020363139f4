"""What a path names: a collection, an object, or a subresource of it."""

from __future__ import annotations

import pytest

from vcray.kube.paths import Target, target_of


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/namespaces/ns/pods/p", Target("/api/v1/namespaces/ns/pods", "p", "")),
        ("/api/v1/namespaces/ns/pods/p/status", Target("/api/v1/namespaces/ns/pods", "p", "status")),
        ("/api/v1/nodes/n", Target("/api/v1/nodes", "n", "")),
        ("/apis/g/v1/queues/q/status", Target("/apis/g/v1/queues", "q", "status")),
        ("/api/v1/namespaces/ns", Target("/api/v1/namespaces", "ns", "")),
        ("/api/v1/namespaces/ns/status", Target("/api/v1/namespaces", "ns", "status")),
        ("/api/v1/namespaces/ns/pods", Target("/api/v1/namespaces/ns/pods")),
        ("/apis/g/v1/queues", Target("/apis/g/v1/queues")),
        ("/api/v1/nodes/n/proxy/healthz", None),
        ("/version", None),
    ],
)
def test_an_object_is_told_from_a_collection(path: str, target: Target | None) -> None:
    assert target_of(path) == target


def test_a_right_is_about_a_resource_in_any_namespace() -> None:
    one, two = (target_of(f"/apis/g/v1/namespaces/{each}/jobs/x/status") for each in ("a", "b"))

    assert one is not None
    assert two is not None
    assert one.resource == two.resource == "apis/g/v1/jobs/status"


@pytest.mark.parametrize(
    ("path", "plural"),
    [
        ("/api/v1/namespaces/ns/pods", "pods"),
        ("/api/v1/namespaces/ns/pods/p/status", "pods/status"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/ns", "namespaces"),
        ("/api/v1/namespaces/ns/status", "namespaces/status"),
        ("/apis/scheduling.volcano.sh/v1beta1/queues/q/status?fieldManager=x", "queues/status"),
        ("/apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs/j", "jobs"),
    ],
)
def test_resource_of_a_path(path: str, plural: str) -> None:
    target = target_of(path)

    assert target is not None
    assert target.plural == plural
