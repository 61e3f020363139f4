"""ReplicaSets and ReplicationControllers, by kube-controller-manager and by the embedded cluster's controllers."""

import pytest

from tests.conformance.workloads.playground import Playground, template

LABELS = {"app": "web"}


def replica_set(play: Playground, replicas: int, **spec: object) -> None:
    play.create(
        "replicasets",
        "web",
        {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": template(labels=LABELS),
            **spec,
        },
    )


def test_set_makes_its_pods_and_counts_them_available(play: Playground) -> None:
    replica_set(play, 3)

    found = play.wait_status("replicasets", "web", replicas=3, readyReplicas=3, availableReplicas=3)

    assert found["status"]["fullyLabeledReplicas"] == 3
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    for pod in play.pods():
        [owner] = pod["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"], owner["blockOwnerDeletion"]) == (
            "ReplicaSet",
            "web",
            True,
            True,
        )
        assert pod["metadata"]["generateName"] == "web-"
    play.wait(lambda: play.reasons("web").count("SuccessfulCreate") == 3, "the events")


def test_set_replaces_a_pod_that_was_deleted(play: Playground) -> None:
    replica_set(play, 1)
    play.wait_status("replicasets", "web", readyReplicas=1)
    [first] = play.pods()

    play.client.delete(play.path("pods", first["metadata"]["name"]))

    play.wait(
        lambda: [p["metadata"]["uid"] for p in play.pods("Running")] not in ([], [first["metadata"]["uid"]]),
        "another pod",
    )


def test_set_that_shrinks_lets_the_expendable_pod_go(play: Playground) -> None:
    replica_set(play, 2)
    play.wait_status("replicasets", "web", readyReplicas=2)
    keep, drop = play.pods()
    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-10"}}}
    play.patch("pods", drop["metadata"]["name"], cost)

    play.patch("replicasets", "web", {"spec": {"replicas": 1}})

    play.wait_status("replicasets", "web", replicas=1)
    assert [pod["metadata"]["name"] for pod in play.pods()] == [keep["metadata"]["name"]]


@pytest.mark.parametrize("plural", ["replicasets", "replicationcontrollers"])
def test_orphan_that_matches_is_adopted_and_one_that_matches_no_longer_is_let_go(
    play: Playground, plural: str
) -> None:
    orphan = template(labels=LABELS)
    play.client.create(
        play.path("pods"),
        play.typed("pods", {"metadata": {"name": "orphan", "labels": LABELS}, "spec": orphan["spec"]}),
    )
    selector = {"matchLabels": LABELS} if plural == "replicasets" else LABELS
    play.create(plural, "web", {"replicas": 1, "selector": selector, "template": template(labels=LABELS)})
    play.wait(lambda: bool(play.get("pods", "orphan")["metadata"].get("ownerReferences")), "the adoption")
    play.wait_status(plural, "web", replicas=1)

    play.patch("pods", "orphan", {"metadata": {"labels": {"app": "other"}}})

    play.wait(lambda: not play.get("pods", "orphan")["metadata"].get("ownerReferences"), "the release")
    play.wait(lambda: len(play.pods()) == 2, "a pod in its place")


def test_set_whose_pods_are_refused_says_so_in_a_condition(play: Playground) -> None:
    bad = template(labels=LABELS, priorityClassName="no-such-class")
    play.create("replicasets", "web", {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": bad})

    condition = play.wait_condition("replicasets", "web", "ReplicaFailure")

    assert condition["reason"] == "FailedCreate"
    assert "no-such-class" in condition["message"]
    play.wait(lambda: "FailedCreate" in play.reasons("web"), "the event")


def test_pods_wait_min_ready_seconds_before_they_count_as_available(play: Playground) -> None:
    replica_set(play, 1, minReadySeconds=3)

    ready = play.wait_status("replicasets", "web", readyReplicas=1)
    found = play.wait_status("replicasets", "web", availableReplicas=1)

    assert not ready["status"].get("availableReplicas")
    assert found["status"]["availableReplicas"] == 1


def test_finished_pod_is_replaced(play: Playground) -> None:
    replica_set(play, 1)
    play.wait_status("replicasets", "web", readyReplicas=1)
    [pod] = play.pods()

    play.client.patch(play.path("pods", pod["metadata"]["name"], "status"), {"status": {"phase": "Failed"}})

    play.wait(lambda: len(play.pods("Running")) == 1 and len(play.pods()) == 2, "a pod in its place")


def test_binding_makes_nobody_a_manager_of_the_pods_fields(play: Playground) -> None:
    spec = template(labels=LABELS)["spec"]
    del spec["nodeName"]
    play.client.create(
        play.path("pods"),
        play.typed("pods", {"metadata": {"name": "p"}, "spec": {**spec, "schedulerName": "tests"}}),
    )
    managers = [each["manager"] for each in play.get("pods", "p")["metadata"]["managedFields"]]

    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "annotations": {"example.com/by": "tests"}},
        "target": {"kind": "Node", "name": "nowhere"},
    }
    play.client.create(play.path("pods", "p", "binding"), binding)

    bound = play.get("pods", "p")
    assert bound["spec"]["nodeName"] == "nowhere"
    assert bound["metadata"]["annotations"]["example.com/by"] == "tests"
    assert [each["manager"] for each in bound["metadata"]["managedFields"]] == managers
