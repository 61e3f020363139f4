"""From a YAML file to bound pods and back, on a real kube-apiserver: the main job of vcray as its users see it."""

from __future__ import annotations

import json

from tests.conformance.harness.server import ControlPlane, wait_until
from tests.e2e.arena import GROUPS, JOBS, Arena
from tests.e2e.auditor import Auditor
from tests.e2e.program import Program

RESTART = {"event": "PodFailed", "action": "RestartJob"}


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


def test_a_finished_job_leaves_neither_podgroup_nor_counters(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("short")
    arena.apply(arena.job("short", arena.task(replicas=2)))
    arena.wait_bound(2)
    arena.play("Running")
    phases.wait("Pending", "Running")
    arena.play("Succeeded")
    phases.wait("Pending", "Running", "Completed")

    arena.wait(lambda: not arena.client.get(arena.groups)["items"], "the PodGroup to go")
    arena.wait(lambda: "succeeded" not in phases.statuses[-1], "the counters to be zeroed")
    assert {pod["status"]["phase"] for pod in arena.pods()} == {"Succeeded"}
    assert phases.statuses[-1]["runningDuration"]
    assert [each["status"] for each in phases.statuses[-1]["conditions"]] == [
        "Pending",
        "Running",
        "Completed",
    ]


def test_task_completed_completes_the_job_and_ends_its_other_pods(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("mpi")
    master = arena.task("master", 1, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}])
    arena.apply(arena.job("mpi", master, arena.task("worker", 2)))
    arena.wait_bound(3)
    arena.play("Running")
    phases.wait("Pending", "Running")

    arena.play("Succeeded", ["mpi-master-0"])

    phases.wait("Pending", "Running", "Completing")
    arena.wait(lambda: phases.seen == ["Pending", "Running", "Completing", "Completed"], "Completed")
    assert [pod["metadata"]["name"] for pod in arena.pods()] == ["mpi-master-0"]


