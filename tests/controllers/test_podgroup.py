"""Groups for pods that no vcjob made."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_JOBS, PODGROUPS, PODS, REPLICASETS, STATEFULSETS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Create, Outcome, Patch
from vcray.controllers.podgroup import PodGroupController

GROUP = "scheduling.k8s.io/group-name"


def world() -> World:
    return World([PodGroupController()])


def pod(name: str = "p", owner: JsonObject | None = None, **annotations: str) -> JsonObject:
    meta: JsonObject = {"name": name, "namespace": "ns", "uid": f"uid-of-{name}"}
    if owner is not None:
        meta["ownerReferences"] = [owner]
    if annotations:
        meta["annotations"] = dict(annotations)
    container: JsonObject = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": meta, "spec": {"schedulerName": "volcano", "containers": [container]}}


def owner(kind: str, uid: str = "o1", name: str = "owner") -> JsonObject:
    return {"apiVersion": "any/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def only_group(w: World) -> JsonObject:
    assert len(w.podgroups()) == 1
    return w.podgroups()[0]


def test_plain_pod_gets_a_group_of_its_own() -> None:
    """api-controllers.md 10.35."""
    w = world()

    w.put(PODS, pod())
    w.settle()

    group = only_group(w)
    assert raw.name(group) == "podgroup-uid-of-p"
    assert raw.table(group, "spec") == {
        "minMember": 1,
        "minResources": {"count/pods": "1", "cpu": "1", "pods": "1", "requests.cpu": "1"},
    }
    assert raw.table(group, "status") == {"phase": "Pending"}
    assert raw.controller(group)["name"] == "p"
    assert raw.annotation(w.list(PODS)[0], GROUP) == "podgroup-uid-of-p"


def test_pods_of_one_controller_share_a_group_it_owns() -> None:
    """api-controllers.md 10.37."""
    w = world()

    for name in ("a", "b", "c"):
        w.put(PODS, pod(name, owner("ReplicaSet")))
    w.settle()

    group = only_group(w)
    assert raw.name(group) == "podgroup-o1"
    assert raw.controller(group) == owner("ReplicaSet")
    assert {raw.annotation(p, GROUP) for p in w.list(PODS)} == {"podgroup-o1"}


def test_pods_of_others_are_left_alone() -> None:
    w = world()
    foreign = pod("foreign")
    raw.table(foreign, "spec")["schedulerName"] = "default-scheduler"
    member = pod("member")
    raw.table(member, "metadata")["annotations"] = {GROUP: "mine"}

    w.put(PODGROUPS, {"metadata": {"name": "mine", "namespace": "ns"}, "spec": {}})
    w.put(PODS, foreign)
    w.put(PODS, member)
    w.settle()

    assert w.effects == []


@pytest.mark.parametrize(
    ("resource", "kind"),
    [(REPLICASETS, "ReplicaSet"), (STATEFULSETS, "StatefulSet"), (KUBERNETES_JOBS, "Job")],
)
def test_owner_annotations_set_the_minimum_and_are_inherited(resource: Resource, kind: str) -> None:
    """api-controllers.md 10.36."""
    w = world()
    annotations: JsonObject = {
        "scheduling.volcano.sh/group-min-member": "3",
        "volcano.sh/sla-waiting-time": "1h",
        "other/key": "x",
    }
    w.put(resource, {"metadata": {"name": "owner", "namespace": "ns", "annotations": annotations}})

    w.put(PODS, pod(owner=owner(kind)))
    w.settle()

    group = only_group(w)
    assert raw.number(group, "spec", "minMember") == 3
    assert raw.text(group, "spec", "minResources", "cpu") == "3"
    assert raw.annotations_of(group) == {"volcano.sh/sla-waiting-time": "1h"}


@pytest.mark.parametrize(("text", "minimum"), [("x", 1), ("-2", 1), ("0", 0)])
def test_minimum_that_cannot_be_is_one(text: str, minimum: int) -> None:
    w = world()
    annotations: JsonObject = {"scheduling.volcano.sh/group-min-member": text}
    w.put(REPLICASETS, {"metadata": {"name": "owner", "namespace": "ns", "annotations": annotations}})

    w.put(PODS, pod(owner=owner("ReplicaSet")))
    w.settle()

    assert raw.number(only_group(w), "spec", "minMember") == minimum


def test_pod_annotations_set_queue_topology_and_budgets() -> None:
    w = world()
    member = pod()
    raw.table(member, "spec")["priorityClassName"] = "high"
    raw.table(member, "metadata")["labels"] = {"volcano.sh/preemptable": "true", "app": "x"}
    raw.table(member, "metadata")["annotations"] = {
        "scheduling.volcano.sh/queue-name": "q",
        "volcano.sh/network-topology-mode": "SOFT",
        "volcano.sh/network-topology-highest-tier": "2",
        "volcano.sh/jdb-min-available": "1",
        "volcano.sh/jdb-max-unavailable": "1",
        "volcano.sh/preemptable": "true",
    }

    w.put(PODS, member)
    w.settle()

    group = only_group(w)
    spec = raw.table(group, "spec")
    assert (spec["queue"], spec["priorityClassName"]) == ("q", "high")
    assert spec["networkTopology"] == {"mode": "soft", "highestTierAllowed": 2}
    assert raw.annotations_of(group) == {
        "volcano.sh/preemptable": "true",
        "volcano.sh/jdb-min-available": "1",
    }
    assert raw.labels_of(group) == {"volcano.sh/preemptable": "true"}


def test_group_of_a_workload_goes_when_it_is_scaled_to_zero() -> None:
    w = world()
    workload = w.put(REPLICASETS, {"metadata": {"name": "owner", "namespace": "ns"}, "spec": {"replicas": 1}})
    w.put(PODS, pod(owner=owner("ReplicaSet", raw.uid(workload))))
    w.settle()
    assert len(w.podgroups()) == 1

    w.change(REPLICASETS, "ns", "owner", spec__replicas=0)
    w.settle()

    assert w.podgroups() == []


def test_o_007_a_group_that_goes_late_comes_back_for_the_pod_that_needs_it() -> None:
    w = world()
    workload = w.put(REPLICASETS, {"metadata": {"name": "owner", "namespace": "ns"}, "spec": {"replicas": 1}})
    w.put(PODS, pod(owner=owner("ReplicaSet", raw.uid(workload))))
    w.settle()
    group = only_group(w)

    w.remove(PODGROUPS, "ns", raw.name(group))
    w.settle()

    assert raw.name(only_group(w)) == raw.name(group)


def test_group_of_a_bare_pod_that_is_deleted_comes_back() -> None:
    w = world()
    w.put(PODS, pod())
    w.settle()

    w.remove(PODGROUPS, "ns", raw.name(only_group(w)))
    w.settle()

    assert raw.name(only_group(w)) == "podgroup-uid-of-p"


def test_group_that_goes_asks_for_its_own_pods_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at all pods of the namespace for each vcjob that ends grows with their product."""
    w = world()
    w.put(PODS, pod(owner=owner("ReplicaSet")))
    w.settle()
    group = raw.name(only_group(w))
    asked: list[str | None] = []
    listed = w.list

    def listing(resource: Resource, namespace: str | None = None) -> list[JsonObject]:
        asked.append(namespace)
        return listed(resource, namespace)

    monkeypatch.setattr(w, "list", listing)
    w.remove(PODGROUPS, "ns", group)

    assert w.queue
    assert "ns" not in asked


def test_failures_are_tried_again_without_limit() -> None:
    w = world()
    refused = Outcome(ok=False, status=500, message="slow")
    w.fail = lambda effect: refused if isinstance(effect, Create | Patch) else None
    w.put(PODS, pod())
    w.settle()
    for _ in range(30):
        w.advance(1)

    w.fail = lambda effect: None
    w.advance(1)

    assert raw.annotation(w.list(PODS)[0], GROUP) == "podgroup-uid-of-p"
    assert len(w.list(PODGROUPS)) == 1


def test_pod_that_is_gone_needs_no_group() -> None:
    w = world()
    w.put(PODS, pod())
    w.remove(PODS, "ns", "p")

    w.settle()

    assert w.effects == []
