"""What follows from objects of KubeRay alone, without its operator: traps of its own groups, and objects that cannot be read."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kuberay.goldens import amounts, by_case, cluster_spec, golden, template
from vcray.api import names
from vcray.api.resources import KUBERNETES_JOBS, PODGROUPS, PODS, RAYCLUSTERS, RAYJOBS
from vcray.cluster.operators.table import STAND_INS
from vcray.controllers import raw
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.kuberay.raycluster import RayCluster
from vcray.integrations.kuberay.rayjob import RayJob
from vcray.integrations.kuberay.rayservice import RayService

PLAIN = by_case("11, 12, 17 plain job")
CLUSTER = by_case("1 cluster of a queue")


def keeper():
    return GroupKeeper([RayCluster(), RayJob(), RayService()])


def a_job(status="", **spec):
    obj = golden(PLAIN)
    obj["metadata"]["labels"] = {names.QUEUE_NAME: "q"}
    return {**obj, "spec": {**obj["spec"], **spec}, "status": {"jobDeploymentStatus": status}}


def child_of(job, **spec):
    """The cluster of a RayJob."""
    reference = raw.owner_reference(job["apiVersion"], "RayJob", job)
    labels = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "r"}
    metadata = {"name": "r-1", "namespace": "default", "labels": labels, "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": {**cluster_spec(PLAIN), **spec}}


def of_the_operator(owner, **spec):
    """The group that KubeRay made."""
    reference = raw.owner_reference(owner["apiVersion"], owner["kind"], owner)
    metadata = {"name": "ray-r-pg", "namespace": "default", "ownerReferences": [reference]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Inqueue"}}


def the_group(world):
    return world.objects[PODGROUPS, "default", "ray-r-pg"]


def sizes(world):
    spec = the_group(world)["spec"]
    return spec["minMember"], amounts(spec.get("minResources", {}))


@pytest.mark.parametrize("case", ["T1 fewer replicas than the least", "T1 more replicas than the most"])
def test_t1_a_group_made_here_goes_by_the_replicas_that_are_made(case):
    world = World([*(make("") for make in STAND_INS["kuberay"].makes), keeper()])
    row = by_case(case)
    obj = golden(row)
    obj["metadata"]["labels"] = {names.QUEUE_NAME: "q"}

    world.put(RAYCLUSTERS, obj)
    world.settle()

    asked = {"cpu": 0}
    for pod in world.list(PODS):
        asked["cpu"] += amounts(pod["spec"]["containers"][0]["resources"]["requests"])["cpu"]
    assert sizes(world)[0] == len(world.pods())
    assert sizes(world)[1]["cpu"] == asked["cpu"]
    assert amounts(row["plugin"]["minResources"])["cpu"] != asked["cpu"]


def test_t2_a_group_made_here_counts_what_the_pods_get_beside_their_template():
    world = World([*(make("") for make in STAND_INS["kuberay"].makes), keeper()])
    obj = golden(by_case("4 autoscaler from zero"))
    obj["metadata"]["labels"] = {names.QUEUE_NAME: "q"}

    world.put(RAYCLUSTERS, obj)
    world.settle()

    (head,) = world.list(PODS)
    asked = [amounts(each["resources"]["requests"]) for each in head["spec"]["containers"]]
    assert sizes(world)[1] == {name: sum(each[name] for each in asked) for name in asked[0]}


def test_t20_a_group_keeps_room_for_a_submitter_that_has_no_pod_yet():
    world = World([keeper()])
    job = world.put(RAYJOBS, a_job("Running"))
    world.put(RAYCLUSTERS, child_of(job))
    world.put(KUBERNETES_JOBS, {"metadata": {"name": "r", "namespace": "default"}})

    world.settle()

    assert sizes(world) == (2, amounts({"cpu": "2500m", "memory": "3272Mi"}))
    assert the_group(world)["spec"]["minTaskMember"] == {"headgroup": 1, "g0": 1}


@pytest.mark.parametrize("status", ["Complete", "Failed"])
def test_t21_a_group_that_its_operator_left_with_a_finished_job_holds_nothing(status):
    world = World([keeper()])
    job = world.put(RAYJOBS, a_job("Running"))
    cluster = world.put(RAYCLUSTERS, child_of(job))
    left = world.put(PODGROUPS, of_the_operator(job, minMember=31, minResources={"cpu": "30"}))
    world.settle()
    world.change(RAYJOBS, "default", "r", status__jobDeploymentStatus=status)
    world.settle()
    assert names.RELEASED not in raw.annotations_of(the_group(world))

    world.remove(RAYCLUSTERS, "default", raw.name(cluster))
    world.settle()

    assert raw.annotations_of(the_group(world)) == {names.RELEASED: "finished"}
    assert the_group(world)["spec"] == left["spec"]


def test_t22_a_group_that_its_operator_left_with_a_suspended_cluster_holds_nothing_without_pods():
    world = World([keeper()])
    obj = {**golden(CLUSTER), "spec": {**cluster_spec(CLUSTER), "suspend": True}}
    cluster = world.put(RAYCLUSTERS, obj)
    world.put(PODGROUPS, of_the_operator(cluster, minMember=3, minResources={"cpu": "3"}))
    reference = raw.owner_reference(obj["apiVersion"], "RayCluster", cluster)
    labels = {"ray.io/cluster": "r", "ray.io/node-type": "head"}
    metadata = {"name": "p", "namespace": "default", "labels": labels, "ownerReferences": [reference]}
    world.put(PODS, {"metadata": metadata, "spec": {"schedulerName": "volcano"}})
    world.settle()
    assert names.RELEASED not in raw.annotations_of(the_group(world))

    world.remove(PODS, "default", "p")
    world.settle()
    assert raw.annotations_of(the_group(world)) == {names.RELEASED: "suspended"}

    world.change(RAYCLUSTERS, "default", "r", spec__suspend=False)
    world.settle()
    assert names.RELEASED not in raw.annotations_of(the_group(world))


def test_t27_a_group_that_goes_while_the_cluster_lives_comes_back():
    world = World([keeper()])
    job = world.put(RAYJOBS, a_job("Complete"))
    world.put(RAYCLUSTERS, child_of(job))
    world.put(PODGROUPS, of_the_operator(job, minMember=2, minResources={"cpu": "2500m"}))
    world.settle()

    world.remove(PODGROUPS, "default", "ray-r-pg")
    world.settle()

    assert sizes(world) == (2, amounts({"cpu": "2", "memory": "3Gi"}))
    assert the_group(world)["spec"]["queue"] == "q"


@pytest.mark.parametrize("suspended_by", ["job", "cluster"])
def test_t34_a_job_whose_cluster_is_suspended_holds_nothing(suspended_by):
    world = World([keeper()])
    job = world.put(RAYJOBS, a_job("Initializing", suspend=suspended_by == "job"))
    world.put(RAYCLUSTERS, child_of(job, suspend=suspended_by == "cluster"))
    world.settle()
    if suspended_by == "job":
        assert sizes(world)[0] == 2
        world.remove(RAYCLUSTERS, "default", "r-1")
        world.settle()

    assert sizes(world) == (0, {})


def test_t28_no_room_is_held_for_an_object_whose_operator_does_nothing():
    world = World([keeper()])
    obj = golden(CLUSTER)
    obj["metadata"]["labels"] = {names.QUEUE_NAME: "q"}
    world.put(RAYCLUSTERS, obj)
    world.put(RAYJOBS, a_job("Initializing"))
    world.settle()

    assert world.podgroups() == []


BROKEN = [
    ({"headGroupSpec": {}}, "spec.headGroupSpec.template: a pod template with containers is missing"),
    ({"workerGroupSpecs": [{"replicas": -1, "groupName": "w", "template": template()}]}, "replicas: must be"),
    ({"workerGroupSpecs": [{"replicas": "two", "groupName": "w", "template": template()}]}, "got 'two'"),
    (
        {"workerGroupSpecs": [{"groupName": "w", "minReplicas": 3, "maxReplicas": 2}]},
        "minReplicas 3 is above",
    ),
    ({"workerGroupSpecs": [{"template": template()}]}, "workerGroupSpecs[0].groupName: must be given"),
    ({"workerGroupSpecs": [{"groupName": "w"}]}, "workerGroupSpecs[0].template: a pod template"),
    (
        {"workerGroupSpecs": [{"groupName": "headgroup", "template": template()}]},
        "'headgroup' is there twice",
    ),
]


@pytest.mark.parametrize(("spec", "sentence"), BROKEN, ids=[each[1] for each in BROKEN])
def test_an_object_that_cannot_be_read_gets_an_event_and_nothing_else(spec, sentence):
    world = World([keeper()])
    obj = {**golden(CLUSTER), "spec": {**cluster_spec(CLUSTER), **spec}}
    obj["metadata"]["labels"] = {names.QUEUE_NAME: "q"}
    cluster = world.put(RAYCLUSTERS, obj)
    reference = raw.owner_reference(obj["apiVersion"], "RayCluster", cluster)
    metadata = {
        "name": "p",
        "namespace": "default",
        "labels": {"ray.io/cluster": "r"},
        "ownerReferences": [reference],
    }
    world.put(PODS, {"metadata": metadata, "spec": {}})
    world.settle()

    assert [reason for reason, _ in world.events] == ["InvalidSpec"] * len(world.events) != []
    assert sentence in world.events[0][1]
    assert world.podgroups() == []
    assert world.errors == []
