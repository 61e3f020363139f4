"""Groups of Kubeflow's sample objects: those of its operators' own support for Volcano, and ours where they make none."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kubeflow.goldens import ROWS, golden, resource_of
from vcray.api import names
from vcray.api.quantity import parse_quantity
from vcray.api.resources import KUBERNETES_JOBS, MPIJOBS, PODGROUPS, PODS, PYTORCHJOBS, TFJOBS
from vcray.cluster.operators.table import STAND_INS
from vcray.controllers import raw
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.known import built_in

SAMPLE = next(row for row in ROWS if row["case"].startswith("21 master"))
PI = next(row for row in ROWS if row["case"] == "24 pi")


def cluster(gang="", keeper=True):
    """Both operators, and the keeper of groups beside them."""
    makes = [make for name in ("training-operator", "mpi-operator") for make in STAND_INS[name].makes]
    return World([*(make(gang) for make in makes), *([GroupKeeper(built_in())] if keeper else [])])


def put(world, row, **given):
    """Create a row's object; its only group."""
    world.put(resource_of(row), golden(row, **given))
    world.settle()
    (group,) = world.podgroups()
    return group


def amounts(resources):
    return {name: parse_quantity(amount) for name, amount in resources.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["case"])
def test_the_operator_says_of_a_sample_what_the_real_one_says(row):
    group = put(cluster("volcano"), row)

    assert group["spec"]["minMember"] == row["plugin"]["minMember"]
    assert amounts(group["spec"].get("minResources", {})) == amounts(row["plugin"]["minResources"])
    assert names.MANAGED_BY not in raw.labels_of(group)
    assert raw.controller(group)["kind"] == row["kind"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["case"])
def test_a_group_made_here_says_the_same_or_what_starts(row):
    wanted = row.get("ours", row["plugin"])

    group = put(cluster(), row)

    everyone = {kind.lower(): role.get("n", 1) for kind, role in row["roles"].items()}
    assert group["spec"]["minMember"] == wanted["minMember"]
    assert amounts(group["spec"].get("minResources", {})) == amounts(wanted["minResources"])
    assert group["spec"].get("minTaskMember", {}) == row.get("tasks", everyone)


def test_t3_devices_that_stand_in_limits_alone_count_beside_requests():
    row = next(row for row in ROWS if row["case"] == "t3 limits beside requests")

    assert "nvidia.com/gpu" not in put(cluster("volcano"), row)["spec"]["minResources"]
    assert put(cluster(), row)["spec"]["minResources"]["nvidia.com/gpu"] == "3"


def test_t4_room_does_not_flap_with_the_order_of_replica_types():
    rows = [row for row in ROWS if "counts the master first" in row["case"]]

    theirs = [put(cluster("volcano"), row)["spec"]["minResources"] for row in rows]
    ours = [put(cluster(), row)["spec"]["minResources"] for row in rows]

    assert theirs[0] != theirs[1]
    assert ours[0] == ours[1] == {"cpu": "6"}


def test_t5_the_operator_takes_back_what_others_add_to_its_group_and_keeps_their_annotations():
    world = cluster("volcano")
    put(world, SAMPLE)

    world.change(
        PODGROUPS,
        "default",
        "j",
        spec__minTaskMember={"worker": 3},
        metadata__annotations={"vcray.io/n": "1"},
    )
    world.settle()

    (group,) = world.podgroups()
    assert "minTaskMember" not in group["spec"]
    assert raw.annotation(group, "vcray.io/n") == "1"


def test_t14_t15_tasks_are_told_by_role_where_the_operator_marks_none():
    world = cluster()
    put(world, PI)
    worker = world.objects[PODS, "default", "j-worker-0"]
    job = world.objects[KUBERNETES_JOBS, "default", "j-launcher"]
    template = raw.labels_of(raw.table(job, "spec", "template"))
    mpi = next(each for each in built_in() if each.name == "mpijob-v2")
    owner = world.objects[MPIJOBS, "default", "j"]

    assert "training.kubeflow.org/replica-type" not in {**raw.labels_of(worker), **template}
    assert raw.annotation(worker, names.TASK_SPEC) == ""
    assert mpi.member(owner, worker).task == "worker"
    assert mpi.member(owner, {"metadata": {"labels": template}}).task == "launcher"
    assert (
        mpi.member(owner, {"metadata": {"labels": {"training.kubeflow.org/replica-type": "worker"}}}) is None
    )


