"""Native gangs: what a PodGroup of scheduling.k8s.io becomes (mode B has nothing to stand down for)."""

from __future__ import annotations

import pytest

from tests.integrations.objects import GROUP, world
from vcray.api.meta import JsonObject
from vcray.api.resources import NATIVE_PODGROUPS, NATIVE_WORKLOADS, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Outcome, Patch

ANNOTATION = "scheduling.volcano.sh/queue-name"


def native(policy: JsonObject, metadata: JsonObject | None = None, **spec: object) -> JsonObject:
    body: JsonObject = {"schedulingPolicy": policy, **spec}  # type: ignore[dict-item]
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns", **(metadata or {})},
        "spec": body,
    }


def member(name: str, scheduler: str = "volcano") -> JsonObject:
    container: JsonObject = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "schedulerName": scheduler,
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [container],
        },
    }


WORKLOAD: JsonObject = {"podGroupTemplateRef": {"workload": {"workloadName": "w"}}}


@pytest.mark.parametrize(
    ("group", "wanted"),
    [
        (native({"gang": {"minCount": 6}}), {"minMember": 6, "minResources": {"cpu": "3"}}),
        (native({"gang": {"minCount": 2}}), {"minMember": 2, "minResources": {"cpu": "2"}}),
        (native({"basic": {}}), {"minMember": 1, "minResources": {"cpu": "1"}}),
        (native({"basic": {}}, priorityClassName="high"), {"priorityClassName": "high"}),
        (native({"basic": {}}, {"annotations": {ANNOTATION: "mine"}}, **WORKLOAD), {"queue": "mine"}),
        (native({"basic": {}}, {"labels": {"volcano.sh/queue-name": "label"}}), {"queue": "label"}),
        (native({"basic": {}}, **WORKLOAD), {"queue": "of-workload"}),
        (native({"basic": {}}), {"queue": "of-namespace"}),
        (
            native({"basic": {}}, schedulingConstraints={"topology": [{"key": "rack"}]}),
            {"networkTopology": {"mode": "hard", "highestTierName": "rack"}},
        ),
    ],
)
def test_native_group_becomes_one_of_ours(group, wanted) -> None:
    """The gang of six is manifest 29 of the reference: its minimum holds although only three pods are there."""
    w = world(**{ANNOTATION: "of-namespace"})
    w.put(
        NATIVE_WORKLOADS,
        {"metadata": {"name": "w", "namespace": "ns", "annotations": {ANNOTATION: "of-workload"}}},
    )
    w.put(NATIVE_PODGROUPS, group)
    for name in "abc":
        w.put(PODS, member(name))
    w.settle()

    made = w.objects[PODGROUPS, "ns", "native-g"]
    assert {key: raw.table(made, "spec").get(key) for key in wanted} == wanted
    assert raw.controller(made)["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert {raw.annotation(pod, GROUP) for pod in w.list(PODS)} == {"native-g"}


def test_groups_of_other_schedulers_pods_are_none_of_ours() -> None:
    w = world(**{ANNOTATION: "q"})
    w.put(NATIVE_PODGROUPS, native({"gang": {"minCount": 1}}))
    w.put(PODS, member("a", "default-scheduler"))
    w.settle()

    assert not w.podgroups()
    assert not raw.annotations_of(w.list(PODS)[0])
    assert not w.did(Patch)


def conditions(w) -> list[tuple[str, str, str]]:
    found = raw.tables(w.objects[NATIVE_PODGROUPS, "ns", "g"], "status", "conditions")
    return [(raw.text(each, "type"), raw.text(each, "status"), raw.text(each, "reason")) for each in found]


def test_condition_says_when_the_gang_was_scheduled_and_is_not_taken_back() -> None:
    w = world()
    w.put(NATIVE_PODGROUPS, native({"gang": {"minCount": 1}}))
    w.change(
        NATIVE_PODGROUPS,
        "ns",
        "g",
        status={"conditions": [{"type": "DisruptionTarget", "status": "False"}]},
    )
    w.put(PODS, member("a"))
    w.settle()
    other = ("DisruptionTarget", "False", "")
    assert conditions(w) == [other]

    unschedulable = {"type": "Unschedulable", "status": "True", "message": "no room"}
    w.change(PODGROUPS, "ns", "native-g", status={"phase": "Inqueue", "conditions": [unschedulable]})
    w.settle()
    assert conditions(w) == [other, ("PodGroupScheduled", "False", "Unschedulable")]

    w.fail = lambda effect: (
        Outcome(False, status=409, reason="Conflict")
        if isinstance(effect, Patch) and effect.subresource == "status" and len(w.errors) < 1
        else None
    )
    w.change(PODGROUPS, "ns", "native-g", status={"phase": "Running"})
    w.settle()
    w.advance(2.0)
    assert conditions(w) == [other, ("PodGroupScheduled", "True", "Scheduled")]
    assert len(w.errors) == 1

    written = len(w.did(Patch))
    w.change(PODGROUPS, "ns", "native-g", status={"phase": "Pending", "conditions": [unschedulable]})
    w.settle()
    assert conditions(w) == [other, ("PodGroupScheduled", "True", "Scheduled")]
    assert len(w.did(Patch)) == written
