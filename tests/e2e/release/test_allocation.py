"""Which jobs are let in and placed: room, predicates, gates, queues, guarantees (Volcano's suite `schedulingaction`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.acts import taint
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import (
    conf,
    expect_running,
    expect_waiting,
    near,
    nodes_of,
    phase_of_group_of,
    set_queue,
    task,
    ungate,
)

Object = dict[str, Any]
GATE = {"name": "example.com/approval"}
TAINT = {"key": "test", "value": "closed", "effect": "NoSchedule"}
TOLERATION = {"key": "test", "operator": "Equal", "value": "closed", "effect": "NoSchedule"}


# -- room ---------------------------------------------------------------------------------------------------


def test_jobs_are_placed_while_they_fit(context: Context) -> None:
    context.fill(2)
    context.create(context.job("low", context.task("low", 1, "500m")))
    context.create(context.job("high", context.task("high", 1, 1)))
    context.create(context.job("large", context.task("large", 1, 3)))

    expect_running(context, low=1, high=1)
    expect_waiting(context, "large")


@pytest.mark.full
def test_a_partitioned_job_is_placed_without_a_topology(context: Context) -> None:
    policy = {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 2}
    context.create(context.job("parts", task(context, 2, 1, policy=policy)))

    expect_running(context, parts=2)


@pytest.mark.full
def test_a_queue_over_its_share_waits_while_one_below_it_is_served(context: Context) -> None:
    """Of four slots the first queue has three and asks first for the last one; its share is two."""
    over, below = context.queue("over"), context.queue("below")
    set_queue(context, over, reclaimable=False)
    context.create(context.job("holds", task(context, 3), queue=over))
    context.running("holds", 3)
    context.fill()
    context.create(context.job("more", task(context, 1), queue=over))
    expect_waiting(context, "more", 0.0)
    context.create(context.job("first", task(context, 1), queue=below))
    expect_waiting(context, "first", 0.0)
    context.client.request(
        "DELETE", f"{context.core}/pods?fieldSelector=spec.schedulerName%3Ddefault-scheduler"
    )

    expect_running(context, first=1)
    expect_waiting(context, "more")


# -- gates --------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_gated_job_waits_until_its_gates_are_gone(context: Context) -> None:
    context.create(context.job("gated", task(context, 2, schedulingGates=[GATE])))
    expect_waiting(context, "gated")
    ungate(context)

    expect_running(context, gated=2)


@pytest.mark.full
def test_a_gated_deployment_waits_until_its_gates_are_gone(context: Context) -> None:
    labels = {"app": "d"}
    spec = context.pod_spec(2) | {"restartPolicy": "Always", "schedulingGates": [GATE]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    path = f"/apis/apps/v1/namespaces/{context.namespace}/deployments"
    context.client.create(
        path,
        {
            "metadata": {"name": "d"},
            "spec": {"replicas": 4, "selector": {"matchLabels": labels}, "template": template},
        },
    )

    def phases() -> list[str]:
        groups = context.client.get(context.groups)["items"]
        return [(each.get("status") or {}).get("phase", "") for each in groups]

    context.wait(lambda: phases() == ["Inqueue"] and len(context.pods()) == 4, "its group to be let in")
    context.never_bound(1.0)
    ungate(context)

    context.wait(lambda: phases() == ["Running"], "its group to run")


@pytest.mark.full
def test_gated_pods_keep_no_other_job_from_being_let_in(context: Context) -> None:
    """The gated job alone asks for the whole cluster, and the two others together do once more."""
    context.create(context.job("gated", task(context, 4, schedulingGates=[GATE])))
    context.wait(lambda: len(context.of("gated", "Pending")) == 4, "the gated pods to be made")
    context.create(context.job("one", task(context, 2)), context.job("two", task(context, 2)))

    expect_running(context, one=2, two=2)
    assert len(context.of("gated", "Pending")) == 4


# -- being let in -------------------------------------------------------------------------------------------


@pytest.mark.full
def test_jobs_are_placed_without_the_action_that_lets_them_in(context: Context) -> None:
    with context.configured(conf(without=["enqueue"])):
        context.create(context.job("low", context.task("low", 1, "500m")))
        context.create(context.job("high", context.task("high", 1, 1)))

        expect_running(context, low=1, high=1)


@pytest.mark.full
@pytest.mark.parametrize(("guaranteed", "fits"), [(32, 0), (30, 1)])
def test_what_one_queue_is_guaranteed_no_other_gets(context: Context, guaranteed: int, fits: int) -> None:
    """The cluster has 32 CPUs and nothing runs on it; a job of 3 does not get what is left, one of 1 may."""
    amounts = {"cpu": guaranteed}
    context.queue("owner", guarantee={"resource": amounts}, deserved=amounts)
    queue = context.queue("guest")
    context.create(context.job("large", context.task("large", 1, 3), queue=queue))
    expect_waiting(context, "large")
    context.create(context.job("small", context.task("small", 1, 1), queue=queue))

    if fits:
        context.running("small", 1)
    else:
        expect_waiting(context, "small")
    assert phase_of_group_of(context, "large") == "Pending"


# -- predicates ---------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_pod_keeps_away_from_the_only_node_with_room(context: Context) -> None:
    context.fill(2, nodes=1)
    labels = {"job": "here"}
    context.create(context.job("here", task(context, 1, "500m", labels=labels)))
    context.running("here", 1)
    context.create(context.job("away", task(context, 1, "500m", affinity=near(labels, away=True))))

    expect_waiting(context, "away")


@pytest.mark.full
def test_a_host_port_is_used_once_a_node(context: Context) -> None:
    job = context.job("ports", context.task("worker", 8, 1), minAvailable=4)
    container = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    container["ports"] = [{"hostPort": 28080, "containerPort": 28080}]
    context.create(job)
    context.running("ports", 4)

    context.stays(lambda: len(context.of("ports", "Pending")) == 4, "four pods waiting", 1.0)
    assert len(set(nodes_of(context, "ports"))) == 4


@pytest.mark.full
def test_pods_go_to_the_node_that_they_name(context: Context) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["worker-2"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    context.create(context.job("there", task(context, 7, 1, affinity=affinity)))
    context.running("there", 7)

    assert nodes_of(context, "there") == ["worker-2"] * 7


@pytest.mark.full
@pytest.mark.parametrize(("away", "pods", "nodes"), [(False, 7, 1), (True, 4, 4)])
def test_pods_of_a_gang_go_together_or_apart(context: Context, away: bool, pods: int, nodes: int) -> None:
    labels = {"app": "same"}
    affinity = near(labels, away)
    context.create(context.job("gang", task(context, pods, 1, labels=labels, affinity=affinity)))
    context.running("gang", pods)

    assert len(set(nodes_of(context, "gang"))) == nodes


@pytest.mark.full
def test_tainted_nodes_take_those_alone_who_tolerate_it(context: Context) -> None:
    taint(context, TAINT)
    try:
        context.create(context.job("tolerant", task(context, 1, 1, tolerations=[TOLERATION])))
        context.create(context.job("other", task(context, 1, 1)))
        context.running("tolerant", 1)
        expect_waiting(context, "other")
    finally:
        taint(context)

    expect_running(context, other=1)


# -- the end of pods ----------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("members", [1, 2])
def test_a_group_runs_on_while_a_member_takes_its_time_to_stop(context: Context, members: int) -> None:
    context.group("sticky", members)
    container: Object = {
        "name": "main",
        "image": "busybox",
        "command": ["sh", "-c", "trap '' TERM; sleep 999999"],
        "resources": {"requests": {"cpu": "50m"}},
    }
    for number in range(members):
        context.pod(f"sticky-{number}", "sticky", containers=[container], terminationGracePeriodSeconds=300)

    def phase() -> str:
        return str((context.client.get(f"{context.groups}/sticky").get("status") or {}).get("phase", ""))

    context.wait(lambda: phase() == "Running", "the group to run")
    context.wait(
        lambda: all(each["status"]["phase"] == "Running" for each in context.pods()), "its pods to run"
    )
    before = context.conditions("sticky").get("Unschedulable")
    context.client.request("DELETE", f"{context.core}/pods/sticky-0")
    pod = context.client.get(f"{context.core}/pods/sticky-0")
    assert pod["metadata"]["deletionTimestamp"]

    context.stays(lambda: phase() == "Running", "the group running", 4.0)
    assert context.conditions("sticky").get("Unschedulable") == before
    assert context.client.get(f"{context.core}/pods/sticky-0")["status"]["phase"] == "Running"
