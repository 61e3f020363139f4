"""DaemonSets, by kube-controller-manager and by the embedded cluster's controllers. No scheduler runs: the tests bind."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.workloads.playground import NODE, Object, Playground, template

LABELS = {"app": "agent"}
NODES = "/api/v1/nodes"


def daemon_set(play: Playground, pods: Object, **spec: Any) -> None:
    play.create("daemonsets", "agent", {"selector": {"matchLabels": LABELS}, "template": pods, **spec})


def daemon(image: str = "nginx", ready: bool = True, **spec: Any) -> Object:
    made = template(labels=LABELS, image=image, terminationGracePeriodSeconds=0, **spec)
    if not ready:
        made["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["/bin/false"]}}
    return made


def images(play: Playground) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in play.pods("Running"))


def revisions(play: Playground) -> list[int]:
    return sorted(each["revision"] for each in play.items("controllerrevisions"))


def test_pods_are_replaced_by_those_of_a_new_template_or_joined_by_them(play: Playground) -> None:
    daemon_set(play, daemon())
    found = play.wait_status("daemonsets", "agent", numberAvailable=1)
    assert found["status"] == {
        "observedGeneration": 1,
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
    }
    [pod], [revision] = play.pods(), play.items("controllerrevisions")
    mark = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"agent-{mark}"
    assert pod["metadata"]["labels"] == {
        **LABELS,
        "pod-template-generation": "1",
        "controller-revision-hash": mark,
    }
    assert pod["metadata"]["generateName"] == "agent-"

    play.patch("daemonsets", "agent", {"spec": {"template": daemon("nginx:2")}})
    play.wait(lambda: images(play) == ["nginx:2"], "the new pod")
    play.wait_status("daemonsets", "agent", updatedNumberScheduled=1, numberAvailable=1, observedGeneration=2)
    assert revisions(play) == [1, 2]

    [pod] = play.pods()
    play.client.patch(play.path("pods", pod["metadata"]["name"], "status"), {"status": {"phase": "Failed"}})
    play.wait(lambda: not play.exists("pods", pod["metadata"]["name"]) and bool(images(play)), "another")
    play.wait(lambda: {"SuccessfulCreate", "FailedDaemonPod"} <= set(play.reasons("agent")), "events")

    surge = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"template": daemon("nginx:3", ready=False), "updateStrategy": surge, "revisionHistoryLimit": 0}
    play.patch("daemonsets", "agent", {"spec": spec})
    play.wait(lambda: images(play) == ["nginx:2", "nginx:3"], "a new pod beside the old one")
    play.wait_status("daemonsets", "agent", desiredNumberScheduled=1, currentNumberScheduled=1)
    play.wait(lambda: revisions(play) == [2, 3], "the unused revision to go")

    play.patch("daemonsets", "agent", {"spec": {"template": daemon("nginx:2")}})
    play.wait(lambda: images(play) == ["nginx:2"], "the old pod alone")
    play.wait(lambda: revisions(play) == [4], "the old revision as the newest")


@pytest.fixture
def pool(play: Playground) -> Iterator[list[str]]:
    """Two plain nodes labelled with the namespace, and one that is not."""
    names = [f"{play.namespace}-{letter}" for letter in "abc"]
    for name in names:
        labels = {"pool": play.namespace} if name != names[2] else {}
        play.client.create(
            NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        )
    yield names[:2]
    for name in names:
        play.client.delete(f"{NODES}/{name}")


def targets(play: Playground) -> dict[str, str]:
    """The nodes that pods name in their affinity -> the pod."""
    found: dict[str, str] = {}
    for pod in play.pods():
        required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [[field]] = [term["matchFields"] for term in required["nodeSelectorTerms"]]
        assert (field["key"], field["operator"]) == ("metadata.name", "In")
        found[field["values"][0]] = pod["metadata"]["name"]
    return found


def taint(play: Playground, node: str, *taints: Object) -> None:
    play.client.patch(f"{NODES}/{node}", {"spec": {"taints": list(taints) or None}})


def test_pods_follow_labels_and_taints_of_nodes(play: Playground, pool: list[str]) -> None:
    a, b = pool
    closed = {"key": "closed", "effect": "NoSchedule"}
    taint(play, b, closed)
    taint(play, a, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    pods = daemon(nodeSelector={"pool": play.namespace}, hostNetwork=True)
    del pods["spec"]["nodeName"]

    daemon_set(play, pods, updateStrategy={"type": "OnDelete"})
    play.wait(lambda: set(targets(play)) == {a}, "a pod for the open node")
    pod = play.get("pods", targets(play)[a])
    assert "nodeName" not in pod["spec"]
    assert [(each["key"], each["operator"], each["effect"]) for each in pod["spec"]["tolerations"]] == [
        (f"node.kubernetes.io/{key}", "Exists", effect)
        for key, effect in (
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
            ("network-unavailable", "NoSchedule"),
        )
    ]

    taint(play, b)
    play.wait(lambda: set(targets(play)) == {a, b}, "a pod for the other node")
    for node, name in targets(play).items():
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": node},
        }
        play.client.create(play.path("pods", name, "binding"), binding)
    play.wait_status("daemonsets", "agent", desiredNumberScheduled=2, currentNumberScheduled=2)

    taint(play, a, closed)

    def misplaced() -> bool:
        """A taint that lets the pod stay brings no turn of Kubernetes' controller, a change of the set does."""
        play.patch("daemonsets", "agent", {"metadata": {"annotations": {"look": "again"}}})
        play.patch("daemonsets", "agent", {"metadata": {"annotations": {"look": None}}})
        return bool(play.get("daemonsets", "agent")["status"]["numberMisscheduled"] == 1)

    play.wait(misplaced, "a pod that may stay but should not be there")
    assert set(targets(play)) == {a, b}
    taint(play, a, {"key": "closed", "effect": "NoExecute"})
    play.wait(lambda: set(targets(play)) == {b}, "the pod to leave")
    play.client.patch(f"{NODES}/{b}", {"metadata": {"labels": {"pool": None}}})
    play.wait(lambda: not play.items("pods"), "no pod to be left")
    play.wait_status("daemonsets", "agent", desiredNumberScheduled=None, numberUnavailable=None)
    assert NODE not in targets(play)
