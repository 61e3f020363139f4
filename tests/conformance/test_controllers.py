"""The controllers on a real kube-apiserver, without a scheduler: the tests play it by writing PodGroup phases.

That shows which half does what: pods come only when the scheduler let the PodGroup in, and a restart of the controllers in
between loses nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import GROUPS, Arena
from tests.e2e.hosting import Hosted
from vcray.app import CONTROLLERS

Object = dict[str, Any]


@pytest.fixture(scope="module")
def hosted(volcano_cluster: ControlPlane) -> Iterator[Hosted]:
    """The controllers, for all tests of this module; none of their actors may have failed at the end."""
    with Hosted(volcano_cluster.kubeconfig, CONTROLLERS) as made:
        yield made
        assert made.failures() == {}


@pytest.fixture
def arena(volcano_cluster: ControlPlane, hosted: Hosted) -> Iterator[Arena]:
    """This test's namespace."""
    made = Arena(volcano_cluster)
    yield made
    made.clean()


def group_of(arena: Arena, job: str, waiting: bool = False) -> Object:
    """The PodGroup of a vcjob, once it is there; `waiting`: one that was not let in yet."""

    def found() -> list[Object]:
        groups: list[Object] = arena.client.get(arena.groups)["items"]
        return [
            each
            for each in groups
            if each["metadata"]["name"].startswith(f"{job}-")
            and not (waiting and (each.get("status") or {}).get("phase") not in (None, "Pending"))
        ]

    arena.wait(lambda: bool(found()), f"the PodGroup of {job}")
    return found()[0]


def let_in(arena: Arena, job: str, phase: str = "Inqueue") -> Object:
    """What the scheduler's enqueue action does."""
    group = group_of(arena, job, waiting=True)
    path = f"{arena.groups}/{group['metadata']['name']}"
    return arena.client.patch(path, {"status": {"phase": phase}})


def names(arena: Arena) -> list[str]:
    """The pods that are not on their way out."""
    return sorted(
        pod["metadata"]["name"] for pod in arena.pods() if not pod["metadata"].get("deletionTimestamp")
    )


def wait_for_pods(arena: Arena, *wanted: str) -> None:
    """Until these pods are there and no others."""
    arena.wait(lambda: names(arena) == sorted(wanted), f"pods {', '.join(wanted) or 'to go'}")


def status_of(arena: Arena, job: str) -> Object:
    found: Object = arena.client.get(f"{arena.jobs}/{job}").get("status") or {}
    return found


def test_pods_come_only_when_the_scheduler_lets_the_podgroup_in(arena: Arena) -> None:
    arena.apply(arena.job("wait", arena.task(replicas=2)))
    group = group_of(arena, "wait")
    arena.wait(lambda: status_of(arena, "wait").get("state", {}).get("phase") == "Pending", "Pending")
    assert group["spec"]["minMember"] == 2
    assert names(arena) == []

    let_in(arena, "wait")

    wait_for_pods(arena, "wait-worker-0", "wait-worker-1")
    arena.wait(lambda: status_of(arena, "wait").get("pending") == 2, "the counters")


def test_a_pod_carries_the_marks_of_its_job(arena: Arena) -> None:
    arena.apply(arena.job("marks", arena.task(), priorityClassName="system-cluster-critical"))
    group = let_in(arena, "marks")
    wait_for_pods(arena, "marks-worker-0")

    (pod,) = arena.pods()

    labels, notes = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    assert labels["volcano.sh/job-name"] == "marks"
    assert labels["volcano.sh/job-namespace"] == arena.namespace
    assert labels["volcano.sh/task-spec"] == "worker"
    assert labels["volcano.sh/queue-name"] == "default"
    assert notes["scheduling.k8s.io/group-name"] == group["metadata"]["name"]
    assert notes["volcano.sh/job-version"] == "0"
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["spec"]["priorityClassName"] == "system-cluster-critical"
    assert group["spec"]["priorityClassName"] == "system-cluster-critical"
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "marks", True)