def test_t16_second_job_of_a_name_gets_a_group_of_another_and_is_told():
    world = cluster()
    put(world, {**SAMPLE, "roles": {"Master": {}}})

    world.put(TFJOBS, golden({"kind": "TFJob", "roles": {"Worker": {"n": 2}}}))
    world.settle()

    first, second = world.podgroups()
    assert [raw.controller(each)["kind"] for each in (first, second)] == ["PyTorchJob", "TFJob"]
    assert raw.name(second) == "j-tfjob"
    assert second["spec"]["minMember"] == 2
    (told,) = {message for reason, message in world.events if reason == "PodGroupConflict"}
    assert told == 'PodGroup "j" is there already and belongs to PyTorchJob "j"; its own is "j-tfjob"'


def test_t16_pods_that_their_operator_put_into_the_group_of_another_are_taken_out():
    """Where admission does not see them."""
    world = cluster("volcano")
    put(world, {**SAMPLE, "roles": {"Master": {}}})
    world.change(PODGROUPS, "default", "j", status__phase="Inqueue")
    world.put(TFJOBS, golden({"kind": "TFJob", "roles": {"Worker": {"n": 2}}}))
    world.settle()

    groups = {raw.name(pod): raw.annotation(pod, names.GROUP_NAME) for pod in world.list(PODS)}
    assert groups == {"j-master-0": "j", "j-worker-0": "j-tfjob", "j-worker-1": "j-tfjob"}

    world.remove(PODS, "default", "j-worker-1")
    world.settle()

    groups = {raw.name(pod): raw.annotation(pod, names.GROUP_NAME) for pod in world.list(PODS)}
    assert groups == {"j-master-0": "j", "j-worker-0": "j-tfjob", "j-worker-1": "j-tfjob"}


@pytest.mark.parametrize("gang", ["", "volcano"])
def test_suspended_and_finished_jobs_are_never_given_a_group_anew(gang):
    world = cluster(gang)
    world.put(PYTORCHJOBS, golden(SAMPLE, suspend=True))
    world.settle()

    assert world.podgroups() == []
    assert world.list(PODS) == []


def test_t20_launcher_is_the_pod_of_a_job_and_joins_the_gang_of_its_mpijob_once_it_comes():
    world = cluster()
    group = put(world, PI)
    job = world.objects[KUBERNETES_JOBS, "default", "j-launcher"]
    assert group["spec"]["minMember"] == 3
    assert {raw.name(pod) for pod in world.list(PODS)} == {
        "j-worker-0",
        "j-worker-1",
    }  # nobody runs Jobs here

    template = raw.table(job, "spec", "template")
    owners = [raw.owner_reference("batch/v1", "Job", job)]
    metadata = {**template["metadata"], "name": "l", "namespace": "default", "ownerReferences": owners}
    world.put(PODS, {"metadata": metadata, "spec": {**template["spec"], "schedulerName": "volcano"}})
    world.settle()

    launcher = world.objects[PODS, "default", "l"]
    assert raw.annotation(launcher, names.GROUP_NAME) == "j"
    assert raw.annotation(launcher, names.TASK_SPEC) == "launcher"


def test_only_pods_of_our_scheduler_are_taken_into_the_group_of_those_that_outlive_theirs():
    world = cluster()
    put(world, SAMPLE)
    for name, scheduler in (("j-worker-0", "volcano"), ("j-worker-1", "default-scheduler")):
        spec = {"spec__nodeName": "n", "spec__schedulerName": scheduler, "status__phase": "Running"}
        world.change(PODS, "default", name, **spec)
    finished = [{"type": "Failed", "status": "True"}]
    world.change(PYTORCHJOBS, "default", "j", status__conditions=finished)
    world.settle()
    world.remove(PODGROUPS, "default", "j")
    world.settle()

    (group,) = world.podgroups()
    assert raw.name(group) == "j-rest"
    assert raw.annotation(world.objects[PODS, "default", "j-worker-0"], names.GROUP_NAME) == "j-rest"
    assert raw.annotation(world.objects[PODS, "default", "j-worker-1"], names.GROUP_NAME) == ""
