"""The life of a vcjob on a real kube-apiserver, as a watch shows it."""

from __future__ import annotations

import json

from tests.e2e.arena import JOBS, Arena
from tests.e2e.program import Program

RESTART = {"event": "PodFailed", "action": "RestartJob"}


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


def test_a_job_that_says_the_least_gets_the_defaults_of_the_webhook(vcray: Program, arena: Arena) -> None:
    """No webhook is installed: minAvailable, the task's name, queue and scheduler are left out."""
    arena.node("n1", cpu=3)
    task = arena.task(replicas=2)
    del task["name"]
    job = {**arena.job("least"), "spec": {"tasks": [task]}}
    phases = arena.phases("least")
    arena.apply(job)

    assert sorted(arena.wait_bound(2)) == ["least-default0-0", "least-default0-1"]
    arena.play("Running")
    phases.wait("Pending", "Running")

    (group,) = arena.client.get(arena.groups)["items"]
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (2, "default")
    arena.play("Succeeded", ["least-default0-0"])
    arena.wait(lambda: phases.statuses[-1].get("succeeded") == 1, "the counters")
    assert phases.seen == ["Pending", "Running"]
    arena.play("Succeeded", ["least-default0-1"])
    arena.wait(lambda: phases.seen == ["Pending", "Running", "Completed"], "Completed")


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


def test_a_podgroup_deleted_by_hand_is_made_again(vcray: Program, arena: Arena) -> None:
    arena.node("n1")
    phases = arena.phases("keep")
    arena.apply(arena.job("keep", arena.task(replicas=2)))
    arena.wait_bound(2)
    arena.play("Running")
    phases.wait("Pending", "Running")
    (group,) = arena.client.get(arena.groups)["items"]

    arena.client.delete(f"{arena.groups}/{group['metadata']['name']}")
    arena.client.delete(f"{arena.core}/pods/keep-worker-1", grace_s=0)

    def made_again() -> bool:
        found = arena.client.get(arena.groups)["items"]
        return bool(found) and found[0]["metadata"]["uid"] != group["metadata"]["uid"]

    arena.wait(made_again, "another PodGroup")
    arena.wait(lambda: len(arena.bound()) == 2, "both pods to be bound")


def test_negative_replicas_are_refused_with_the_servers_sentence(vcray: Program, arena: Arena) -> None:
    job = arena.job("bad", arena.task())
    job["spec"]["tasks"][0]["replicas"] = -1

    said = arena.server.kubectl("apply", "-f", "-", stdin=json.dumps(job))

    assert said.returncode == 1
    assert "spec.tasks[0].replicas" in said.stderr
    assert "should be greater than or equal to 0" in said.stderr
    assert not arena.client.get(f"{JOBS}/namespaces/{arena.namespace}/jobs")["items"]
