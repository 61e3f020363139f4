"""Pods of another operator's object through an API server and our webhook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.definitions import DEFINITIONS, install
from tests.conformance.webhooks.conftest import Admitted, registration
from vcray.api.resources import RAYCLUSTERS
from vcray.cluster.operators.definitions import definitions
from vcray.integrations.admission import PATH

Object = dict[str, Any]


@pytest.fixture(scope="module")
def defined(volcano_apiserver: Server) -> Iterator[None]:
    """RayClusters are served, until the last test is over."""
    install(volcano_apiserver.client, definitions((RAYCLUSTERS,)))
    yield
    volcano_apiserver.client.delete(f"{DEFINITIONS}/{RAYCLUSTERS.full_name}")


@pytest.fixture
def clusters(admitted: Admitted, defined: None) -> str:
    """Where RayClusters are."""
    return f"/apis/ray.io/v1/namespaces/{admitted.namespace}/rayclusters"


def ray_cluster(name: str, queue: str) -> Object:
    """A RayCluster of a head and one worker; `queue` may be empty."""
    template = {"spec": {"containers": [{"name": "ray", "image": "ray"}]}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "labels": {"volcano.sh/queue-name": queue} if queue else {}},
        "spec": {
            "headGroupSpec": {"template": template},
            "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": template}],
        },
    }


def create_worker(admitted: Admitted, cluster: Object) -> Object:
    """Create a worker's pod as KubeRay does; what was stored."""
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "controller": True}
    owner |= {key: cluster["metadata"][key] for key in ("name", "uid")}
    name = cluster["metadata"]["name"]
    labels = {"ray.io/cluster": name, "ray.io/node-type": "worker", "ray.io/group": "w"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{name}-w-worker-", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "ray", "image": "ray"}]},
    }
    return admitted.client.create(f"/api/v1/namespaces/{admitted.namespace}/pods", pod)


def test_pod_of_a_ray_cluster_with_a_queue_is_stored_as_a_member_of_its_gang(
    admitted: Admitted, clusters: str
) -> None:
    cluster = admitted.client.create(clusters, ray_cluster("r", "research"))

    pod = create_worker(admitted, cluster)

    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "ray-r-pg",
        "volcano.sh/task-spec": "w",
    }


def test_pod_of_a_ray_cluster_without_a_queue_goes_where_it_would_without_us(
    admitted: Admitted, clusters: str
) -> None:
    cluster = admitted.client.create(clusters, ray_cluster("r", ""))

    pod = create_worker(admitted, cluster)

    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert "annotations" not in pod["metadata"]


def test_nobody_waits_for_the_webhook_of_operators_pods(admitted: Admitted) -> None:
    webhook = admitted.client.get(registration(PATH, True))["webhooks"][0]

    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["timeoutSeconds"] == 2
    assert "'ray.io/cluster'" in webhook["matchConditions"][0]["expression"]