def test_a_job_is_scaled_up_and_down_and_its_podgroup_follows(arena: Arena) -> None:
    arena.apply(arena.job("elastic", arena.task(replicas=2)))
    let_in(arena, "elastic")
    wait_for_pods(arena, "elastic-worker-0", "elastic-worker-1")

    for replicas in (4, 1):
        arena.apply(arena.job("elastic", arena.task(replicas=replicas)))
        wait_for_pods(arena, *(f"elastic-worker-{n}" for n in range(replicas)))
        arena.wait(
            lambda replicas=replicas: group_of(arena, "elastic")["spec"]["minMember"] == replicas,  # type: ignore[misc]
            f"minMember {replicas}",
        )


def test_the_hosts_of_a_running_job_follow_its_size(arena: Arena) -> None:
    phases = arena.phases("hosts")
    arena.apply(arena.job("hosts", arena.task(replicas=2), plugins={"svc": []}, minAvailable=1))
    let_in(arena, "hosts")
    wait_for_pods(arena, "hosts-worker-0", "hosts-worker-1")
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    def listed() -> str:
        data: dict[str, str] = arena.client.get(f"{arena.core}/configmaps/hosts-svc")["data"]
        return data["VC_WORKER_HOSTS"]

    for replicas in (3, 1):
        arena.apply(arena.job("hosts", arena.task(replicas=replicas), plugins={"svc": []}, minAvailable=1))
        wanted = ",".join(f"hosts-worker-{n}.hosts" for n in range(replicas))
        arena.wait(lambda wanted=wanted: listed() == wanted, f"the hosts {wanted}")  # type: ignore[misc]


def test_a_deleted_pod_is_made_again_without_any_policy(arena: Arena) -> None:
    arena.apply(arena.job("again", arena.task(replicas=2)))
    let_in(arena, "again")
    wait_for_pods(arena, "again-worker-0", "again-worker-1")
    before = {pod["metadata"]["uid"] for pod in arena.pods()}

    arena.client.delete(f"{arena.core}/pods/again-worker-1", grace_s=0)

    arena.wait(
        lambda: len(names(arena)) == 2 and {p["metadata"]["uid"] for p in arena.pods()} != before, "a new pod"
    )
    assert status_of(arena, "again")["state"]["phase"] == "Pending"


def test_an_evicted_pod_restarts_the_job_through_its_policy(arena: Arena) -> None:
    phases = arena.phases("evicted")
    policy = {"event": "PodEvicted", "action": "RestartJob"}
    arena.apply(arena.job("evicted", arena.task(replicas=2), policies=[policy]))
    let_in(arena, "evicted")
    wait_for_pods(arena, "evicted-worker-0", "evicted-worker-1")
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    arena.client.delete(f"{arena.core}/pods/evicted-worker-0", grace_s=0)

    phases.wait("Pending", "Running", "Restarting")
    let_in(arena, "evicted")
    arena.wait(lambda: phases.seen[3:] == ["Pending"], "the job to start anew")
    wait_for_pods(arena, "evicted-worker-0", "evicted-worker-1")
    assert status_of(arena, "evicted")["retryCount"] == 1


def test_a_tasks_policy_beats_the_jobs_and_exit_codes_match(arena: Arena) -> None:
    phases = arena.phases("codes")
    task = arena.task(replicas=2, policies=[{"exitCode": 3, "action": "TerminateJob"}])
    arena.apply(arena.job("codes", task, policies=[{"event": "PodFailed", "action": "RestartJob"}]))
    let_in(arena, "codes")
    wait_for_pods(arena, "codes-worker-0", "codes-worker-1")
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    arena.play("Failed", ["codes-worker-0"], exit_code=3)

    phases.wait("Pending", "Running", "Terminating")
    arena.wait(lambda: phases.seen[-1] == "Terminated", "Terminated")


def test_a_job_that_fails_for_the_last_time_is_failed(arena: Arena) -> None:
    phases = arena.phases("last")
    policy = {"event": "PodFailed", "action": "RestartJob"}
    arena.apply(arena.job("last", arena.task(), policies=[policy], maxRetry=1))
    let_in(arena, "last")
    wait_for_pods(arena, "last-worker-0")
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    arena.play("Failed", ["last-worker-0"], exit_code=1)

    arena.wait(lambda: phases.seen[-1] == "Failed", "Failed")
    assert phases.seen == ["Pending", "Running", "Restarting", "Failed"]
    assert status_of(arena, "last")["retryCount"] == 1


