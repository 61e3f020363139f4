"""Gangs of Flink's clusters, with its operator and without."""

from __future__ import annotations

import pytest

from tests.integrations.objects import GROUP, TASK, world
from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS, FLINKDEPLOYMENTS, PODGROUPS, PODS
from vcray.controllers import raw

QUEUE = "scheduling.volcano.sh/queue-name"
RESOURCE: JsonObject = {"resource": {"cpu": 1, "memory": "2048m"}}


def cluster(**spec: object) -> JsonObject:
    body: JsonObject = {"jobManager": RESOURCE, "taskManager": RESOURCE, **spec}  # type: ignore[dict-item]
    return {
        "metadata": {"name": "f", "namespace": "ns", "annotations": {QUEUE: "q"}},
        "spec": body,
    }


def spec_for(given: JsonObject) -> JsonObject | None:
    w = world()
    w.put(FLINKDEPLOYMENTS, given)
    w.settle()
    found = w.objects.get((PODGROUPS, "ns", "flink-f-pg"))
    return None if found is None else raw.table(found, "spec")


@pytest.mark.parametrize(
    ("spec", "members", "cpu", "memory"),
    [
        ({"job": {"parallelism": 2}}, 1, "3", "6Gi"),
        (
            {"job": {"parallelism": 5}, "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2"}},
            1,
            "4",
            "8Gi",
        ),
        ({}, 1, "1", "2Gi"),
        ({"taskManager": {**RESOURCE, "replicas": 3}}, 1, "4", "8Gi"),
        ({"mode": "standalone", "taskManager": {**RESOURCE, "replicas": 3}}, 4, "4", "8Gi"),
        ({"jobManager": {"replicas": 2}, "job": {"parallelism": 0}}, 2, "2", "3200Mi"),
    ],
)
def test_room_is_kept_for_task_managers(spec, members, cpu, memory) -> None:
    found = spec_for(cluster(**spec))

    assert found is not None
    assert found["minMember"] == members
    assert found["minResources"] == {"cpu": cpu, "memory": memory}
    assert found["queue"] == "q"


def test_malformed_or_suspended_cluster_has_no_group() -> None:
    assert spec_for(cluster(flinkConfiguration={"taskmanager.numberOfTaskSlots": "0"})) is None
    assert spec_for(cluster(taskManager={"resource": {"memory": "big"}})) is None
    assert spec_for(cluster(jobManager={"resource": {"cpu": "some"}})) is None
    gone = {**cluster(job={"state": "suspended"}), "status": {"jobManagerDeploymentStatus": "MISSING"}}
    assert spec_for(gone) is None


def deployment(owner: JsonObject | None) -> JsonObject:
    labels: JsonObject = {"type": "flink-native-kubernetes", "component": "jobmanager", "app": "f"}
    metadata: JsonObject = {"name": "f", "namespace": "ns", "labels": labels}
    if owner is not None:
        reference = raw.owner_reference("flink.apache.org/v1beta1", "FlinkDeployment", owner)
        metadata["ownerReferences"] = [{**reference, "controller": False}]
    container: JsonObject = {"name": "flink-main-container", "resources": {"requests": {"cpu": "2"}}}
    pod: JsonObject = {
        "metadata": {"annotations": {} if owner else {QUEUE: "q"}},
        "spec": {"containers": [container]},
    }
    return {"metadata": metadata, "spec": {"replicas": 1, "template": pod}}


@pytest.mark.parametrize("with_operator", [True, False])
def test_task_managers_join_by_the_deployment_that_owns_them(with_operator) -> None:
    """The operator's Deployment has a plain reference to its FlinkDeployment, not that of a controller."""
    w = world()
    owner = w.put(FLINKDEPLOYMENTS, cluster(job={"parallelism": 1})) if with_operator else None
    made = w.put(DEPLOYMENTS, deployment(owner))
    labels: JsonObject = {"type": "flink-native-kubernetes", "component": "taskmanager", "app": "f"}
    references = [raw.owner_reference("apps/v1", "Deployment", made)]
    w.put(
        PODS,
        {
            "metadata": {"name": "t", "namespace": "ns", "labels": labels, "ownerReferences": references},
            "spec": {"schedulerName": "volcano"},
        },
    )
    w.settle()

    pod = w.objects[PODS, "ns", "t"]
    assert (raw.annotation(pod, GROUP), raw.annotation(pod, TASK)) == ("flink-f-pg", "taskmanager")
    group = w.objects[PODGROUPS, "ns", "flink-f-pg"]
    assert raw.controller(group)["kind"] == ("FlinkDeployment" if with_operator else "Deployment")
    assert raw.text(group, "spec", "minResources", "cpu") == "2"
