"""NodeShards that the sharding controller writes, and what each mode makes of them (Volcano's `schedulersharding`, and
of `agentscheduler` what is about shards).

One node is labelled for the shard of the scheduler in question; all others are the other scheduler's. Pods of both
schedulers do alike: of gangs (`volcano`), and of the fast path (`agent-scheduler`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conformance.harness.base import wait_until
from tests.e2e.release.cluster import NAMESPACE, RELEASE, Release
from tests.e2e.release.context import Context

Object = dict[str, Any]
GANGS, FAST = "volcano", "agent-scheduler"
SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
CONFIGMAP = f"{RELEASE}-sharding-configmap"
LABEL = "example.com/shard"
HERE, THERE = "worker-2", "worker-1"

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("mode")]


@pytest.fixture(scope="module", params=["hard", "soft", "none"])
def mode(request: pytest.FixtureRequest, release: Release) -> Iterator[str]:
    """What NodeShards mean; with the sharding controller, and one node for each of two labels."""
    configure(release, GANGS, "here")
    flags = ["--controllers=*", f"--sharding-configmap={CONFIGMAP}"]
    with (
        labelled(release, {HERE: "here", THERE: "there"}),
        release.flagged(*flags, f"--scheduler-sharding-mode={request.param}"),
    ):
        yield str(request.param)
    for shard in release.client.get(SHARDS)["items"]:
        release.client.delete(f"{SHARDS}/{shard['metadata']['name']}")
    release.client.delete(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIGMAP}")


@pytest.fixture(params=[GANGS, FAST])
def scheduler(request: pytest.FixtureRequest, release: Release, mode: str) -> str:
    """A scheduler whose shard is one node."""
    name = str(request.param)
    shard(release, name, "here", HERE, mode)
    return name


@contextmanager
def labelled(release: Release, labels: dict[str, str]) -> Iterator[None]:
    """Nodes with the label by which a shard chooses, while the block runs."""
    for node, value in labels.items():
        release.client.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {LABEL: value}}})
    try:
        yield
    finally:
        for node in labels:
            release.client.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {LABEL: None}}})


def configure(release: Release, scheduler: str, value: str) -> None:
    """Let a scheduler have the one node with this value of the label, and the other one all others."""
    other = FAST if scheduler == GANGS else GANGS
    text = f"""
shardSyncPeriod: 1s
enableNodeEventTrigger: true
schedulerConfigs:
  - name: {scheduler}
    policies:
      - name: warmup
        weight: 100
        arguments: {{warmupLabel: {LABEL}, warmupLabelValue: {value}}}
      - {{name: node-limit, arguments: {{minNodes: 1, maxNodes: 1}}}}
  - name: {other}
    policies:
      - {{name: node-limit, arguments: {{minNodes: 1, maxNodes: 100}}}}