def test_minsuccess_completes_the_job_early(arena: Arena) -> None:
    phases = arena.phases("early")
    arena.apply(arena.job("early", arena.task(replicas=3), minSuccess=1))
    let_in(arena, "early")
    wait_for_pods(arena, *(f"early-worker-{n}" for n in range(3)))
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    arena.play("Succeeded", ["early-worker-1"])

    arena.wait(lambda: phases.seen[-1] == "Completed", "Completed")
    wait_for_pods(arena, "early-worker-1")


def test_what_happens_while_the_controllers_are_away_is_dealt_with_when_they_return(
    arena: Arena, hosted: Hosted
) -> None:
    phases = arena.phases("away")
    policy = {"event": "PodFailed", "action": "TerminateJob"}
    arena.apply(arena.job("away", arena.task(replicas=2), policies=[policy]))
    let_in(arena, "away")
    wait_for_pods(arena, "away-worker-0", "away-worker-1")
    arena.play("Running", names(arena))
    phases.wait("Pending", "Running")

    hosted.stop(CONTROLLERS)
    arena.play("Failed", ["away-worker-0"], exit_code=1)
    arena.apply(arena.job("new", arena.task()))
    hosted.start(CONTROLLERS)

    phases.wait("Pending", "Running", "Terminating")
    arena.wait(lambda: phases.seen[-1] == "Terminated", "Terminated")
    let_in(arena, "new")
    wait_for_pods(arena, "away-worker-0", "new-worker-0")


def test_a_deleted_job_takes_all_it_owns_with_it(arena: Arena) -> None:
    arena.apply(arena.job("owner", arena.task(replicas=2), plugins={"svc": [], "env": []}))
    let_in(arena, "owner")
    wait_for_pods(arena, "owner-worker-0", "owner-worker-1")

    arena.client.delete(f"{arena.jobs}/owner")

    wait_for_pods(arena)
    arena.wait(lambda: not arena.client.get(arena.groups)["items"], "the PodGroup to go")
    arena.wait(lambda: not arena.client.exists(f"{arena.core}/services/owner"), "the Service to go")
    arena.wait(lambda: not arena.client.exists(f"{arena.core}/configmaps/owner-svc"), "the ConfigMap to go")


def test_a_job_made_anew_under_its_old_name_starts_from_the_beginning(arena: Arena) -> None:
    arena.apply(arena.job("same", arena.task()))
    first = let_in(arena, "same")
    wait_for_pods(arena, "same-worker-0")
    arena.client.delete(f"{arena.jobs}/same")
    arena.wait(lambda: not arena.client.exists(f"{arena.jobs}/same"), "the job to go")

    arena.apply(arena.job("same", arena.task(replicas=2)))

    arena.wait(
        lambda: group_of(arena, "same")["metadata"]["uid"] != first["metadata"]["uid"], "another PodGroup"
    )
    wait_for_pods(arena)
    let_in(arena, "same")
    wait_for_pods(arena, "same-worker-0", "same-worker-1")


def test_the_state_of_a_queue_has_a_field_manager_of_its_own(arena: Arena) -> None:
    queue = arena.queue("fields")
    path = f"{GROUPS}/queues/{queue}"
    arena.wait(lambda: arena.client.get(path).get("status", {}).get("state") == "Open", "Open")
    arena.client.patch(f"{path}/status", {"status": {"allocated": {"cpu": "7"}}})

    found = arena.client.get(path)

    managers = {
        entry["manager"]: json.dumps(entry["fieldsV1"])
        for entry in found["metadata"]["managedFields"]
        if entry.get("subresource") == "status"
    }
    assert '"f:state"' in managers["queue-controller"]
    assert '"f:allocated"' not in managers["queue-controller"]
    assert found["status"] == {"state": "Open", "allocated": {"cpu": "7"}}


