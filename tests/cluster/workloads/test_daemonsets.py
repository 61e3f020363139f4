"""DaemonSets: which nodes they want, how they replace pods, and both under virtual time with pods bound by the test."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import pytest

from tests.cluster.workloads.sets_world import LABELS, SetsWorld, played, template
from vcray.api.jsonview import dig, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONTROLLERREVISIONS, DAEMONSETS, NODES, PODS
from vcray.cluster.workloads.daemonset.placing import Placing, Verdict, daemon_for, tolerations
from vcray.cluster.workloads.daemonset.plan import FailurePace, Scene, manage
from vcray.cluster.workloads.daemonset.rollout import roll
from vcray.cluster.workloads.podview import (
    Condition,
    PodHead,
    PodSpecView,
    PodStatusView,
    PodView,
    view_of,
)
from vcray.kube.client import Propagation

NOW = 1000.0
RUN, STAY, GO = Verdict(True, True), Verdict(False, True), Verdict(False, False)


def node(name: str = "n", *taints: str, **labels: str) -> JsonObject:
    """A node with taints written `key=value:effect`."""
    made: list[JsonValue] = []
    for each in taints:
        pair, _, effect = each.rpartition(":")
        key, _, value = pair.partition("=")
        made.append({"key": key, "value": value, "effect": effect})
    return {"metadata": {"name": name, "labels": {**labels}}, "spec": {"taints": made}}


def daemons(
    surge: JsonValue = 0, missing: JsonValue = 1, kind: str = "RollingUpdate", **pod: object
) -> JsonObject:
    strategy: JsonObject = {"type": kind}
    if kind == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": missing}
    return {
        "metadata": {"name": "agent", "namespace": "default", "uid": "set"},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "template": template(**pod),  # type: ignore[arg-type]
            "updateStrategy": strategy,
        },
    }


# -- nodes ----------------------------------------------------------------------------------------------------


def required(*terms: JsonObject) -> JsonObject:
    selector: JsonObject = {"nodeSelectorTerms": [*terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def asks(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}


def named(operator: str, *values: str) -> JsonObject:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [*values]}]}


@pytest.mark.parametrize(
    ("pod", "where", "verdict"),
    [
        ({}, node(), RUN),
        ({}, node("n", "a=b:NoSchedule"), STAY),
        ({}, node("n", "a=b:NoExecute"), GO),
        ({}, node("n", "a=b:PreferNoSchedule"), RUN),
        ({}, node("n", "node.kubernetes.io/unschedulable=:NoSchedule"), RUN),
        ({}, node("n", "node.kubernetes.io/not-ready=:NoExecute"), RUN),
        ({}, node("n", "node.kubernetes.io/not-ready=:NoSchedule"), STAY),
        ({}, node("n", "node.kubernetes.io/network-unavailable=:NoSchedule"), STAY),
        ({"hostNetwork": True}, node("n", "node.kubernetes.io/network-unavailable=:NoSchedule"), RUN),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, node("n", "a=b:NoExecute"), RUN),
        ({"tolerations": [{"key": "a", "value": "c"}]}, node("n", "a=b:NoSchedule"), STAY),
        ({"tolerations": [{"operator": "Exists"}]}, node("n", "a=b:NoExecute", "c=:NoSchedule"), RUN),
        ({"nodeName": "n"}, node(), RUN),
        ({"nodeName": "m"}, node(), GO),
        ({"nodeSelector": {"zone": "a"}}, node(zone="a"), RUN),
        ({"nodeSelector": {"zone": "a"}}, node(zone="b"), GO),
        ({"affinity": required(asks("zone", "In", "a"), asks("zone", "In", "b"))}, node(zone="b"), RUN),
        ({"affinity": required(asks("zone", "NotIn", "a"))}, node(zone="a"), GO),
        ({"affinity": required(asks("zone", "DoesNotExist"))}, node(), RUN),
        ({"affinity": required(asks("size", "Gt", "4"))}, node(size="5"), RUN),
        ({"affinity": required(asks("size", "Gt", "4"))}, node(size="4"), GO),
        ({"affinity": required(asks("size", "Lt", "4"))}, node(size="3"), RUN),
        ({"affinity": required(asks("size", "Lt", "4"))}, node(size="x"), GO),
        ({"affinity": required(named("In", "n"))}, node(), RUN),
        ({"affinity": required(named("NotIn", "n"))}, node(), GO),
        ({"affinity": required({})}, node(), GO),
        ({"affinity": {"nodeAffinity": {}}}, node(), RUN),
    ],
)
def test_template_and_taints_say_which_nodes_want_a_pod(
    pod: JsonObject, where: JsonObject, verdict: Verdict
) -> None:
    owner: JsonObject = {"spec": {"template": {"spec": pod}}}

    assert Placing(owner).verdict(where) == verdict


def test_toleration_of_a_silent_node_loses_its_limit() -> None:
    brief: JsonObject = {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    made = tolerations({"tolerations": [brief, {"key": "mine", "operator": "Exists"}]})

    assert made[0] == {name: value for name, value in brief.items() if name != "tolerationSeconds"}
    assert [each["key"] for each in made].count("node.kubernetes.io/unreachable") == 1
    assert len(made) == 7


def test_affinity_of_a_pod_names_its_node_and_keeps_what_the_template_prefers() -> None:
    prefers: JsonObject = {"weight": 1, "preference": asks("disk", "Exists")}
    affinity = required(asks("zone", "In", "a"))
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [prefers]  # type: ignore
    affinity["podAntiAffinity"] = {}

    pod = daemon_for(daemons(affinity=affinity), "mark", "n")

    assert view_of(pod).target_node == "n"
    whole = dig(pod, "spec", "affinity")
    assert dig(whole, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution") == [prefers]
    assert dig(whole, "podAntiAffinity") == {}
    assert dig_strings(pod, "metadata", "labels")["controller-revision-hash"] == "mark"


@pytest.mark.parametrize(
    ("spec", "target"),
    [
        ({"nodeName": "m", "affinity": required(named("In", "n"))}, "m"),
        ({"affinity": required(named("In", "n"))}, "n"),
        ({"affinity": required(named("In", "n", "m"))}, ""),
        ({"affinity": required(named("NotIn", "n"))}, ""),
        ({"affinity": {}}, ""),
        ({}, ""),
    ],
)
def test_pod_that_waits_belongs_to_the_node_in_its_affinity(spec: JsonObject, target: str) -> None:
    assert view_of({"metadata": {"name": "p"}, "spec": spec}).target_node == target


# -- coming and going -----------------------------------------------------------------------------------------


def pod(
    name: str, mark: str = "new", ready: bool = True, phase: str = "Running", age: float = 100.0
) -> PodView:
    """A pod, ready for all its `age` in seconds; of the node that its name begins with."""
    since = datetime.fromtimestamp(NOW - age, UTC)
    head = PodHead(
        name=name, namespace="default", creation_timestamp=since, labels={"controller-revision-hash": mark}
    )
    condition = Condition("Ready", "True" if ready else "False", None, since)
    return PodView(head, PodSpecView(name[0]), PodStatusView(phase, conditions=(condition,)))


def scene(owner: JsonObject, *pods: PodView, nodes: str = "abcd", closed: str = "") -> Scene:
    there = {name: node(name, *(["x=:NoSchedule"] if name in closed else [])) for name in nodes}
    return Scene.of(owner, "new", NOW, there, pods)


def gone(of: Scene) -> tuple[list[str], list[str]]:
    """Nodes that get a pod and pods that go, by a rollout."""
    plan = roll(of)
    return plan.create, [each.metadata.name for each in plan.delete]


OLD = [pod(f"{name}-old", "old") for name in "abcd"]


@pytest.mark.parametrize(
    ("missing", "pods", "expected"),
    [
        (1, OLD, ["a-old"]),
        ("50%", OLD, ["a-old", "b-old"]),
        ("30%", OLD, ["a-old", "b-old"]),
        (0, OLD, ["a-old"]),
        (1, [pod("a-new", ready=False), *OLD[1:]], []),
        (2, [pod("a-new", ready=False), *OLD[1:]], ["b-old"]),
        (1, [pod("a-new"), *OLD[1:]], ["b-old"]),
        (1, [*OLD[:3], pod("d-old", "old", ready=False)], ["d-old"]),
        (1, OLD[1:], []),
        (2, [pod("a-x", "old"), *OLD], ["b-old"]),
    ],
)
def test_old_pods_go_while_not_too_many_nodes_are_without(
    missing: JsonValue, pods: list[PodView], expected: list[str]
) -> None:
    assert gone(scene(daemons(missing=missing), *pods)) == ([], expected)


@pytest.mark.parametrize(
    ("surge", "pods", "expected"),
    [
        (1, OLD, (["a"], [])),
        ("50%", OLD, (["a", "b"], [])),
        (1, [*OLD, pod("a-new", ready=False)], ([], [])),
        (2, [*OLD, pod("a-new", ready=False)], (["b"], [])),
        (1, [*OLD, pod("a-new")], (["b"], ["a-old"])),
        (1, [*OLD[:3], pod("d-old", "old", ready=False)], (["d", "a"], [])),
    ],
)
def test_new_pods_come_beside_old_ones_until_they_are_available(
    surge: JsonValue, pods: list[PodView], expected: tuple[list[str], list[str]]
) -> None:
    assert gone(scene(daemons(surge=surge, missing=0), *pods)) == expected


def test_old_pods_of_closed_nodes_go_when_enough_others_are_available() -> None:
    owner = daemons(surge=1, missing=0)

    assert gone(scene(owner, *OLD, closed="d")) == (["a"], ["d-old"])
    lame = [pod("a-old", "old", ready=False), *OLD[1:]]
    assert gone(scene(owner, *lame, closed="d")) == (["a", "b"], [])


def test_new_pod_counts_only_after_its_minimum_of_ready_seconds() -> None:
    owner = daemons()
    owner["spec"]["minReadySeconds"] = 30  # type: ignore[index,call-overload]

    assert gone(scene(owner, pod("a-new", age=20.0), *OLD[1:])) == ([], [])
    assert gone(scene(owner, pod("a-new", age=40.0), *OLD[1:])) == ([], ["b-old"])


def test_node_keeps_its_oldest_pod() -> None:
    plan = manage(scene(daemons(), pod("a-2", age=1.0), pod("a-1", age=2.0), nodes="a"), FailurePace())

    assert [each.metadata.name for each in plan.delete] == ["a-2"]


@pytest.mark.parametrize(
    ("old", "new", "deleted"),
    [
        (pod("a-old", "old"), pod("a-new", ready=False), []),
        (pod("a-old", "old"), pod("a-new"), ["a-old"]),
        (pod("a-old", "old", ready=False), pod("a-new", ready=False), ["a-old"]),
    ],
)
def test_surging_node_keeps_the_old_pod_until_the_new_one_serves(
    old: PodView, new: PodView, deleted: list[str]
) -> None:
    plan = manage(scene(daemons(surge=1, missing=0), old, new, nodes="a"), FailurePace())

    assert [each.metadata.name for each in plan.delete] == deleted


def test_failed_pods_of_a_node_are_replaced_after_ever_longer_pauses() -> None:
    pace, owner = FailurePace(), daemons()
    waits = [pace.wait(owner, "n", at) for at in (0.0, 0.25, 1.0, 2.0, 3.0, 5.0)]

    assert waits == [0.0, 0.75, 0.0, 1.0, 0.0, 2.0]
    assert pace.wait(owner, "m", 5.0) == 0.0
    assert pace.wait(owner, "n", 5000.0) == 0.0
    assert pace.wait(owner, "n", 5000.5) == 0.5
    pace.forget("set")
    assert pace.wait(owner, "n", 5000.5) == 0.0


# -- in a cluster ---------------------------------------------------------------------------------------------


async def agents(world: SetsWorld, **more: object) -> None:
    spec: JsonObject = {"selector": {"matchLabels": LABELS}, "template": template()}
    await world.create(DAEMONSETS, "agent", {**spec, **more})  # type: ignore[dict-item]


async def bind(world: SetsWorld) -> None:
    """Do what a scheduler does for such pods."""
    for each in await world.items(PODS):
        target = view_of(each).target_node
        if not dig_str(each, "spec", "nodeName"):
            await world.client.bind("default", dig_str(each, "metadata", "name"), target)
    await world.pass_time(3)


async def placed(world: SetsWorld) -> list[str]:
    return sorted(view_of(each).target_node for each in await world.items(PODS))


@partial(played, nodes=2)
async def test_every_node_gets_a_pod_also_one_that_comes_later(world: SetsWorld) -> None:
    await agents(world)
    await bind(world)
    status = await world.status(DAEMONSETS, "agent")
    assert (status["desiredNumberScheduled"], status["numberAvailable"]) == (2, 2)

    await world.client.create(NODES, None, {"metadata": {"name": "late"}})
    await world.pass_time(1)
    assert await placed(world) == ["late", "node-0", "node-1"]
    status = await world.status(DAEMONSETS, "agent")
    assert (status["currentNumberScheduled"], status["numberReady"], status["numberUnavailable"]) == (3, 2, 1)

    await world.client.delete(NODES, None, "late")
    await world.pass_time(1)
    assert await placed(world) == ["node-0", "node-1"]


@played
async def test_pods_become_available_after_their_minimum_of_ready_seconds(world: SetsWorld) -> None:
    await agents(world, minReadySeconds=20)
    await bind(world)
    assert (await world.status(DAEMONSETS, "agent"))["numberUnavailable"] == 1

    await world.pass_time(20)

    assert (await world.status(DAEMONSETS, "agent"))["numberAvailable"] == 1


@played
async def test_ended_pods_are_replaced_and_told_of(world: SetsWorld) -> None:
    await agents(world)
    for phase in ("Failed", "Succeeded", "Failed"):
        await bind(world)
        [name] = await world.names(PODS)
        await world.patch(PODS, name, {"status": {"phase": phase}}, "status")
        await world.pass_time(3)
        assert await world.names(PODS) != [name]
    assert {"FailedDaemonPod", "SucceededDaemonPod"} <= await world.reasons()


@played
async def test_ended_pod_that_a_finalizer_holds_back_is_replaced_at_once(world: SetsWorld) -> None:
    await agents(world)
    await bind(world)
    [name] = await world.names(PODS)
    await world.patch(PODS, name, {"metadata": {"finalizers": ["example.com/wait"]}})

    await world.patch(PODS, name, {"status": {"phase": "Failed"}}, "status")
    await world.pass_time(1)

    assert name in await world.names(PODS)
    assert len(await world.names(PODS)) == 2


@played
async def test_only_labels_and_taints_of_nodes_bring_a_turn(world: SetsWorld) -> None:
    await agents(world)
    [controller] = [each for each in world.workloads.controllers if each.name == "daemonset-controller"]
    added: list[str] = []
    setattr(controller.queue, "add", added.append)  # noqa: B010

    await world.client.patch(NODES, None, "node-0", {"metadata": {"annotations": {"a": "b"}}})
    await world.pass_time(1)
    assert added == []
    await world.client.patch(NODES, None, "node-0", {"metadata": {"labels": {"a": "b"}}})
    await world.pass_time(1)
    assert added == ["default/agent"]


@partial(played, nodes=3)
async def test_rollout_goes_from_node_to_node(world: SetsWorld) -> None:
    await agents(world)
    await bind(world)

    await world.patch(DAEMONSETS, "agent", {"spec": {"template": template(image="nginx:2")}})
    await world.pass_time(1)
    assert sorted((await world.images()).values()) == ["nginx", "nginx", "nginx:2"]
    status = await world.status(DAEMONSETS, "agent")
    assert (status["updatedNumberScheduled"], status["numberAvailable"]) == (1, 2)

    for _ in range(3):
        await bind(world)
    assert set((await world.images()).values()) == {"nginx:2"}
    assert len(await world.names(CONTROLLERREVISIONS)) == 2


@played
async def test_on_delete_pods_are_updated_when_they_are_deleted(world: SetsWorld) -> None:
    await agents(world, updateStrategy={"type": "OnDelete"})
    await bind(world)
    await world.patch(DAEMONSETS, "agent", {"spec": {"template": template(image="nginx:2")}})
    await world.pass_time(1)
    assert set((await world.images()).values()) == {"nginx"}

    await world.delete(PODS, (await world.names(PODS))[0])
    await world.pass_time(1)
    assert set((await world.images()).values()) == {"nginx:2"}


@played
async def test_orphans_are_taken_over_with_their_history_by_a_set_that_comes_again(world: SetsWorld) -> None:
    await agents(world)
    await bind(world)
    before = await world.names(PODS), await world.names(CONTROLLERREVISIONS)
    await world.client.delete(DAEMONSETS, "default", "agent", propagation=Propagation.ORPHAN)
    await world.pass_time(1)
    assert await world.names(DAEMONSETS) == []

    await agents(world)
    await world.pass_time(3)

    assert (await world.names(PODS), await world.names(CONTROLLERREVISIONS)) == before
    for resource in (PODS, CONTROLLERREVISIONS):
        [found] = await world.items(resource)
        owners = [dig_str(each, "kind") for each in dig_objects(found, "metadata", "ownerReferences")]
        assert owners == ["DaemonSet"]
    assert (await world.status(DAEMONSETS, "agent"))["updatedNumberScheduled"] == 1
