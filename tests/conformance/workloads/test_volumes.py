"""Claims and volumes, by kube-controller-manager and by the embedded cluster's controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.workloads.playground import NODE, Object, Playground, containers

VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
HOST_PATH = "kubernetes.io/host-path"
Cluster = Callable[[str, Object], Object]


@pytest.fixture
def cluster_wide(play: Playground) -> Iterator[Cluster]:
    """Creates volumes and classes named `<namespace>-<name>`, and deletes them afterwards."""
    made: list[str] = []

    def create(path: str, body: Object) -> Object:
        name = f"{play.namespace}-{body.pop('name')}"
        metadata = {"name": name, **body.pop("metadata", {})}
        made.append(f"{path}/{name}")
        return play.client.create(path, {"metadata": metadata, **body})

    yield create
    for path in made:
        if play.client.exists(path):
            play.client.delete(path)


def volume(play: Playground, create: Cluster, name: str, size: str = "1Gi", **spec: object) -> str:
    """A volume of the namespace's own class, Available; its full name."""
    whole: Object = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": play.namespace,
        "hostPath": {"path": f"/tmp/{play.namespace}-{name}"},
        **spec,
    }
    full: str = create(VOLUMES, {"name": name, "spec": whole})["metadata"]["name"]
    play.wait(lambda: phase(play, full) == "Available", f"{full} to be available")
    return full


def claim(play: Playground, name: str, size: str = "1Gi", **spec: object) -> None:
    whole: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": play.namespace,
        **spec,
    }
    play.create("persistentvolumeclaims", name, whole)


def phase(play: Playground, volume: str) -> str:
    path = f"{VOLUMES}/{volume}"
    if not play.client.exists(path):
        return "gone"
    found: str = play.client.get(path).get("status", {}).get("phase", "")
    return found


def wait_phase(play: Playground, volume: str, wanted: str) -> Object:
    play.wait(lambda: phase(play, volume) == wanted, f"{volume} to be {wanted}")
    return {} if wanted == "gone" else play.client.get(f"{VOLUMES}/{volume}")


def wait_bound(play: Playground, name: str) -> Object:
    return play.wait_status("persistentvolumeclaims", name, phase="Bound")


def wait_event(play: Playground, name: str, reason: str) -> str:
    """The message of an event about a claim."""

    def found() -> list[str]:
        events = play.items("events")
        return [
            each["message"]
            for each in events
            if (each["involvedObject"]["name"], each["reason"]) == (name, reason)
        ]

    play.wait(lambda: bool(found()), f"{reason} of {name}")
    return found()[0]


def drop(play: Playground, name: str) -> None:
    play.client.delete(play.path("persistentvolumeclaims", name))


def test_the_smallest_volume_that_fits_is_bound_and_kept(play: Playground, cluster_wide: Cluster) -> None:
    volume(play, cluster_wide, "small", "1Gi")
    volume(play, cluster_wide, "large", "5Gi")
    fitting = volume(play, cluster_wide, "fitting", "3Gi")

    claim(play, "data", "2Gi")

    bound = wait_bound(play, "data")
    assert bound["spec"]["volumeName"] == fitting
    assert bound["status"]["capacity"] == {"storage": "3Gi"}
    assert bound["status"]["accessModes"] == ["ReadWriteOnce"]
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    found = wait_phase(play, fitting, "Bound")
    assert found["status"]["lastPhaseTransitionTime"] >= found["metadata"]["creationTimestamp"]
    assert found["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert (
        found["spec"]["claimRef"].items()
        >= {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": play.namespace,
            "name": "data",
            "uid": bound["metadata"]["uid"],
        }.items()
    )
    drop(play, "data")
    wait_phase(play, fitting, "Released")


