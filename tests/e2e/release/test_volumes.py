"""Pods whose volumes are on one node each (Volcano's suite `schedulingbase`, volume binding).

What containers write and read there, and paths that are missing, are a kubelet's business and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.client import ApiError
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import near

Object = dict[str, Any]
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SIZE = {"storage": "10Mi"}
HERE, ELSEWHERE = "worker-2", "worker-0"

pytestmark = pytest.mark.full


class Storage:
    """A storage class of a test, and the volumes made for it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.name = context.namespace
        self._volumes: list[str] = []

    def start(self, mode: str = "Immediate", provisioner: str = "kubernetes.io/no-provisioner") -> None:
        """Make the class."""
        body = {"metadata": {"name": self.name}, "provisioner": provisioner, "volumeBindingMode": mode}
        self.context.client.create(CLASSES, body)

    def volume(self, node: str, claim: Object | None = None) -> str:
        """A volume on one node, for one claim if it is given."""
        name = f"{self.name}-{len(self._volumes)}"
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        spec: Object = {
            "storageClassName": self.name,
            "capacity": SIZE,
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/tmp"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        }
        if claim is not None:
            spec["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim}
        self.context.client.create(VOLUMES, {"metadata": {"name": name}, "spec": spec})
        self._volumes.append(name)
        return name

    def claim(self, name: str, volume: str = "") -> Object:
        """A claim; the reference to it, as a volume wants it."""
        spec: Object = {
            "storageClassName": self.name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": SIZE},
        }
        if volume:
            spec["volumeName"] = volume
        path = f"{self.context.core}/persistentvolumeclaims"
        made = self.context.client.create(path, {"metadata": {"name": name}, "spec": spec})
        return {key: made["metadata"][key] for key in ("namespace", "name", "uid")}

    def pod(self, name: str, claim: str, **spec: Any) -> None:
        """A pod that uses a claim."""
        pod = self.context.pod_spec("100m") | spec
        pod["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
        self.context.client.create(f"{self.context.core}/pods", {"metadata": {"name": name}, "spec": pod})

    def stop(self) -> None:
        """Remove the class and the volumes."""
        paths = [f"{VOLUMES}/{each}" for each in self._volumes]
        for path in [*paths, f"{CLASSES}/{self.name}"]:
            try:
                self.context.client.delete(path)
            except ApiError as error:
                if error.code != 404:
                    raise


@pytest.fixture
def storage(context: Context) -> Iterator[Storage]:
    """Storage of this test."""
    made = Storage(context)
    yield made
    made.stop()


def bound_claim(storage: Storage) -> str:
    """A claim that is bound to a volume on one node."""
    storage.start()
    storage.claim("claim", storage.volume(HERE))
    path = f"{storage.context.core}/persistentvolumeclaims/claim"
    storage.context.wait(
        lambda: storage.context.client.get(path)["status"].get("phase") == "Bound", "the claim to be bound"
    )
    return "claim"


def test_pods_with_one_volume_go_to_its_node(context: Context, storage: Storage) -> None:
    claim = bound_claim(storage)
    storage.pod("one", claim)
    storage.pod("two", claim)

    assert context.wait_bound(2) == {"one": HERE, "two": HERE}


def test_a_pod_goes_where_the_one_before_left_its_volume(context: Context, storage: Storage) -> None:
    claim = bound_claim(storage)
    storage.pod("one", claim)
    context.wait_bound(1)
    context.client.delete(f"{context.core}/pods/one")
    context.wait(lambda: not context.pods(), "the first pod to go")
    storage.pod("two", claim)

    assert context.wait_bound(1) == {"two": HERE}


@pytest.mark.parametrize("by", ["affinity", "selector"])
def test_a_pod_that_wants_another_node_than_its_volume_waits(
    context: Context, storage: Storage, by: str
) -> None:
    claim = bound_claim(storage)
    field = {"key": "kubernetes.io/hostname", "operator": "In", "values": [ELSEWHERE]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [field]}]}
    spec: Object = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    if by == "selector":
        spec = {"nodeSelector": {"kubernetes.io/hostname": ELSEWHERE}}
    storage.pod("torn", claim, **spec)

    context.wait(
        lambda: any(reason == "FailedScheduling" for _, _, reason, _ in context.events("torn")),
        "the pod to be unschedulable",
    )
    context.never_bound(2.0)


@pytest.mark.parametrize("management", ["OrderedReady", "Parallel"])
@pytest.mark.parametrize("away", [True, False])
def test_a_stateful_set_finds_volumes_where_its_pods_go(
    context: Context, storage: Storage, management: str, away: bool
) -> None:
    """Three pods on a node each with all of its three volumes, or on one node with one each."""
    storage.start("WaitForFirstConsumer")
    for node in context.release.workers():
        for _ in range(3):
            storage.volume(node)
    labels = {"app": "set"}
    spec = context.pod_spec("100m") | {"restartPolicy": "Always", "affinity": near(labels, away)}
    claim = {
        "storageClassName": storage.name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": SIZE},
    }
    claims = [{"metadata": {"name": f"v{number}"}, "spec": claim} for number in range(3 if away else 1)]
    spec["containers"][0]["volumeMounts"] = [
        {"name": each["metadata"]["name"], "mountPath": f"/mnt/{each['metadata']['name']}"} for each in claims
    ]
    context.client.create(
        f"/apis/apps/v1/namespaces/{context.namespace}/statefulsets",
        {
            "metadata": {"name": "set"},
            "spec": {
                "serviceName": "set",
                "replicas": 3,
                "podManagementPolicy": management,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
                "volumeClaimTemplates": claims,
            },
        },
    )

    nodes = context.wait_bound(3).values()
    assert len(set(nodes)) == (3 if away else 1)


def test_a_volume_is_made_on_the_node_that_was_chosen(context: Context, storage: Storage) -> None:
    """The test plays the provisioner."""
    storage.start("WaitForFirstConsumer", "example.com/provisioner")
    reference = storage.claim("claim")
    storage.pod("pod", "claim")
    path = f"{context.core}/persistentvolumeclaims/claim"

    def chosen() -> str:
        annotations = context.client.get(path)["metadata"].get("annotations", {})
        return str(annotations.get("volume.kubernetes.io/selected-node", ""))

    context.wait(lambda: bool(chosen()), "a node to be chosen")
    assert not context.bound()
    storage.volume(chosen(), reference)

    assert context.wait_bound(1) == {"pod": chosen()}
