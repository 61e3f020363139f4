"""Claims from beginning to end where Kubernetes' own controllers bind volumes and make ResourceClaims from templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.harness import server as harness
from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tests.conformance.test_claims import claim, device_class, slice_of, storage_class, volume, with_claim
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from vcray.api.crds import all_crds
from vcray.app import SCHEDULER

Object = dict[str, Any]
CONTROLLERS = (
    "namespace-controller",
    "serviceaccount-controller",
    "garbage-collector-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "resourceclaim-controller",
)


@pytest.fixture(scope="module")
def storage_cluster(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """A real API server with the controllers that look after claims."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness, "CONTROLLERS", CONTROLLERS)
        with ControlPlane(kubernetes_programs, controller_manager=True) as made:
            install(made.client, all_crds())
            yield made


@pytest.fixture
def arena(storage_cluster: ControlPlane) -> Iterator[Arena]:
    """This test's namespace and nodes, with a scheduler."""
    with Hosted(storage_cluster.kubeconfig, SCHEDULER) as hosted:
        made = Arena(storage_cluster)
        yield made
        assert hosted.failures() == {}
        made.clean()


def test_a_delayed_claim_is_bound_to_the_volume_that_was_chosen(arena: Arena) -> None:
    node = arena.node("n1")
    storage = storage_class(arena, "kubernetes.io/no-provisioner")
    disk = volume(arena, "disk", storage, node)
    claim(arena, "data", storage)
    with_claim(arena, "p", "data")

    assert arena.wait_bound(1) == {"p": node}
    found = arena.client.get(f"{arena.core}/persistentvolumeclaims/data")
    assert (found["spec"]["volumeName"], found["status"]["phase"]) == (disk, "Bound")


def test_a_gang_gets_a_volume_each(arena: Arena) -> None:
    nodes = [arena.node(f"n{index}", cpu=1) for index in range(3)]
    storage = storage_class(arena, "kubernetes.io/no-provisioner")
    arena.group("g", 3)
    for index, node in enumerate(nodes):
        volume(arena, f"disk{index}", storage, node)
        claim(arena, f"data{index}", storage)
        source = {"name": "data", "persistentVolumeClaim": {"claimName": f"data{index}"}}
        arena.pod(f"g-{index}", "g", volumes=[source])

    assert sorted(arena.wait_bound(3).values()) == nodes


def test_claims_made_from_a_template_get_devices(arena: Arena) -> None:
    node = arena.node("n1")
    slice_of(arena, node, "gpu-0", "gpu-1")
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class(arena)}}
    path = f"/apis/resource.k8s.io/v1/namespaces/{arena.namespace}"
    arena.client.create(
        f"{path}/resourceclaimtemplates",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
    )
    arena.group("g", 2)
    for index in range(2):
        arena.pod(f"g-{index}", "g", resourceClaims=[{"name": "d", "resourceClaimTemplateName": "one"}])

    arena.wait_bound(2)
    claims = arena.client.get(f"{path}/resourceclaims")["items"]
    devices = [each["status"]["allocation"]["devices"]["results"][0]["device"] for each in claims]
    assert sorted(devices) == ["gpu-0", "gpu-1"]