def test_closing_a_queue_closes_its_children_and_opening_it_opens_them(arena: Arena) -> None:
    parent = arena.queue("parent")
    child = arena.queue("child", parent=parent)
    paths = [f"{GROUPS}/queues/{each}" for each in (parent, child)]

    def states() -> list[str]:
        return [arena.client.get(path).get("status", {}).get("state", "") for path in paths]

    arena.wait(lambda: states() == ["Open", "Open"], "both to be Open")
    for action, state in (("CloseQueue", "Closed"), ("OpenQueue", "Open")):
        uid = arena.client.get(paths[0])["metadata"]["uid"]
        target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": parent, "uid": uid}
        arena.client.create(
            f"/apis/bus.volcano.sh/v1alpha1/namespaces/{arena.namespace}/commands",
            {
                "apiVersion": "bus.volcano.sh/v1alpha1",
                "kind": "Command",
                "metadata": {"generateName": "queue-", "ownerReferences": [target]},
                "action": action,
                "target": target,
            },
        )
        arena.wait(lambda state=state: states() == [state, state], f"both to be {state}")  # type: ignore[misc]


def test_a_replicaset_scaled_to_nothing_loses_its_podgroup(arena: Arena) -> None:
    labels = {"app": "web"}
    path = f"/apis/apps/v1/namespaces/{arena.namespace}/replicasets"
    spec = {**arena.pod_spec(), "restartPolicy": "Always"}
    arena.client.create(
        path,
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        },
    )

    def grouped() -> int:
        notes = [pod["metadata"].get("annotations") or {} for pod in arena.pods()]
        return sum("scheduling.k8s.io/group-name" in each for each in notes)

    arena.wait(lambda: grouped() == 2, "both pods to name their PodGroup")
    assert len(arena.client.get(arena.groups)["items"]) == 1

    arena.client.patch(f"{path}/web", {"spec": {"replicas": 0}})

    arena.wait(lambda: not arena.client.get(arena.groups)["items"], "the PodGroup to go")


def test_a_podgroup_of_a_bare_pod_goes_with_its_pod(arena: Arena) -> None:
    arena.pod("alone")
    arena.wait(lambda: len(arena.client.get(arena.groups)["items"]) == 1, "its PodGroup")

    arena.client.delete(f"{arena.core}/pods/alone", grace_s=0)

    arena.wait(lambda: not arena.client.get(arena.groups)["items"], "the PodGroup to be collected")


def test_spec_edits_survive_status_writes(arena: Arena) -> None:
    """A PodGroup has no status subresource: a status written whole would wipe a spec edited at that time."""
    arena.apply(arena.job("edits", arena.task(replicas=2)))
    group = let_in(arena, "edits")
    path = f"{arena.groups}/{group['metadata']['name']}"
    arena.client.patch(path, {"metadata": {"annotations": {"mine": "kept"}}})
    wait_for_pods(arena, "edits-worker-0", "edits-worker-1")
    arena.play("Running", names(arena))
    wait_until(lambda: status_of(arena, "edits").get("running") == 2, "two running pods")

    found = arena.client.get(path)

    assert found["metadata"]["annotations"]["mine"] == "kept"
    assert found["status"]["phase"] == "Inqueue"


def test_o_007_fast_scaling_leaves_the_last_pod_with_a_group_that_exists(arena: Arena) -> None:
    template: Object = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "main", "image": "none"}]},
    }
    path = f"/apis/apps/v1/namespaces/{arena.namespace}/deployments"
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    arena.client.create(path, {"kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    arena.wait(lambda: bool(arena.pods()), "the first pod")

    for replicas in [0, 1] * 20:
        arena.client.patch(f"{path}/d/scale", {"spec": {"replicas": replicas}})
        time.sleep(0.05)

    def grouped() -> bool:
        alive = [pod for pod in arena.pods() if not pod["metadata"].get("deletionTimestamp")]
        groups = {each["metadata"]["name"] for each in arena.client.get(arena.groups)["items"]}
        named = [pod["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name") for pod in alive]
        return len(alive) == 1 and named[0] in groups

    arena.wait(grouped, "one pod with a group that exists")
    time.sleep(0.2)
    assert grouped()
