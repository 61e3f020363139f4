"""Replicas that the Ray autoscaler raises: which updates are judged, by which pods, and what is left of them."""

from __future__ import annotations

from copy import deepcopy

import jsonpatch
import pytest

from tests.integrations.objects import GROUP, TASK, ray_cluster, template
from tests.webhooks.seen import Seen
from vcray.api.meta import JsonObject
from vcray.api.resources import RAYCLUSTERS
from vcray.cel.program import compiled
from vcray.integrations.growing import services
from vcray.integrations.known import built_in
from vcray.webhooks.base import Request, Rules

(SERVICE,) = services(built_in())


def cluster(*groups: JsonObject, **spec: object) -> JsonObject:
    """A RayCluster that scales itself, with these worker groups."""
    given = {"enableInTreeAutoscaling": True, "workerGroupSpecs": list(groups), **spec}
    return ray_cluster(**given)  # type: ignore[arg-type]


def group(name: str = "w", replicas: int | None = 1, **more: object) -> JsonObject:
    made: JsonObject = {"groupName": name, "template": template("2")}
    if replicas is not None:
        made["replicas"] = replicas
    made.update(more)  # type: ignore[arg-type]
    return made


def judged(
    old: JsonObject, new: JsonObject, *places: int | None, operation: str = "UPDATE"
) -> tuple[list[int | None], tuple[str, ...], Seen]:
    """Replicas of each group as they are stored, warnings, and what was asked."""
    seen = Seen(places=places or None)
    before = deepcopy(new)
    answer = SERVICE.admit(Request(operation, "ns", "r", new, old, seen, Rules()))
    assert answer.allowed
    assert new == before
    stored = jsonpatch.apply_patch(new, list(answer.patch or ()))
    groups = stored["spec"].pop("workerGroupSpecs")
    expected = deepcopy(new["spec"])
    expected.pop("workerGroupSpecs")  # type: ignore[union-attr]
    assert stored["spec"] == expected
    return [each.get("replicas") for each in groups], answer.warnings, seen


@pytest.mark.parametrize(
    ("old", "new", "places", "stored"),
    [
        ([group()], [group(replicas=8)], [4], [4]),
        ([group()], [group(replicas=8)], [8], [8]),
        ([group()], [group(replicas=8)], [9], [8]),
        ([group()], [group(replicas=8)], [None], [8]),
        ([group()], [group(replicas=8)], [], [8]),  # nobody can say
        ([group(replicas=5)], [group(replicas=8)], [2], [5]),  # never below what it was
        ([group(replicas=0, minReplicas=3)], [group(replicas=8, minReplicas=3)], [1], [3]),
        ([group(replicas=None)], [group(replicas=2)], [0], [0]),
        ([group()], [group(replicas=20, maxReplicas=6)], [6], [20]),  # KubeRay keeps to the maximum
        ([group()], [group(replicas=20, maxReplicas=6)], [5], [5]),
        ([group(numOfHosts=4)], [group(replicas=3, numOfHosts=4)], [11], [2]),
        ([], [group(replicas=3)], [1], [1]),  # a new group
        ([group("a"), group("b", 2)], [group("b", 5), group("a", 4)], [3, 2], [3, 2]),
        ([group("a"), group("b", 2)], [group("a", 1), group("b", 4)], [3], [1, 3]),
    ],
)
def test_replicas_grow_as_far_as_there_is_room(
    old: list[JsonObject], new: list[JsonObject], places: list[int | None], stored: list[int]
) -> None:
    assert judged(cluster(*old), cluster(*new), *places)[0] == stored


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (cluster(group()), cluster(group(replicas=8), enableInTreeAutoscaling=False)),
        (cluster(group()), cluster(group(replicas=8), suspend=True)),
        (cluster(group()), cluster(group(replicas=8, suspend=True))),
        (cluster(group()), cluster(group(replicas=1))),
        (cluster(group(replicas=5)), cluster(group(replicas=2))),
        (cluster(group()), cluster(group(replicas=2, minReplicas=2))),
        (cluster(group()), cluster(group(replicas=8, template=template("2", "yunikorn")))),
        (cluster(group()), cluster(group(replicas=8, template=template("much")))),
        (cluster(group()), cluster(group(replicas=8, template={}))),
        (cluster(group()), cluster(group(replicas=8, minReplicas=-1))),
    ],
)
def test_what_is_no_growth_of_pods_of_ours_is_not_asked_about(old: JsonObject, new: JsonObject) -> None:
    replicas, warnings, seen = judged(old, new, 0)

    assert (warnings, seen.wanted) == ((), ())
    assert replicas == [each.get("replicas") for each in new["spec"]["workerGroupSpecs"]]  # type: ignore[index, union-attr, call-overload]


def test_creation_is_not_asked_about() -> None:
    assert judged({}, cluster(group(replicas=8)), 0, operation="CREATE")[2].wanted == ()


def test_warning_says_how_many_have_room_and_who_asks_again() -> None:
    _, warnings, _ = judged(cluster(group(replicas=2)), cluster(group(replicas=8)), 1)

    assert warnings == (
        "spec.workerGroupSpecs[0].replicas: 1 of 8 have room now in the queue of PodGroup ray-r-pg; "
        "it is 2 until the autoscaler asks again",
    )


def test_pods_are_asked_about_as_admission_lets_them_in() -> None:
    more = {"metadata": {"labels": {"app": "x"}, "annotations": {"mine": "1"}}}
    slices = group("s", 3, numOfHosts=2, template={**template("2"), **more})
    (_, _, seen) = judged(cluster(), cluster(slices), 6)

    (wanted,) = seen.wanted
    assert (wanted.job, wanted.role, wanted.count, wanted.hosts) == ("ns/ray-r-pg", "s", 6, 2)
    assert wanted.unit == "ray.io/worker-group-replica-name"
    assert dict(wanted.pod.metadata.annotations) == {GROUP: "ray-r-pg", TASK: "s", "mine": "1"}
    assert [each.name for each in wanted.pod.spec.init_containers] == ["wait-gcs-ready"]
    assert dict(wanted.pod.metadata.labels) == {
        "app": "x",
        "ray.io/cluster": "r",
        "ray.io/node-type": "worker",
        "ray.io/group": "s",
    }


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"enableInTreeAutoscaling": True}, True),
        ({"enableInTreeAutoscaling": False}, False),
        ({}, False),
    ],
)
def test_webhook_is_asked_about_clusters_that_scale_themselves_and_holds_up_nobody(
    spec: JsonObject, asked: bool
) -> None:
    assert (SERVICE.path, SERVICE.resource) == ("/integrations/rayclusters", RAYCLUSTERS)
    assert (SERVICE.operations, SERVICE.must_answer, SERVICE.timeout_s) == (("UPDATE",), False, 2)
    assert compiled(SERVICE.only, ("object",)).evaluate({"object": {"spec": spec}}) is asked
