"""From a YAML file to bound pods and back, on a real kube-apiserver: the main job of vcray as its users see it."""

from __future__ import annotations

import time

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import GROUPS, Arena
from tests.e2e.auditor import Auditor
from tests.e2e.program import Program
from tests.e2e.refusing import binding_refused


def test_an_applied_gang_is_bound_runs_and_completes(vcray: Program, arena: Arena) -> None:
    arena.node("n1", cpu=4)
    phases = arena.phases("train")

    with Auditor(arena.client) as auditor:
        arena.apply(arena.job("train", arena.task("worker", 3), arena.task("ps", 1)))
        bound = arena.wait_bound(4)
        arena.play("Running")
        phases.wait("Pending", "Running")
        arena.play("Succeeded")
        phases.wait("Pending", "Running", "Completed")
        auditor.require_content()

    assert sorted(bound) == ["train-ps-0", "train-worker-0", "train-worker-1", "train-worker-2"]
    assert auditor.history.longest_half_bound_s < 5
    assert any(status.get("running") == 4 for status in phases.statuses)


def test_a_gang_waits_for_a_node_and_is_bound_when_it_comes(vcray: Program, arena: Arena) -> None:
    arena.node("n1", cpu=2)
    phases = arena.phases("wide")
    arena.apply(arena.job("wide", arena.task(replicas=4)))
    phases.wait("Pending")
    arena.never_bound(1)

    with Auditor(arena.client) as auditor:
        arena.node("n2", cpu=2)
        arena.wait_bound(4, timeout_s=10)
        auditor.require_content()

    assert sorted(arena.bound().values()) == sorted(2 * [f"{arena.namespace}-{n}" for n in ("n1", "n2")])


def test_a_gang_of_four_with_room_for_three_does_not_half_start(vcray: Program, arena: Arena) -> None:
    arena.node("n1", cpu=3)
    arena.group("four", 4)
    with Auditor(arena.client) as auditor:
        for index in range(4):
            arena.pod(f"four-{index}", "four")
        arena.wait(lambda: "Unschedulable" in arena.conditions("four"), "the condition Unschedulable")
        arena.never_bound(2)
        auditor.require_content()
    assert auditor.history.half_bound_moments == 0

    condition = arena.conditions("four")["Unschedulable"]
    assert (condition["status"], condition["reason"]) == ("True", "NotEnoughResources")
    assert condition["message"] == (
        "1/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; "
        "Pending: 1 Unschedulable, 3 Schedulable"
    )
    arena.wait(
        lambda: any(
            kind == "PodGroup" and type_ == "Warning" and reason == "Unschedulable"
            for kind, type_, reason, _ in arena.events("four")
        ),
        "the event on the PodGroup",
    )
    scheduled = next(
        each for each in arena.pods()[0]["status"]["conditions"] if each["type"] == "PodScheduled"
    )
    assert scheduled["status"] == "False"


def test_a_waiting_gang_takes_no_room_from_one_that_fits(vcray: Program, arena: Arena) -> None:
    arena.node("n1", cpu=3)
    arena.group("large", 4)
    arena.group("small", 3)
    for index in range(4):
        arena.pod(f"large-{index}", "large")
    arena.wait(lambda: "Unschedulable" in arena.conditions("large"), "the condition Unschedulable")

    for index in range(3):
        arena.pod(f"small-{index}", "small")

    assert sorted(arena.wait_bound(3, timeout_s=10)) == ["small-0", "small-1", "small-2"]


def test_what_waits_is_said_once_and_costs_nothing_more(vcray: Program, arena: Arena) -> None:
    """A status that is written wakes the scheduler, which must not write it again."""
    arena.node("n1", cpu=3)
    arena.group("four", 4)
    for index in range(4):
        arena.pod(f"four-{index}", "four")
    arena.apply(arena.job("five", arena.task(replicas=5)))
    for name, reason in (("four", "FailedScheduling"), ("five", "Unschedulable")):
        arena.wait(
            lambda name=name, reason=reason: reason in {event[2] for event in arena.events(name)},  # type: ignore[misc]
            f"{name} to be told that it waits",
        )
    arena.wait(lambda: quiet(arena), "the writes to end")
    rounds = vcray.metrics()["vcray_rounds_total"]
    versions = versions_of(arena)

    for _ in range(10):
        time.sleep(0.2)
        assert versions_of(arena) == versions
    assert vcray.metrics()["vcray_rounds_total"] <= rounds + 2


def versions_of(arena: Arena) -> dict[str, str]:
    """The resourceVersion of every object that vcray may write."""
    paths = (f"{arena.core}/pods", f"{arena.core}/events", arena.groups, arena.jobs, f"{GROUPS}/queues")
    return {
        f"{path}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for path in paths
        for each in arena.client.get(path)["items"]
    }


def quiet(arena: Arena) -> bool:
    before = versions_of(arena)
    time.sleep(0.2)
    return versions_of(arena) == before


def test_a_gang_that_the_server_refuses_to_bind_is_tried_ever_more_seldom(
    vcray: Program, arena: Arena
) -> None:
    node = arena.node("n1")
    refused = 'vcray_bindings_total{result="refused"}'
    before = vcray.metrics().get(refused, 0)
    with Auditor(arena.client) as auditor:
        with binding_refused(arena, "cursed-worker-1", node):
            arena.apply(arena.job("cursed", arena.task(replicas=2)))
            arena.wait(lambda: vcray.metrics().get(refused, 0) >= before + 2, "two refusals")
            deadline = time.monotonic() + 5
            arena.wait(lambda: time.monotonic() > deadline, "some time")
            assert vcray.metrics()[refused] <= before + 8
        arena.wait_bound(2)
        auditor.require_content()


