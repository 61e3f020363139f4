"""Jobs, gangs and owners of other kinds on a whole cluster (Volcano's suite `schedulingbase`)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import (
    WHOLE,
    conf,
    evicted,
    expect_running,
    expect_waiting,
    group_of,
    nodes_of,
    phase_of_group_of,
    task,
    told,
)

Object = dict[str, Any]
WAITING_TIME = "sla-waiting-time"


def apps(context: Context, kind: str) -> str:
    """The path of a kind of workloads in the test's namespace."""
    group = "batch" if kind == "jobs" else "apps"
    return f"/apis/{group}/v1/namespaces/{context.namespace}/{kind}"


def workload(context: Context, name: str, replicas: int, cpu: int | str) -> Object:
    """A ReplicaSet or Deployment of servers that Volcano's scheduler places."""
    labels = {"app": name}
    spec = context.pod_spec(cpu) | {"restartPolicy": "Always"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def batch_job(context: Context, name: str, parallelism: int, *command: str, **spec: Any) -> Object:
    """A Job of Kubernetes whose pods Volcano's scheduler places; without a command they run on."""
    pod = context.pod_spec(1) | {"restartPolicy": "Never"} | spec
    if command:
        pod["containers"][0] |= {"image": "busybox", "command": list(command)}
    return {
        "metadata": {"name": name},
        "spec": {"parallelism": parallelism, "backoffLimit": 0, "template": {"spec": pod}},
    }


@pytest.mark.full
@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_as_large_as_the_cluster_end_one_after_the_other(context: Context, jobs: int) -> None:
    names = [f"j{number}" for number in range(jobs)]
    context.create(*[context.job(each, context.shell("true", replicas=4, cpu=WHOLE)) for each in names])

    def succeeded() -> list[int]:
        return [len(context.of(each, "Succeeded")) for each in names]

    context.wait(lambda: succeeded() == [4] * jobs, "all pods of all jobs to succeed")


def test_a_gang_waits_for_what_a_replica_set_holds(context: Context) -> None:
    path = apps(context, "replicasets")
    context.client.create(path, workload(context, "holder", 3, 4))
    context.wait(lambda: len(context.bound()) == 3, "the replica set to be placed")
    context.create(context.job("gang", context.shell("sleep 10", replicas=3, cpu=4)))
    expect_waiting(context, "gang")

    assert context.status("gang")["state"]["phase"] == "Pending"
    context.client.request("DELETE", f"{path}/holder", {"propagationPolicy": "Background"})

    expect_running(context, gang=3)


@pytest.mark.full
def test_a_second_gang_waits_for_a_full_cluster_and_takes_nothing(context: Context) -> None:
    context.create(context.job("first", task(context, 4)))
    context.running("first", 4)
    context.create(context.job("second", task(context, 4)))
    expect_waiting(context, "second")

    assert context.status("second")["state"]["phase"] == "Pending"
    assert len(context.of("first", "Running")) == 4
    assert not evicted(context)


@pytest.mark.full
@pytest.mark.parametrize("least", [8, 4])
def test_pods_without_requests_start_with_their_gang(context: Context, least: int) -> None:
    tasks = [context.task("asks", 4, WHOLE), context.task("free", 4, 0)]
    context.create(context.job("mixed", *tasks, minAvailable=least))

    expect_running(context, mixed=8)
    assert nodes_of(context, "mixed")[:1] == ["worker-0"]


@pytest.mark.full
def test_binpack_fills_the_node_that_is_in_use(context: Context) -> None:
    """With as much weight as the spreading of nodeorder cannot outweigh."""
    packing = {"name": "binpack", "arguments": {"binpack.weight": 10}}
    with context.configured(conf(plugins={"binpack": packing})):
        context.create(context.job("base", context.task("base", 1, 1)))
        context.running("base", 1)
        context.create(context.job("more", context.task("more", 13, "500m")))
        context.running("more", 13)

        assert set(nodes_of(context, "more")) == set(nodes_of(context, "base"))


@pytest.mark.full
def test_a_job_of_kubernetes_is_placed_as_a_group(context: Context) -> None:
    context.client.create(apps(context, "jobs"), batch_job(context, "plain", 2))

    context.wait(lambda: phase_of_group_of(context, "plain") == "Running", "the group of the job to run")
    assert len(context.bound()) == 2


@pytest.mark.full
def test_a_job_of_kubernetes_is_placed_after_a_wrong_one_of_its_name_was_refused(context: Context) -> None:
    wrong = batch_job(context, "plain", 2, restartPolicy="Always")
    refusal = context.refused(lambda: context.client.create(apps(context, "jobs"), wrong))
    context.client.create(apps(context, "jobs"), batch_job(context, "plain", 2))

    assert "restartPolicy" in refusal
    context.wait(lambda: len(context.bound()) == 2, "both pods to be placed")


@pytest.mark.full
def test_a_deployment_that_asks_for_less_gets_a_group_in_place_of_its_old_one(context: Context) -> None:
    path = apps(context, "deployments")
    context.client.create(path, workload(context, "d", 3, 2))
    context.wait(lambda: len(context.bound()) == 3, "the deployment to be placed")
    [old] = context.client.get(context.groups)["items"]
    context.client.replace(f"{path}/d", workload(context, "d", 3, 1))

    def ready() -> bool:
        status = context.client.get(f"{path}/d")["status"]
        groups = [each["metadata"]["name"] for each in context.client.get(context.groups)["items"]]
        return (
            status.get("updatedReplicas") == status.get("readyReplicas") == status.get("replicas") == 3
            and len(groups) == 1
            and groups != [old["metadata"]["name"]]
        )

    context.wait(ready, "one new group and all new pods")


@pytest.mark.full
@pytest.mark.parametrize(("command", "ends"), [("sleep 2", "succeeded"), ("sleep 2 && exit 1", "failed")])
def test_the_group_of_a_job_of_kubernetes_that_ended_is_completed(
    context: Context, command: str, ends: str
) -> None:
    path = apps(context, "jobs")
    context.client.create(path, batch_job(context, "plain", 1, "sh", "-c", command))

    context.wait(lambda: phase_of_group_of(context, "plain") == "Running", "the group to run")
    context.wait(lambda: phase_of_group_of(context, "plain") == "Completed", "the group to be completed")
    context.wait(lambda: context.client.get(f"{path}/plain")["status"].get(ends) == 1, "the job to end")


def late(context: Context, name: str, replicas: int, waiting: str) -> Object:
    """A job that may wait so long for its pods to be made."""
    job = context.job(name, task(context, replicas))
    job["metadata"]["annotations"] = {WAITING_TIME: waiting}
    return job


@pytest.mark.full
def test_a_job_larger_than_the_cluster_gets_its_pods_after_its_waiting_time(context: Context) -> None:
    context.create(late(context, "overlarge", 8, "3s"))
    began = time.monotonic()
    context.wait(lambda: told(context, "overlarge"), "the job to be unschedulable")
    assert not context.pods()

    context.wait(lambda: len(context.of("overlarge", "Pending")) == 8, "its pods to be made")
    assert time.monotonic() - began > 2


@pytest.mark.full
def test_the_job_with_the_shorter_waiting_time_comes_first(context: Context) -> None:
    context.create(late(context, "overlarge", 8, "3s"))
    context.wait(lambda: len(context.of("overlarge")) == 8, "the overlarge job to have pods")
    context.create(late(context, "slow", 4, "1h"))
    context.wait(lambda: bool(group_of(context, "slow")), "the group of the slow job")
    context.create(late(context, "fast", 4, "30m"))
    context.wait(lambda: bool(group_of(context, "fast")), "the group of the fast job")
    context.stays(lambda: len(context.pods()) == 8, "no other pods made")
    context.client.delete(f"{context.jobs}/overlarge")

    expect_running(context, fast=4)
    assert not context.of("slow")
