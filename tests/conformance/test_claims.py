"""What the scheduler writes to volumes, claims and ResourceClaims before it binds their pods, on both servers.

No controller runs: a test plays who binds volumes and who makes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from vcray.actors.prebind import PreBind
from vcray.actors.timekeeping import WallTime
from vcray.app import SCHEDULER
from vcray.core.decisions import Bind, Preparation
from vcray.kube.auth import load
from vcray.kube.client import KubeClient

Object = dict[str, Any]
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
DEVICES = "/apis/resource.k8s.io/v1"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture(scope="module")
def hosted(volcano_apiserver: Server) -> Iterator[Hosted]:
    """The scheduler alone; no actor may have failed at the end."""
    with Hosted(volcano_apiserver.kubeconfig, SCHEDULER) as made:
        yield made
        assert made.failures() == {}


@pytest.fixture
def arena(volcano_apiserver: Server, hosted: Hosted) -> Iterator[Arena]:
    """This test's namespace and nodes."""
    made = Arena(volcano_apiserver)  # type: ignore[arg-type]
    yield made
    made.clean()


def storage_class(arena: Arena, provisioner: str) -> str:
    """A class whose volumes are bound once a pod has a node; its name."""
    name = f"{arena.namespace}-late"
    body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    mode = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    arena.client.create(STORAGE, {**body, **mode})
    return name


def volume(arena: Arena, name: str, storage: str, node: str) -> str:
    """A local volume of a node, Available; its full name."""
    full = f"{arena.namespace}-{name}"
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage,
        "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": full}, "spec": spec}
    arena.client.create(VOLUMES, body)
    arena.client.patch(f"{VOLUMES}/{full}/status", {"status": {"phase": "Available"}})
    return full


def claim(arena: Arena, name: str, storage: str) -> Object:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage,
        "resources": {"requests": {"storage": "5Gi"}},
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
    return arena.client.create(f"{arena.core}/persistentvolumeclaims", body)


def with_claim(arena: Arena, pod: str, name: str) -> None:
    """A pod in a group of its own that uses the claim."""
    arena.group(pod, 1)
    arena.pod(pod, pod, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def complete(arena: Arena, name: str, volume: str) -> None:
    """What a volume controller does last: the claim names its volume and is Bound."""
    path = f"{arena.core}/persistentvolumeclaims/{name}"
    done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    arena.client.patch(path, {"metadata": done, "spec": {"volumeName": volume}})
    arena.client.patch(f"{path}/status", {"status": {"phase": "Bound"}})


def test_a_delayed_claim_gets_its_volume_by_claim_reference_then_its_pod_is_bound(arena: Arena) -> None:
    node = arena.node("n1")
    storage = storage_class(arena, "kubernetes.io/no-provisioner")
    disk = volume(arena, "disk", storage, node)
    uid = claim(arena, "data", storage)["metadata"]["uid"]
    with_claim(arena, "p", "data")

    def reference() -> Object:
        found: Object = arena.client.get(f"{VOLUMES}/{disk}")["spec"].get("claimRef") or {}
        return found

    arena.wait(lambda: bool(reference()), "the volume to name the claim")
    assert (reference()["kind"], reference()["namespace"], reference()["name"], reference()["uid"]) == (
        "PersistentVolumeClaim",
        arena.namespace,
        "data",
        uid,
    )
    arena.never_bound(0.4)
    complete(arena, "data", disk)
    assert arena.wait_bound(1) == {"p": node}


def test_two_claims_do_not_get_one_volume(arena: Arena) -> None:
    node = arena.node("n1")
    storage = storage_class(arena, "kubernetes.io/no-provisioner")
    disk = volume(arena, "disk", storage, node)
    for name in ("a", "b"):
        claim(arena, name, storage)
        with_claim(arena, name, name)

    arena.wait(
        lambda: bool(arena.client.get(f"{VOLUMES}/{disk}")["spec"].get("claimRef")), "a claim reference"
    )
    winner = arena.client.get(f"{VOLUMES}/{disk}")["spec"]["claimRef"]["name"]
    complete(arena, winner, disk)
    assert arena.wait_bound(1) == {winner: node}


def test_a_claim_to_be_provisioned_is_told_the_node(arena: Arena) -> None:
    node = arena.node("n1")
    storage = storage_class(arena, "example.com/disk")
    claim(arena, "data", storage)
    with_claim(arena, "p", "data")
    path = f"{arena.core}/persistentvolumeclaims/data"

    def selected() -> str:
        return str((arena.client.get(path)["metadata"].get("annotations") or {}).get(SELECTED, ""))

    arena.wait(lambda: selected() == node, "the claim to be told its node")
    arena.never_bound(0.4)
    complete(arena, "data", volume(arena, "made", storage, node))
    assert arena.wait_bound(1) == {"p": node}


def device_class(arena: Arena) -> str:
    name = f"{arena.namespace}-gpu"
    selector = {"cel": {"expression": 'device.attributes["gpu.example.com"].model == "A"'}}
    arena.client.create(
        f"{DEVICES}/deviceclasses",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [selector]},
        },
    )
    return name


