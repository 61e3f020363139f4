"""Objects that are half written or wrong, of every kind: an event on the object that says where, and nothing else."""

from __future__ import annotations

import pytest

from tests.integrations.objects import GROUP, template, world
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CLUSTERTRAININGRUNTIMES,
    DASKAUTOSCALERS,
    DASKCLUSTERS,
    DASKJOBS,
    DEPLOYMENTS,
    FLINKDEPLOYMENTS,
    JAXJOBS,
    JOBSETS,
    LEADERWORKERSETS,
    MPIJOBS,
    MPIJOBS_V1,
    NATIVE_PODGROUPS,
    PADDLEJOBS,
    PODS,
    PYTORCHJOBS,
    RAYCLUSTERS,
    RAYJOBS,
    RAYSERVICES,
    SPARKAPPLICATIONS,
    TFJOBS,
    TRAINJOBS,
    XGBOOSTJOBS,
    Resource,
)
from vcray.controllers import raw
from vcray.controllers.base import Emit
from vcray.integrations.known import built_in

QUEUE = "scheduling.volcano.sh/queue-name"
TRAINING = {
    PYTORCHJOBS: "pytorchReplicaSpecs",
    TFJOBS: "tfReplicaSpecs",
    MPIJOBS_V1: "mpiReplicaSpecs",
    MPIJOBS: "mpiReplicaSpecs",
    XGBOOSTJOBS: "xgbReplicaSpecs",
    PADDLEJOBS: "paddleReplicaSpecs",
    JAXJOBS: "jaxReplicaSpecs",
}
RAY = {RAYCLUSTERS: (), RAYJOBS: ("rayClusterSpec",), RAYSERVICES: ("rayClusterConfig",)}
HEAD: JsonObject = {"headGroupSpec": {"template": template()}}
SIZED: JsonObject = {"size": 2, "workerTemplate": template()}
BOTH: JsonObject = {"scheduler": template(), "worker": template()}


def workers(**given: object) -> JsonObject:
    return {**HEAD, "workerGroupSpecs": [{"groupName": "w", "template": template(), **given}]}  # type: ignore[dict-item]


def under(spec: JsonObject, *path: str) -> JsonObject:
    for each in reversed(path):
        spec = {each: spec}
    return spec


def replicated(**given: object) -> JsonObject:
    return {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template(), **given}}}]}  # type: ignore[dict-item]