def test_reserved_and_named_volumes_go_to_their_claims(play: Playground, cluster_wide: Cluster) -> None:
    volume(play, cluster_wide, "small")
    kept = volume(
        play, cluster_wide, "kept", "9Gi", claimRef={"namespace": play.namespace, "name": "reserved"}
    )
    named = volume(play, cluster_wide, "named", "9Gi")

    claim(play, "reserved", "2Gi")
    claim(play, "asking", volumeName=named)
    claim(play, "greedy", "20Gi", volumeName=f"{play.namespace}-small")

    assert wait_bound(play, "reserved")["spec"]["volumeName"] == kept
    asking = wait_bound(play, "asking")
    assert asking["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}
    small = f'"{play.namespace}-small"'
    message = wait_event(play, "greedy", "VolumeMismatch")
    assert message == f"Cannot bind to requested volume {small}: requested PV is too small"


def test_a_claim_without_class_and_volume_waits_and_says_so(play: Playground) -> None:
    claim(play, "data", storageClassName="")

    assert wait_event(play, "data", "FailedBinding") == (
        "no persistent volumes available for this claim and no storage class is set"
    )
    assert play.get("persistentvolumeclaims", "data")["status"] == {"phase": "Pending"}


def test_a_claim_without_a_class_may_be_given_one_once(play: Playground, cluster_wide: Cluster) -> None:
    disk = volume(play, cluster_wide, "disk")
    claim(play, "data", storageClassName=None)
    play.wait_status("persistentvolumeclaims", "data", phase="Pending")

    play.patch("persistentvolumeclaims", "data", {"spec": {"storageClassName": play.namespace}})

    assert wait_bound(play, "data")["spec"]["volumeName"] == disk
    with pytest.raises(ApiError, match="spec is immutable after creation"):
        play.patch("persistentvolumeclaims", "data", {"spec": {"storageClassName": "other"}})


def test_a_pod_brings_its_claim_along(play: Playground, cluster_wide: Cluster) -> None:
    disk = volume(play, cluster_wide, "disk")
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": play.namespace,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    inner: Object = {"metadata": {"labels": {"for": "scratch"}}, "spec": spec}
    source: Object = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": inner}}
    pod = {"nodeName": NODE, "volumes": [source], "containers": containers("", "nginx")}
    uid = play.create("pods", "p", pod)["metadata"]["uid"]

    play.wait_status("pods", "p", phase="Running")

    made = wait_bound(play, "p-scratch")
    assert made["spec"]["volumeName"] == disk
    assert made["metadata"]["labels"] == {"for": "scratch"}
    [owner] = made["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_a_class_makes_volumes_and_they_go_with_their_claims(play: Playground, cluster_wide: Cluster) -> None:
    storage_class = cluster_wide(CLASSES, {"name": "made", "provisioner": HOST_PATH})["metadata"]["name"]
    claim(play, "data", storageClassName=storage_class)

    bound = wait_bound(play, "data")

    name = bound["spec"]["volumeName"]
    assert name == f"pvc-{bound['metadata']['uid']}"
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "volume.beta.kubernetes.io/storage-provisioner": HOST_PATH,
        "volume.kubernetes.io/storage-provisioner": HOST_PATH,
    }
    made = wait_phase(play, name, "Bound")
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/createdby": "hostpath-dynamic-provisioner",
        "pv.kubernetes.io/bound-by-controller": "yes",
        "pv.kubernetes.io/provisioned-by": HOST_PATH,
    }
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pv-controller", "kubernetes.io/pv-protection"]
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    message = wait_event(play, "data", "ProvisioningSucceeded")
    assert message == f"Successfully provisioned volume {name} using {HOST_PATH}"
    drop(play, "data")
    wait_phase(play, name, "gone")


def test_what_nobody_can_make_or_delete_says_so(play: Playground, cluster_wide: Cluster) -> None:
    plain = cluster_wide(CLASSES, {"name": "none", "provisioner": "kubernetes.io/no-provisioner"})
    foreign = cluster_wide(CLASSES, {"name": "foreign", "provisioner": "example.com/disks"})
    odd = volume(
        play, cluster_wide, "odd", persistentVolumeReclaimPolicy="Delete", hostPath={"path": "/srv/data"}
    )
    claim(play, "missing", storageClassName=f"{play.namespace}-missing")
    claim(play, "plain", storageClassName=plain["metadata"]["name"])
    claim(play, "foreign", storageClassName=foreign["metadata"]["name"])
    claim(play, "odd")
    wait_bound(play, "odd")

    drop(play, "odd")

    failed = wait_phase(play, odd, "Failed")
    assert failed["status"]["message"] == (
        "host_path deleter only supports /tmp/.+ but received provided /srv/data"
    )
    assert wait_event(play, "missing", "ProvisioningFailed") == (
        f'storageclass.storage.k8s.io "{play.namespace}-missing" not found'
    )
    assert wait_event(play, "plain", "ProvisioningFailed") == (
        "no volume plugin matched name: kubernetes.io/no-provisioner"
    )
    waiting = wait_event(play, "foreign", "ExternalProvisioning")
    assert waiting.startswith(
        "Waiting for a volume to be created either by the external provisioner 'example.com/disks' or manually"
    )


def test_a_late_claim_waits_for_the_node_of_its_pod_and_the_pod_for_it(
    play: Playground, cluster_wide: Cluster
) -> None:
    late = {"name": "late", "provisioner": HOST_PATH, "volumeBindingMode": "WaitForFirstConsumer"}
    claim(play, "data", storageClassName=cluster_wide(CLASSES, late)["metadata"]["name"])
    assert wait_event(play, "data", "WaitForFirstConsumer") == (
        "waiting for first consumer to be created before binding"
    )
    source: Object = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    play.create("pods", "p", {"nodeName": NODE, "volumes": [source], "containers": containers("", "nginx")})

    node = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": NODE}}}
    play.patch("persistentvolumeclaims", "data", node)

    wait_bound(play, "data")
    play.wait_status("pods", "p", phase="Running")