def test_a_failed_pod_restarts_the_job(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("retry")
    arena.apply(arena.job("retry", arena.task(replicas=2), policies=[RESTART], maxRetry=3))
    arena.wait_bound(2)
    first = {pod["metadata"]["uid"] for pod in arena.pods()}
    arena.play("Running")
    phases.wait("Pending", "Running")

    arena.play("Failed", ["retry-worker-0"], exit_code=127)

    phases.wait("Pending", "Running", "Restarting")
    restarting = next(s for s in phases.statuses if s["state"]["phase"] == "Restarting")
    assert restarting["terminating"] == 2
    assert restarting["retryCount"] == 1
    arena.wait(lambda: phases.seen[3:4] == ["Pending"], "the job to be Pending again")
    arena.wait(lambda: len(arena.bound()) == 2, "the pods to be bound again")
    arena.play("Running")
    phases.wait("Pending", "Running", "Restarting", "Pending", "Running")
    assert not first & {pod["metadata"]["uid"] for pod in arena.pods()}


def test_a_failed_pod_terminates_the_job_in_two_steps(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("once")
    policy = {"event": "PodFailed", "action": "TerminateJob"}
    arena.apply(arena.job("once", arena.task(replicas=2), policies=[policy]))
    arena.wait_bound(2)
    arena.play("Running")
    phases.wait("Pending", "Running")

    arena.play("Failed", ["once-worker-0"], exit_code=1)

    phases.wait("Pending", "Running", "Terminating")
    arena.wait(lambda: phases.seen[-1] == "Terminated", "Terminated")
    assert phases.seen == ["Pending", "Running", "Terminating", "Terminated"]
    said = [(kind, reason) for kind, _, reason, text in arena.events("once") if "TerminateJob" in text]
    assert ("Job", "ExecuteAction") in said


def test_commands_suspend_and_resume_a_job(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("pause")
    arena.apply(arena.job("pause", arena.task(replicas=2)))
    arena.wait_bound(2)
    arena.play("Running")
    phases.wait("Pending", "Running")

    arena.command("pause", "AbortJob")
    phases.wait("Pending", "Running", "Aborting")
    arena.wait(lambda: phases.seen[-1] == "Aborted", "Aborted")
    assert not arena.pods()
    assert not arena.client.get(f"/apis/bus.volcano.sh/v1alpha1/namespaces/{arena.namespace}/commands")[
        "items"
    ]

    arena.command("pause", "ResumeJob")
    arena.wait_bound(2)
    arena.play("Running")
    phases.wait("Pending", "Running", "Aborting", "Aborted", "Restarting", "Pending", "Running")
    assert "CommandIssued" in {reason for _, _, reason, _ in arena.events("pause")}


def test_a_finished_job_is_deleted_when_its_time_is_over(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("brief")
    arena.apply(arena.job("brief", arena.task(), ttlSecondsAfterFinished=1))
    arena.wait_bound(1)
    arena.play("Running")
    phases.wait("Pending", "Running")

    arena.play("Succeeded")

    phases.wait("Pending", "Running", "Completed")
    arena.wait(lambda: not arena.client.exists(f"{arena.jobs}/brief"), "the job to be deleted")
    arena.wait(lambda: not arena.pods(), "its pods to be collected")


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
        arena.wait(
            lambda: (
                {p["metadata"]["name"].split("-")[0] for p in arena.pods() if p["spec"].get("nodeName")}
                == {"one", "two"}
            ),
            "the second gang",
        )
        auditor.require_content()


def test_svc_and_env_give_the_pods_of_a_job_names_and_numbers(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    arena.apply(
        arena.job("net", arena.task("ps", 1), arena.task("my-worker", 2), plugins={"svc": [], "env": []})
    )
    arena.wait_bound(3)

    hosts = arena.client.get(f"{arena.core}/configmaps/net-svc")
    service = arena.client.get(f"{arena.core}/services/net")
    pod = arena.client.get(f"{arena.core}/pods/net-my-worker-1")

    assert hosts["data"] == {
        "ps.host": "net-ps-0.net",
        "VC_PS_HOSTS": "net-ps-0.net",
        "VC_PS_NUM": "1",
        "my_worker.host": "net-my-worker-0.net\nnet-my-worker-1.net",
        "VC_MY_WORKER_HOSTS": "net-my-worker-0.net,net-my-worker-1.net",
        "VC_MY_WORKER_NUM": "2",
    }
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {
        "volcano.sh/job-name": "net",
        "volcano.sh/job-namespace": arena.namespace,
    }
    assert arena.client.exists(f"/apis/networking.k8s.io/v1/namespaces/{arena.namespace}/networkpolicies/net")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("net-my-worker-1", "net")
    env = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert (env["VK_TASK_INDEX"], env["VC_TASK_INDEX"]) == ("1", "1")
    assert {"VC_PS_HOSTS", "VC_MY_WORKER_NUM"} <= set(env)
    assert {
        (owner["kind"], owner["controller"])
        for each in (hosts, service)
        for owner in each["metadata"]["ownerReferences"]
    } == {("Job", True)}


def test_the_podgroup_of_a_job_says_what_the_gang_needs(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    arena.apply(arena.job("spec", arena.task("a", 1), arena.task("b", 2, minAvailable=1), minAvailable=2))
    arena.wait_bound(3)

    (group,) = arena.client.get(arena.groups)["items"]

    assert group["metadata"]["name"] == f"spec-{group['metadata']['ownerReferences'][0]['uid']}"
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minTaskMember"] == {"a": 1, "b": 1}
    assert group["spec"]["queue"] == "default"
    assert group["spec"]["minResources"]["cpu"] == "2"


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


def test_a_job_in_a_missing_queue_says_so_and_runs_when_the_queue_comes(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    queue = f"{arena.namespace}-late"
    arena.apply(arena.job("early", arena.task(replicas=2), queue=queue))

    def warned(kind: str) -> bool:
        return any(each[:2] == (kind, "Warning") and queue in each[3] for each in arena.events("early"))

    arena.wait(lambda: warned("Job"), "a Warning on the Job")
    arena.never_bound(0.5)

    assert arena.queue("late") == queue
    arena.wait_bound(2, timeout_s=45)


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


def test_negative_replicas_are_refused_with_the_servers_sentence(vcray: Program, arena: Arena) -> None:
    job = arena.job("bad", arena.task())
    job["spec"]["tasks"][0]["replicas"] = -1

    said = arena.server.kubectl("apply", "-f", "-", stdin=json.dumps(job))

    assert said.returncode == 1
    assert "spec.tasks[0].replicas" in said.stderr
    assert "should be greater than or equal to 0" in said.stderr
    assert not arena.client.get(f"{JOBS}/namespaces/{arena.namespace}/jobs")["items"]


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
