"""Pods of `agent-scheduler`, each for itself (of Volcano's suite `agentscheduler` what is not about shards)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.context import Context

Object = dict[str, Any]
FAST = "agent-scheduler"


def start(context: Context, name: str, cpu: int | str = "100m", **spec: Any) -> None:
    """A pod of the fast path."""
    body = {"metadata": {"name": name}, "spec": context.pod_spec(cpu, FAST) | spec}
    context.client.create(f"{context.core}/pods", body)


def condition(context: Context, name: str) -> Object:
    """What was said about the placement of a pod."""
    conditions = context.client.get(f"{context.core}/pods/{name}")["status"].get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def unschedulable(context: Context, name: str) -> None:
    """A pod is said to fit nowhere, and goes on waiting."""
    context.wait(lambda: condition(context, name).get("reason") == "Unschedulable", f"{name} to fit nowhere")
    assert condition(context, name)["status"] == "False"
    context.stays(lambda: name not in context.bound(), f"{name} waiting", 1.0)


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.full)])
def test_pods_run_without_a_group(context: Context, count: int) -> None:
    for number in range(count):
        start(context, f"pod-{number}")

    context.wait(
        lambda: [pod["status"].get("phase") for pod in context.pods()] == ["Running"] * count, "all to run"
    )
    assert not context.client.get(context.groups)["items"]


def test_pods_of_both_schedulers_run_side_by_side(context: Context) -> None:
    start(context, "quick")
    spec = context.pod_spec("50m")
    context.client.create(f"{context.core}/pods", {"metadata": {"name": "grouped"}, "spec": spec})
    context.wait_bound(2)

    scheduled_by = {
        each["involvedObject"]["name"]: each["source"].get("component") or each.get("reportingComponent")
        for each in context.client.get(f"{context.core}/events")["items"]
        if each["reason"] == "Scheduled" and each["involvedObject"]["kind"] == "Pod"
    }
    assert scheduled_by == {"quick": FAST, "grouped": "volcano"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("cpu", "spec", "message"),
    [
        (1000, {}, "4 Insufficient cpu"),
        ("50m", {"nodeSelector": {"kind": "none"}}, "4 node(s) didn't match Pod's node affinity/selector"),
    ],
    ids=["larger than every node", "of no node's kind"],
)
def test_a_pod_that_fits_nowhere_says_so(
    context: Context, cpu: int | str, spec: Object, message: str
) -> None:
    start(context, "pod", cpu, **spec)

    unschedulable(context, "pod")
    assert message in condition(context, "pod")["message"]


def test_a_pod_is_tried_again_once_a_node_is_of_its_kind(context: Context) -> None:
    start(context, "pod", nodeSelector={"kind": context.namespace})
    unschedulable(context, "pod")
    node = "/api/v1/nodes/worker-1"
    context.client.patch(node, {"metadata": {"labels": {"kind": context.namespace}}})
    try:
        context.wait(lambda: context.bound() == {"pod": "worker-1"}, "the pod to be placed")
    finally:
        context.client.patch(node, {"metadata": {"labels": {"kind": None}}})