def test_two_gangs_that_fit_one_after_the_other_both_run(vcray: Program, arena: Arena) -> None:
    arena.node("n1", cpu=4)
    with Auditor(arena.client) as auditor:
        arena.apply(
            arena.job("one", arena.task(replicas=3)),
            arena.job("two", arena.task(replicas=3)),
        )
        first = {name.split("-")[0] for name in arena.wait_bound(3)}
        assert len(first) == 1, "the two gangs took parts of the node"
        arena.play("Running")
        arena.play("Succeeded")
        (second,) = {"one", "two"} - first
        arena.wait(lambda: sum(name.startswith(second) for name in arena.bound()) == 3, "the second gang")
        auditor.require_content()


def test_queues_get_a_state_a_parent_and_their_usage(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    queue = arena.queue("research")
    path = f"{GROUPS}/queues/{queue}"
    for name in ("root", "default"):
        assert arena.client.get(f"{GROUPS}/queues/{name}")["status"]["state"] == "Open"

    arena.wait(lambda: arena.client.get(path).get("status", {}).get("state") == "Open", "the state Open")
    arena.wait(lambda: arena.client.get(path)["spec"].get("parent") == "root", "the parent root")
    arena.apply(arena.job("owned", arena.task(replicas=2), queue=queue))
    arena.wait_bound(2)

    def usage() -> object:
        return (arena.client.get(path)["status"].get("allocated") or {}).get("cpu")

    arena.wait(lambda: usage() == "2", "the queue's usage")


def test_a_closed_queue_drains_and_takes_no_new_gang(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    queue = arena.queue("old")
    path = f"{GROUPS}/queues/{queue}"
    arena.wait(lambda: arena.client.get(path).get("status", {}).get("state") == "Open", "the state Open")
    arena.group("inside", 1, queue=queue)
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": queue}
    target["uid"] = arena.client.get(path)["metadata"]["uid"]
    arena.client.create(
        f"/apis/bus.volcano.sh/v1alpha1/namespaces/{arena.namespace}/commands",
        {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"generateName": "close-", "ownerReferences": [target]},
            "action": "CloseQueue",
            "target": target,
        },
    )

    arena.wait(lambda: arena.client.get(path)["status"]["state"] == "Closing", "the state Closing")
    arena.client.delete(f"{arena.groups}/inside")
    arena.wait(lambda: arena.client.get(path)["status"]["state"] == "Closed", "the state Closed")


def test_a_bare_pod_gets_a_podgroup_of_its_own_and_is_bound(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    made = arena.pod("lonely")

    arena.wait_bound(1)

    (group,) = arena.client.get(arena.groups)["items"]
    assert group["metadata"]["name"] == f"podgroup-{made['metadata']['uid']}"
    assert group["spec"]["minMember"] == 1
    pod = arena.client.get(f"{arena.core}/pods/lonely")
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == group["metadata"]["name"]


def test_the_pods_of_a_replicaset_share_a_podgroup(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    labels = {"app": "web"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "annotations": {"scheduling.volcano.sh/group-min-member": "3"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {**arena.pod_spec(), "restartPolicy": "Always"},
            },
        },
    }
    owner = arena.client.create(f"/apis/apps/v1/namespaces/{arena.namespace}/replicasets", body)

    with Auditor(arena.client) as auditor:
        arena.wait_bound(3)
        auditor.require_content()

    (group,) = arena.client.get(arena.groups)["items"]
    assert group["metadata"]["name"] == f"podgroup-{owner['metadata']['uid']}"
    assert group["spec"]["minMember"] == 3


def test_pods_of_another_scheduler_are_left_alone(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    arena.pod("theirs", schedulerName="default-scheduler")
    arena.pod("ours")

    assert list(arena.wait_bound(1)) == ["ours"]
    assert len(arena.client.get(arena.groups)["items"]) == 1


def test_a_podgroup_in_a_missing_queue_says_so_and_runs_when_the_queue_comes(
    vcray: Program, arena: Arena
) -> None:
    arena.node("n1")
    queue = f"{arena.namespace}-late"
    arena.group("early", 1, queue=queue)
    arena.pod("early-0", "early")

    arena.wait(
        lambda: any(
            each[:2] == ("PodGroup", "Warning") and queue in each[3] for each in arena.events("early")
        ),
        "a Warning on the PodGroup",
    )
    assert not arena.bound()

    arena.queue("late")
    arena.wait_bound(1)


def test_a_server_that_goes_away_and_comes_back_is_followed_again(
    vcray: Program, arena: Arena, server: ControlPlane
) -> None:
    arena.node("n1")
    arena.apply(arena.job("before", arena.task()))
    arena.wait_bound(1)

    server.stop_apiserver()
    server.start_apiserver()

    arena.apply(arena.job("after", arena.task()))
    arena.wait_bound(2, timeout_s=60)
    assert vcray.running
    wait_until(lambda: vcray.metrics()["vcray_rounds_total"] > 0, "metrics", 5)


def test_a_namespace_that_goes_takes_its_gangs_with_it(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    arena.apply(arena.job("inside", arena.task(replicas=2), plugins={"svc": []}))
    arena.wait_bound(2)

    arena.client.delete(f"/api/v1/namespaces/{arena.namespace}")
    arena.wait(
        lambda: not arena.client.exists(f"/api/v1/namespaces/{arena.namespace}"), "the namespace to go", 60
    )

    assert vcray.running
