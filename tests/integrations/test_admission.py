"""What admission gives the pods of other operators, and to whom it gives nothing."""

from __future__ import annotations

import jsonpatch
import pytest

from tests.integrations.objects import GROUP, TASK, ray_cluster, ray_pod
from tests.webhooks.seen import Seen
from vcray.api.meta import JsonObject
from vcray.api.resources import RAYCLUSTERS
from vcray.controllers import raw
from vcray.integrations.admission import service
from vcray.integrations.known import built_in
from vcray.webhooks.base import Request, Rules

SERVICE = service(built_in())


def cluster(**given: object) -> JsonObject:
    made = ray_cluster(**given)  # type: ignore[arg-type]
    raw.table(made, "metadata")["uid"] = "u"
    return made


def dressed(pod: JsonObject, *owners: JsonObject, operation: str = "CREATE", **namespace: str) -> JsonObject:
    """The pod as the webhook leaves it."""
    seen = Seen(namespaces={"ns": {"metadata": {"name": "ns", "annotations": dict(namespace)}}})
    seen.others = {(RAYCLUSTERS, "ns", raw.name(each)): each for each in owners}
    answer = SERVICE.admit(Request(operation, "ns", "", pod, {}, seen, Rules()))
    assert answer.allowed
    made: JsonObject = jsonpatch.apply_patch(pod, list(answer.patch or ()))
    return made


def test_pod_of_an_object_with_a_queue_gets_scheduler_group_and_task() -> None:
    pod = ray_pod(cluster(), scheduler="default-scheduler")

    made = dressed(pod, cluster())

    assert raw.text(made, "spec", "schedulerName") == "volcano"
    assert raw.annotations_of(made) == {GROUP: "ray-r-pg", TASK: "w"}


def test_what_a_pod_says_already_stays() -> None:
    pod = ray_pod(cluster(), scheduler="default-scheduler")
    raw.table(pod, "metadata")["annotations"] = {GROUP: "another", "mine": "1"}

    made = dressed(pod, cluster())

    assert raw.annotations_of(made) == {GROUP: "another", "mine": "1", TASK: "w"}


def test_pod_without_a_namespace_in_it_is_of_the_namespace_it_is_created_in() -> None:
    pod = ray_pod(cluster(), scheduler="")
    del raw.table(pod, "metadata")["namespace"]

    assert raw.annotation(dressed(pod, cluster()), GROUP) == "ray-r-pg"


@pytest.mark.parametrize("scheduler", ["kai-scheduler", "yunikorn"])
def test_pod_of_another_scheduler_is_left_alone(scheduler: str) -> None:
    pod = ray_pod(cluster(), scheduler=scheduler)

    assert dressed(pod, cluster()) == pod


@pytest.mark.parametrize(
    "owners",
    [[], [cluster(queue="")], [cluster(managedBy="kueue.x-k8s.io/multikueue")], [cluster(name="other")]],
)
def test_pod_whose_owner_is_not_ours_or_not_there_is_left_alone(owners: list[JsonObject]) -> None:
    pod = ray_pod(cluster(), scheduler="default-scheduler")

    assert dressed(pod, *owners) == pod


def test_pod_of_a_namesake_is_left_alone() -> None:
    pod = ray_pod({**cluster(), "metadata": {"name": "r", "uid": "before"}}, scheduler="default-scheduler")

    assert dressed(pod, cluster()) == pod


def test_queue_of_the_namespace_makes_it_ours() -> None:
    pod = ray_pod(cluster(queue=""), scheduler="default-scheduler")

    made = dressed(pod, cluster(queue=""), **{"scheduling.volcano.sh/queue-name": "q"})

    assert raw.text(made, "spec", "schedulerName") == "volcano"


def test_pod_that_two_owners_claim_is_left_alone() -> None:
    pod = ray_pod(cluster(), scheduler="default-scheduler")
    raw.append(raw.table(pod, "metadata"), "ownerReferences", raw.owner_reference("v1", "Other", cluster()))

    assert dressed(pod, cluster()) == pod


def test_updates_are_let_pass() -> None:
    pod = ray_pod(cluster(), scheduler="default-scheduler")

    assert dressed(pod, cluster(), operation="UPDATE") == pod


def test_only_pods_with_an_operators_label_are_asked_about_and_nobody_waits_for_the_answer() -> None:
    assert "'ray.io/cluster'" in SERVICE.only
    assert not SERVICE.must_answer