"""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    body = {"metadata": {"name": CONFIGMAP}, "data": {"sharding.yaml": text}}
    if release.client.exists(f"{path}/{CONFIGMAP}"):
        release.client.patch(f"{path}/{CONFIGMAP}", body)
    else:
        release.client.create(path, body)


def shard(release: Release, scheduler: str, value: str, node: str, mode: str) -> None:
    """Configure shards, and wait until they are chosen, and until schedulers that look at them use them."""
    configure(release, scheduler, value)
    other = FAST if scheduler == GANGS else GANGS
    wanted = {scheduler: [node], other: [each for each in release.workers() if each != node]}

    def chosen() -> bool:
        found = {each["metadata"]["name"]: each for each in release.client.get(SHARDS)["items"]}
        return set(found) == set(wanted) and all(
            sorted(found[name]["spec"]["nodesDesired"]) == nodes
            and (mode == "none" or sorted((found[name].get("status") or {}).get("nodesInUse", [])) == nodes)
            for name, nodes in wanted.items()
        )

    wait_until(chosen, f"the shard of {scheduler} to be {node}")


def start(context: Context, scheduler: str, name: str, cpu: int | str = "500m", replicas: int = 1) -> None:
    """Pods of a scheduler: a gang, or as many pods for themselves."""
    if scheduler == GANGS:
        context.create(context.job(name, context.task("worker", replicas, cpu)))
        return
    for number in range(replicas):
        body = {"metadata": {"name": f"{name}-worker-{number}"}, "spec": context.pod_spec(cpu, FAST)}
        context.client.create(f"{context.core}/pods", body)


def where(context: Context, name: str) -> list[str]:
    """The nodes of these pods that run."""
    return sorted(
        pod["spec"]["nodeName"]
        for pod in context.pods()
        if pod["metadata"]["name"].startswith(f"{name}-worker-") and pod["status"].get("phase") == "Running"
    )


def expect_running_on(
    context: Context, name: str, right: Callable[[list[str]], bool], replicas: int = 1
) -> None:
    """All these pods come to run, on the right nodes."""
    context.wait(lambda: len(where(context, name)) == replicas, f"{name} to run")
    assert right(where(context, name)), where(context, name)


def occupy(context: Context, cpu: int) -> None:
    """Leave so many CPUs on the one node of the shard."""
    spec = context.pod_spec(f"{7900 - 1000 * cpu}m", "default-scheduler")
    spec |= {"nodeName": HERE, "terminationGracePeriodSeconds": 0}
    context.client.create(f"{context.core}/pods", {"metadata": {"name": "placeholder"}, "spec": spec})


def test_pods_go_to_the_shard_in_modes_hard_and_soft(context: Context, scheduler: str, mode: str) -> None:
    """In mode none two pods do not both go there, for the fast path spreads them; gangs lean neither way."""
    start(context, scheduler, "pods", replicas=2)

    if mode != "none":
        expect_running_on(context, "pods", lambda nodes: nodes == [HERE, HERE], 2)
    else:
        expect_running_on(context, "pods", lambda nodes: scheduler == GANGS or nodes != [HERE, HERE], 2)


def test_a_full_shard_keeps_pods_waiting_in_mode_hard_alone(
    context: Context, scheduler: str, mode: str
) -> None:
    occupy(context, 0)
    start(context, scheduler, "pods")

    if mode != "hard":
        expect_running_on(context, "pods", lambda nodes: HERE not in nodes)
        return
    context.wait(
        lambda: any(
            reason in ("Unschedulable", "FailedScheduling") for _, _, reason, _ in context.events("pods")
        ),
        "the pod to be unschedulable",
    )
    context.stays(lambda: "pods-worker-0" not in context.bound(), "the pod waiting", 2.0)


@pytest.mark.parametrize("mode", ["none"], indirect=True)
def test_mode_none_prefers_no_shard(context: Context, mode: str, release: Release) -> None:
    """The node of the shard is busier than all others."""
    shard(release, FAST, "here", HERE, mode)
    occupy(context, 4)
    start(context, FAST, "pods")

    expect_running_on(context, "pods", lambda nodes: HERE not in nodes)


@pytest.mark.parametrize("mode", ["hard"], indirect=True)
def test_a_gang_uses_what_the_shard_becomes(context: Context, mode: str, release: Release) -> None:
    shard(release, GANGS, "here", HERE, mode)
    start(context, GANGS, "before")
    expect_running_on(context, "before", lambda nodes: nodes == [HERE])
    shard(release, GANGS, "there", THERE, mode)
    found = release.client.get(f"{SHARDS}/{GANGS}")["status"]
    assert (found.get("nodesToAdd") or [], found.get("nodesToRemove") or []) == ([], [])
    start(context, GANGS, "after")

    expect_running_on(context, "after", lambda nodes: nodes == [THERE])
    assert where(context, "before") == [HERE]
    shard(release, GANGS, "here", HERE, mode)


def test_shards_stay_while_jobs_run(context: Context, release: Release, mode: str) -> None:
    shard(release, GANGS, "here", HERE, mode)
    before = [each["spec"] for each in release.client.get(SHARDS)["items"]]
    start(context, GANGS, "pods")
    expect_running_on(context, "pods", bool)

    context.stays(
        lambda: [each["spec"] for each in release.client.get(SHARDS)["items"]] == before,
        "the same shards",
        2.0,
    )
