"""ReplicationControllers, by kube-controller-manager and by the embedded cluster's: adoption is among ReplicaSets' tests."""

from tests.conformance.workloads.playground import Playground, template

LABELS = {"app": "web"}


def test_controller_without_a_selector_keeps_its_size_and_says_what_keeps_it_from_it(
    play: Playground,
) -> None:
    pods = template(labels=LABELS, terminationGracePeriodSeconds=0)
    play.create("replicationcontrollers", "web", {"replicas": 2, "template": pods})

    found = play.wait_status("replicationcontrollers", "web", readyReplicas=2, availableReplicas=2)
    assert found["spec"]["selector"] == LABELS
    assert found["status"] == {
        "observedGeneration": 1,
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    gone, kept = play.pods()
    play.client.patch(play.path("pods", gone["metadata"]["name"], "status"), {"status": {"phase": "Failed"}})
    play.wait(lambda: len(play.pods("Running")) == 2, "a pod in its place")

    play.patch("replicationcontrollers", "web", {"spec": {"replicas": 0}})
    found = play.wait_status("replicationcontrollers", "web", replicas=None, readyReplicas=None)
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert not play.exists("pods", kept["metadata"]["name"])

    bad = template(labels=LABELS, priorityClassName="no-such-class")
    play.patch("replicationcontrollers", "web", {"spec": {"replicas": 1, "template": bad}})
    condition = play.wait_condition("replicationcontrollers", "web", "ReplicaFailure")
    assert (condition["reason"], "no-such-class" in condition["message"]) == ("FailedCreate", True)