ROWS: list[tuple[Resource, JsonObject, str]] = [
    (JOBSETS, {}, "spec.replicatedJobs"),
    (JOBSETS, replicated(parallelism=-1), "spec.replicatedJobs[0].template.spec.parallelism"),
    (JOBSETS, replicated(template={}), "spec.replicatedJobs[0].template.spec.template"),
    (TRAINJOBS, {}, "spec.runtimeRef"),
    (TRAINJOBS, {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": -1}}, "spec.trainer.numNodes"),
    (LEADERWORKERSETS, {}, "spec.leaderWorkerTemplate.workerTemplate"),
    (LEADERWORKERSETS, {"leaderWorkerTemplate": {**SIZED, "size": -1}}, "spec.leaderWorkerTemplate.size"),
    (LEADERWORKERSETS, {"replicas": -1, "leaderWorkerTemplate": SIZED}, "spec.replicas"),
    (SPARKAPPLICATIONS, {"executor": {"instances": -1}}, "spec.executor.instances"),
    (SPARKAPPLICATIONS, {"driver": {"memory": "much"}}, "spec.driver.memory"),
    (DASKCLUSTERS, {"worker": template()}, "spec.scheduler"),
    (DASKCLUSTERS, {**BOTH, "worker": {**template(), "replicas": -1}}, "spec.worker.replicas"),
    (DASKJOBS, {"cluster": {"spec": BOTH}}, "spec.job"),
    (FLINKDEPLOYMENTS, {"taskManager": {"replicas": -1}}, "spec.taskManager.replicas"),
    (FLINKDEPLOYMENTS, {"jobManager": {"resource": {"memory": "much"}}}, "spec.jobManager.resource.memory"),
    (DEPLOYMENTS, {"replicas": -1, "template": template()}, "spec.replicas"),
    (DEPLOYMENTS, {}, "spec.template"),
    (NATIVE_PODGROUPS, {"schedulingPolicy": {"gang": {}}}, "spec.schedulingPolicy.gang.minCount"),
    (
        NATIVE_PODGROUPS,
        {"schedulingPolicy": {"gang": {"minCount": -1}}},
        "spec.schedulingPolicy.gang.minCount",
    ),
    (
        PODS,
        raw.table(template("1", "volcano"), "spec"),
        "metadata.annotations[scheduling.volcano.sh/group-min-resources]",
    ),
]
for _kind, _field in TRAINING.items():
    _where = f"spec.{_field}"
    ROWS += [
        (_kind, {}, _where),
        (_kind, {_field: {"Worker": {"replicas": -1, "template": template()}}}, f"{_where}.Worker.replicas"),
        (_kind, {_field: {"Worker": {}}}, f"{_where}.Worker.template"),
        (_kind, {_field: {"Boss": {"template": template()}}}, f"{_where}.Boss"),
    ]
for _kind, _path in RAY.items():
    _where = ".".join(("spec", *_path))
    ROWS += [
        (_kind, {}, f"{_where}.headGroupSpec.template"),
        (_kind, under(workers(replicas=-1), *_path), f"{_where}.workerGroupSpecs[0].replicas"),
        (_kind, under(workers(template={}), *_path), f"{_where}.workerGroupSpecs[0].template"),
        (_kind, under(workers(groupName=""), *_path), f"{_where}.workerGroupSpecs[0].groupName"),
    ]


def of(resource: Resource, spec: JsonObject) -> JsonObject:
    """An object `x` of a queue."""
    notes: JsonObject = {QUEUE: "q"}
    labels: JsonObject = {}
    if resource == DEPLOYMENTS:
        labels = {"type": "flink-native-kubernetes", "component": "jobmanager", "app": "x"}
    if resource == PODS:
        notes |= {"scheduling.volcano.sh/group-min-resources": "four", GROUP: "x-podgroup"}
        labels = {"spark-role": "driver", "spark-app-selector": "x"}
    head: JsonObject = {"name": "x", "namespace": "ns", "annotations": notes, "labels": labels}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": head, "spec": spec}


@pytest.mark.parametrize(
    ("resource", "spec", "where"), ROWS, ids=[f"{each[0].kind}-{each[0].version}-{each[2]}" for each in ROWS]
)
def test_what_cannot_be_read_gives_an_event_on_the_object_and_nothing_else(resource, spec, where) -> None:
    w = world()
    steps: JsonObject = {"name": "node", "template": {"spec": {"template": template()}}}
    runtime: JsonObject = {"template": {"spec": {"replicatedJobs": [steps]}}}
    w.put(CLUSTERTRAININGRUNTIMES, {"metadata": {"name": "r"}, "spec": runtime})
    if resource == NATIVE_PODGROUPS:  # groups without pods of ours are not ours
        notes: JsonObject = {GROUP: "native-x"}
        member: JsonObject = {"schedulerName": "volcano", "schedulingGroup": {"podGroupName": "x"}}
        w.put(PODS, {"metadata": {"name": "p", "namespace": "ns", "annotations": notes}, "spec": member})

    w.put(resource, of(resource, spec))
    w.settle()

    told = [effect for effect in w.effects if isinstance(effect, Emit)]
    assert {(each.resource, raw.name(each.object), each.reason) for each in told} == {
        (resource, "x", "InvalidSpec")
    }
    assert {each.message.startswith(f"{where}:") for each in told} == {True}, told[0].message
    assert w.effects == told
    assert w.errors == []


MARKS = [mark for each in built_in() for mark in each.pod_labels]


@pytest.mark.parametrize("mark", sorted({*MARKS}))
def test_pod_that_two_owners_claim_gets_an_event_and_nothing_else(mark) -> None:
    key, _, value = mark.partition("=")
    w = world()
    owners = [
        raw.owner_reference(each.api_version, each.kind, w.put(each, of(each, {"template": template()})))
        for each in (RAYCLUSTERS, DASKAUTOSCALERS)
    ]
    head: JsonObject = {
        "name": "p",
        "namespace": "ns",
        "labels": {key: value or "x"},
        "ownerReferences": [*owners],
    }
    w.put(PODS, {"metadata": head, "spec": {"schedulerName": "volcano"}})
    w.settle()

    told = [effect for effect in w.effects if isinstance(effect, Emit) and effect.resource == PODS]
    assert [(raw.name(each.object), each.reason) for each in told] == [("p", "TwoOwners")]
    assert not w.podgroups()
    assert raw.annotations_of(w.objects[PODS, "ns", "p"]) == {}


def test_every_kind_that_groups_are_made_for_is_among_them() -> None:
    assert {kind for each in built_in() for kind in each.kinds} == {row[0] for row in ROWS}
