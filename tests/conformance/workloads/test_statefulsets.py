"""StatefulSets, by kube-controller-manager and by the embedded cluster's controllers."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.workloads.playground import Object, Playground, template

LABELS = {"app": "web"}
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@pytest.fixture
def classed(play: Playground) -> Iterator[Playground]:
    """A namespace with a class of its own name, whose volumes are made for their claims."""
    play.client.create(
        CLASSES, {"metadata": {"name": play.namespace}, "provisioner": "kubernetes.io/host-path"}
    )
    yield play
    play.client.delete(f"{CLASSES}/{play.namespace}")


def claim(play: Playground) -> Object:
    """The template of a set's claims."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": play.namespace,
    }
    return {"metadata": {"name": "data"}, "spec": spec}


def stateful_set(play: Playground, replicas: int, **spec: Any) -> Object:
    whole = {
        "replicas": replicas,
        "serviceName": "peers",
        "selector": {"matchLabels": LABELS},
        "template": template(labels=LABELS, terminationGracePeriodSeconds=0),
        "volumeClaimTemplates": [claim(play)],
        **spec,
    }
    return play.create("statefulsets", "web", whole)


def new_image(play: Playground, **strategy: Any) -> None:
    spec: Object = {"template": template(labels=LABELS, image="nginx:2", terminationGracePeriodSeconds=0)}
    if strategy:
        spec["updateStrategy"] = {"rollingUpdate": strategy}
    play.patch("statefulsets", "web", {"spec": spec})


def images(play: Playground) -> dict[str, str]:
    """Pod -> image of those that run."""
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in play.pods("Running")}


def test_pods_have_names_and_claims_of_their_own_and_are_updated_from_the_last(classed: Playground) -> None:
    play = classed
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    made = stateful_set(play, 2, ordinals={"start": 3}, revisionHistoryLimit=0, updateStrategy=rolling)
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}

    found = play.wait_status("statefulsets", "web", replicas=2, readyReplicas=2, availableReplicas=2)
    first = found["status"]["updateRevision"]
    assert found["status"] == {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "currentRevision": first,
        "updateRevision": first,
        "collisionCount": 0,
    }
    low, high = sorted(play.pods(), key=lambda pod: str(pod["metadata"]["name"]))
    told: set[str] = set()
    for pod, ordinal in ((low, 3), (high, 4)):
        name = f"web-{ordinal}"
        assert (pod["metadata"]["name"], pod["metadata"]["generateName"]) == (name, "web-")
        assert pod["metadata"]["labels"] == {
            **LABELS,
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(ordinal),
            "controller-revision-hash": first,
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (name, "peers")
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}
        assert volume in pod["spec"]["volumes"]
        assert play.get("persistentvolumeclaims", f"data-{name}")["metadata"]["labels"] == LABELS
        told |= {
            f"Create Pod {name} in StatefulSet web successful",
            f"Create Claim data-{name} Pod {name} in StatefulSet web success",
        }
    play.wait(lambda: told <= {each["message"] for each in play.items("events")}, "events")
    running = next(c for c in low["status"]["conditions"] if c["type"] == "Ready")
    assert high["metadata"]["creationTimestamp"] >= running["lastTransitionTime"]
    [revision] = play.items("controllerrevisions")
    assert (revision["metadata"]["name"], revision["revision"]) == (first, 1)
    mark = revision["metadata"]["labels"]["controller.kubernetes.io/hash"]
    assert first == f"web-{mark}"
    assert revision["data"]["spec"]["template"]["$patch"] == "replace"

    new_image(play, partition=1)
    play.wait(lambda: images(play) == {"web-3": "nginx", "web-4": "nginx:2"}, "the pod above the partition")
    part = play.wait_status("statefulsets", "web", updatedReplicas=1, currentReplicas=1)["status"]
    assert (part["currentRevision"], part["updateRevision"] != first) == (first, True)
    play.client.delete(play.path("pods", "web-3"))
    play.wait(lambda: images(play) == {"web-3": "nginx", "web-4": "nginx:2"}, "an old pod in its place")

    play.patch("statefulsets", "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    play.wait_status("statefulsets", "web", currentRevision=part["updateRevision"], currentReplicas=2)
    assert images(play) == {"web-3": "nginx:2", "web-4": "nginx:2"}
    play.wait(
        lambda: [r["revision"] for r in play.items("controllerrevisions")] == [2], "the old revision to go"
    )


def test_parallel_set_replaces_what_fails_and_lets_claims_go_with_their_pods(classed: Playground) -> None:
    play = classed
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    stateful_set(
        play,
        3,
        podManagementPolicy="Parallel",
        updateStrategy={"type": "OnDelete"},
        persistentVolumeClaimRetentionPolicy=policy,
    )
    play.wait_status("statefulsets", "web", readyReplicas=3)
    before = play.get("pods", "web-0")["metadata"]["uid"]
    [owner] = play.get("persistentvolumeclaims", "data-web-2")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("StatefulSet", True)

    new_image(play)
    play.wait_status("statefulsets", "web", observedGeneration=2, updatedReplicas=None)
    play.client.patch(play.path("pods", "web-0", "status"), {"status": {"phase": "Failed"}})
    play.patch("statefulsets", "web", {"spec": {"replicas": 2}})

    play.wait(lambda: images(play) == {"web-0": "nginx:2", "web-1": "nginx"}, "two pods, one of them new")
    assert play.get("pods", "web-0")["metadata"]["uid"] != before

    def going() -> bool:
        path = play.path("persistentvolumeclaims", "data-web-2")
        return not play.client.exists(path) or "deletionTimestamp" in play.client.get(path)["metadata"]

    play.wait(going, "the claim of the pod that was scaled away")
    status = play.wait_status("statefulsets", "web", replicas=2, readyReplicas=2, updatedReplicas=1)["status"]
    assert status["currentRevision"] != status["updateRevision"]
    assert "deletionTimestamp" not in play.get("persistentvolumeclaims", "data-web-1")["metadata"]
