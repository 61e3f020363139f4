"""Request paths are read as the API has them."""

from __future__ import annotations

import pytest

from vcray.sim.requestpath import Target, target_of

JOBS = "/apis/batch.volcano.sh/v1alpha1/jobs"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("/api/v1/pods")),
        ("/api/v1/namespaces/ns/pods/p/status", Target("/api/v1/pods", "ns", "p", "status")),
        ("/api/v1/nodes/n1", Target("/api/v1/nodes", "", "n1")),
        ("/api/v1/namespaces/ns", Target("/api/v1/namespaces", "", "ns")),
        ("/api/v1/namespaces/ns/finalize", Target("/api/v1/namespaces", "", "ns", "finalize")),
        ("/api/v1/namespaces/ns/events", Target("/api/v1/events", "ns")),
        ("/apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs/j", Target(JOBS, "ns", "j")),
        ("/version", None),
        ("/apis", None),
    ],
)
def test_a_path_names_collection_namespace_name_and_subresource(path: str, target: Target | None) -> None:
    assert target_of(path) == target


@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/ns/pods/p", "/api/v1/nodes/n1", "/apis/apps/v1/namespaces/a/deployments/d"]
)
def test_the_path_of_a_target_leads_to_it(path: str) -> None:
    target = target_of(path)

    assert target is not None
    assert target.path == path
