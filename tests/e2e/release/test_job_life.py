"""How jobs and pods come, end, grow and go (Volcano's suite `jobp` beyond what the table of admission holds)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.acts import COLLECTED_S, follow, group_phase, remove, scaled, started
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import group_of

Object = dict[str, Any]

FAR_TOO_MUCH = 10_000
"""CPUs that no cluster of these tests has."""

# -- the end --------------------------------------------------------------------------------------------------------------


def _policy(action: str) -> Object:
    return {"policies": [{"event": "PodFailed", "action": action}]}


@pytest.mark.full
@pytest.mark.parametrize(
    ("phase", "script", "cpu", "spec"),
    [
        ("Pending", "sleep 60", FAR_TOO_MUCH, {}),
        ("Running", "sleep 60", 1, {}),
        ("Completed", "sleep 1", 1, {}),
        ("Aborted", "sleep 1 && exit 3", 1, _policy("AbortJob")),
        ("Terminated", "sleep 1 && exit 3", 1, _policy("TerminateJob")),
    ],
)
def test_a_job_can_be_deleted_in_every_phase(
    context: Context, phase: str, script: str, cpu: int, spec: Object
) -> None:
    """Its pods and its PodGroup go with it."""
    seen = context.phases("going")
    context.create(context.job("going", context.shell(script, cpu=cpu), **spec))
    context.wait(lambda: seen.seen[-1:] == [phase], f"the job to be {phase}")
    if phase != "Pending":
        assert context.of("going")

    context.client.delete(f"{context.jobs}/going")

    context.wait(lambda: not context.client.exists(f"{context.jobs}/going"), "the job to go")
    context.wait(lambda: not context.pods(), "its pods to go", COLLECTED_S)
    context.wait(lambda: not context.client.get(context.groups)["items"], "its PodGroup to go", COLLECTED_S)


@pytest.mark.full
def test_a_job_with_requests_and_limits_completes(context: Context) -> None:
    task = context.shell("sleep 1", replicas=2)
    amounts = {"cpu": "1", "memory": "64Mi"}
    task["template"]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}

    started(context, context.job("sums", task)).wait("Pending", "Running", "Completed")


@pytest.mark.full
def test_an_action_on_a_job_is_told_in_an_event(context: Context) -> None:
    job = context.job("told", context.shell("sleep 1 && exit 3"), **_policy("TerminateJob"))

    started(context, job).wait("Pending", "Running", "Terminating", "Terminated")

    context.wait(
        lambda: any(
            kind == "Job" and reason == "ExecuteAction" and "TerminateJob" in text
            for kind, _, reason, text in context.events("told")
        ),
        "an event of the action",
    )


@pytest.mark.full
def test_a_gang_that_finds_no_place_is_told_on_its_podgroup_and_its_pods(context: Context) -> None:
    context.fill()
    context.create(context.job("wide", context.task("a", 2)))

    def told(kind: str, reason: str) -> bool:
        return any(each[0] == kind and each[2] == reason for each in context.events("wide"))

    context.wait(lambda: told("PodGroup", "Unschedulable"), "an event of the PodGroup")
    context.wait(lambda: told("Pod", "FailedScheduling"), "an event of its pods")
    assert (
        context.conditions(group_of(context, "wide")["metadata"]["name"])["Unschedulable"]["status"] == "True"
    )
    assert not context.of("wide", "Running")


# -- tries ----------------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_last_try_leaves_its_failed_pod(context: Context) -> None:
    spec = {**_policy("RestartJob"), "maxRetry": 2}
    seen = context.phases("tries")
    context.create(context.job("tries", context.shell("sleep 1 && exit 1"), **spec))

    follow(
        seen, "Pending", "Running", "Restarting", "Pending", "Running", "Restarting", "Failed", timeout_s=60
    )

    assert context.status("tries")["retryCount"] == 2
    assert [pod["status"]["phase"] for pod in context.of("tries")] == ["Failed"]


@pytest.mark.full
def test_a_try_that_succeeds_leaves_its_pod_and_counts_none(context: Context) -> None:
    job = context.job("tries", context.shell("sleep 1"), maxRetry=2, **_policy("RestartJob"))

    started(context, job).wait("Pending", "Running", "Completed")

    assert context.status("tries").get("retryCount", 0) == 0
    assert [pod["status"]["phase"] for pod in context.of("tries")] == ["Succeeded"]


@pytest.mark.full
def test_enough_successes_complete_a_job_before_its_other_pods_end(context: Context) -> None:
    short, long = context.shell("sleep 1", "short", 3), context.task("long", 2)
    seen = context.phases("enough")
    context.create(context.job("enough", short, long, minSuccess=2))

    follow(seen, "Pending", "Running", "Completed")

    context.wait(lambda: not any("long" in p["metadata"]["name"] for p in context.pods()), "long pods to go")
    assert len(context.of("enough", "Succeeded")) >= 2


# -- size -----------------------------------------------------------------------------------------------------------------


def _hosts(count: int) -> Object:
    """What the ConfigMap of svc says of so many workers of the job `size`."""
    names = [f"size-worker-{number}.size" for number in range(count)]
    return {
        "worker.host": "\n".join(names),
        "VC_WORKER_HOSTS": ",".join(names),
        "VC_WORKER_NUM": str(count),
    }


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param((2, 4), id="up", marks=pytest.mark.full),
        pytest.param((3, 1), id="down", marks=pytest.mark.full),
        pytest.param((2, 0, 2), id="to nothing and up again"),
    ],
)
def test_a_running_job_grows_and_shrinks_with_its_list_of_hosts(
    context: Context, counts: tuple[int, ...]
) -> None:
    """Pods of the highest numbers go first, and the job is Running all the time."""
    started(context, context.job("size", context.task("worker", counts[0]), plugins={"svc": []}))
    context.running("size", counts[0])
    path = f"{context.core}/configmaps/size-svc"
    assert context.client.get(path)["data"] == _hosts(counts[0])

    for count in counts[1:]:
        scaled(context, "size", worker=count)
        context.running("size", count)
        names = {pod["metadata"]["name"] for pod in context.of("size")}
        assert names == {f"size-worker-{number}" for number in range(count)}
        assert context.client.get(path)["data"] == _hosts(count)
        assert context.status("size")["state"]["phase"] == "Running"


@pytest.mark.full
def test_a_podgroup_asks_for_all_that_the_least_of_its_pods_need(context: Context) -> None:
    task = context.task("gpu", 2)
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    task["template"]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    context.create(context.job("asks", task))
    context.wait(lambda: bool(group_of(context, "asks")), "its PodGroup")

    assert group_of(context, "asks")["spec"]["minResources"] == {
        "count/pods": "2",
        "pods": "2",
        "cpu": "2",
        "requests.cpu": "2",
        "limits.cpu": "2",
        "memory": "2Gi",
        "requests.memory": "2Gi",
        "limits.memory": "2Gi",
        "nvidia.com/gpu": "2",
        "requests.nvidia.com/gpu": "2",
    }


# -- pods that no job of ours owns ----------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("scheduler", ["volcano", "default-scheduler"])
def test_pods_of_a_replication_controller_get_a_podgroup_if_they_are_ours(
    context: Context, scheduler: str
) -> None:
    labels = {"app": "copies"}
    spec = context.pod_spec(scheduler=scheduler) | {"restartPolicy": "Always"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    path = f"{context.core}/replicationcontrollers"
    body = {
        "metadata": {"name": "copies"},
        "spec": {"replicas": 2, "selector": labels, "template": template},
    }
    made = context.client.create(path, body)
    try:
        context.wait(lambda: len(context.pods()) == 2, "the pods to be made")
        if scheduler == "volcano":
            group = f"podgroup-{made['metadata']['uid']}"
            context.wait(lambda: group_phase(context, group) == "Running", "their PodGroup to be Running")
            context.wait_bound(2)
        else:
            context.stays(lambda: not context.client.get(context.groups)["items"], "no PodGroup", 2.0)
            assert not context.bound()
    finally:
        context.client.delete(f"{path}/copies")


@pytest.mark.full
def test_a_pod_of_another_scheduler_is_left_to_it(context: Context) -> None:
    """Whoever binds it, it runs."""
    context.pod("alien", schedulerName="default-scheduler")
    context.stays(lambda: not context.bound(), "not bound by us", 2.0)

    context.bind("alien", context.release.nodes()[0])

    context.wait(lambda: _phase(context, "alien") == "Running", "the pod to run")
    assert not context.client.get(context.groups)["items"]


@pytest.mark.full
def test_a_pod_alone_runs_in_a_podgroup_of_its_own(context: Context) -> None:
    uid = context.pod("alone")["metadata"]["uid"]

    context.wait(lambda: _phase(context, "alone") == "Running", "the pod to run")
    assert group_phase(context, f"podgroup-{uid}") == "Running"


@pytest.mark.full
def test_a_pod_that_joins_an_admitted_podgroup_runs(context: Context) -> None:
    context.group("open", 1)
    context.wait(lambda: group_phase(context, "open") == "Inqueue", "the PodGroup to be admitted")

    context.pod("late", "open")

    context.wait(lambda: _phase(context, "late") == "Running", "the pod to run")


@pytest.mark.full
def test_a_pod_of_a_podgroup_that_waits_may_be_made_and_waits(context: Context) -> None:
    context.group("wide", 1, minResources={"cpu": str(FAR_TOO_MUCH)})
    context.wait(lambda: group_phase(context, "wide") == "Pending", "the PodGroup to wait")

    context.pod("early", "wide")

    context.stays(lambda: _phase(context, "early") == "Pending" and not context.bound(), "waiting", 2.0)
    remove(context, "early")


def _phase(context: Context, pod: str) -> str:
    return str(context.client.get(f"{context.core}/pods/{pod}")["status"].get("phase", ""))