def slice_of(arena: Arena, node: str, *devices: str) -> None:
    listed = [{"name": each, "attributes": {"model": {"string": "A"}}} for each in devices]
    arena.client.create(
        f"{DEVICES}/resourceslices",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-gpus"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": listed,
            },
        },
    )


def resource_claim(arena: Arena, name: str, **exactly: Any) -> str:
    """A ResourceClaim; its path."""
    path = f"{DEVICES}/namespaces/{arena.namespace}/resourceclaims"
    request = {"name": "gpu", "exactly": exactly}
    arena.client.create(
        path,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [request]}},
        },
    )
    return f"{path}/{name}"


def test_a_resource_claim_gets_its_allocation_and_its_user(arena: Arena) -> None:
    node = arena.node("n1")
    arena.node("n2")
    slice_of(arena, node, "gpu-0", "gpu-1")
    path = resource_claim(arena, "gpus", deviceClassName=device_class(arena), count=2)
    arena.group("p", 1)
    pod = arena.pod("p", "p", resourceClaims=[{"name": "d", "resourceClaimName": "gpus"}])

    assert arena.wait_bound(1) == {"p": node}
    found = arena.client.get(path)
    results = found["status"]["allocation"]["devices"]["results"]
    assert [(each["driver"], each["pool"], each["device"]) for each in results] == [
        ("gpu.example.com", node, "gpu-0"),
        ("gpu.example.com", node, "gpu-1"),
    ]
    assert found["status"]["reservedFor"] == [
        {"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}
    ]
    assert "resource.kubernetes.io/delete-protection" in found["metadata"]["finalizers"]


def test_pods_that_share_a_resource_claim_are_bound_to_its_node(arena: Arena) -> None:
    slice_of(arena, arena.node("n1"), "gpu-0")
    slice_of(arena, arena.node("n2"), "gpu-0")
    path = resource_claim(arena, "shared", deviceClassName=device_class(arena))
    arena.group("g", 3)
    for index in range(3):
        arena.pod(f"g-{index}", "g", resourceClaims=[{"name": "d", "resourceClaimName": "shared"}])

    assert len(set(arena.wait_bound(3).values())) == 1
    assert len(arena.client.get(path)["status"]["reservedFor"]) == 3


def test_a_gang_whose_claims_fit_in_part_is_not_bound_and_takes_no_device(arena: Arena) -> None:
    slice_of(arena, arena.node("n1"), "gpu-0")
    kind = device_class(arena)
    paths = [resource_claim(arena, name, deviceClassName=kind) for name in ("a", "b")]
    arena.group("g", 2)
    for name in ("a", "b"):
        arena.pod(name, "g", resourceClaims=[{"name": "d", "resourceClaimName": name}])

    arena.wait(lambda: bool(arena.conditions("g").get("Unschedulable")), "g to be Unschedulable")
    arena.never_bound(0.4)
    assert not any((arena.client.get(path).get("status") or {}).get("allocation") for path in paths)
    slice_of(arena, arena.node("n2"), "gpu-0")
    arena.wait_bound(2)


async def test_what_was_written_for_a_pod_that_fails_is_taken_back(arena: Arena) -> None:
    node, storage = arena.node("n1"), storage_class(arena, "kubernetes.io/no-provisioner")
    disk = volume(arena, "disk", storage, node)
    uid = claim(arena, "data", storage)["metadata"]["uid"]
    path = resource_claim(arena, "gpus", deviceClassName=device_class(arena))
    pod = arena.pod("p", schedulerName="nobody")["metadata"]["uid"]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": node, "device": "gpu-0"}
    key = f"{arena.namespace}/gpus"
    allocation = json.dumps({"devices": {"results": [result]}})
    before = Preparation(
        volumes=((f"{arena.namespace}/data", uid, disk),),
        devices=((key, arena.client.get(path)["metadata"]["uid"], allocation),),
    )
    bind = Bind(f"{arena.namespace}/p", pod, node, (), before)
    transport = await load(arena.server.kubeconfig)
    try:
        prebind = PreBind(KubeClient(transport, "test"), WallTime(), lambda call: call())
        assert not await prebind.prepare(bind, later=False)
        assert arena.client.get(path)["status"]["reservedFor"]
        await prebind.take_back(bind)
    finally:
        await transport.close()
    assert not (arena.client.get(path).get("status") or {}).get("allocation")
    assert "claimRef" not in arena.client.get(f"{VOLUMES}/{disk}")["spec"]
