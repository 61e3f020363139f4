"""What KubeRay's stand-in does that scenarios cannot single out, since pods have generated names."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kuberay.goldens import by_case, cluster_spec, golden
from vcray.api.resources import (
    KUBERNETES_JOBS,
    PODS,
    RAYCLUSTERS,
    RAYCRONJOBS,
    RAYJOBS,
    RAYSERVICES,
)
from vcray.cluster.operators.base import phase
from vcray.cluster.operators.table import STAND_INS
from vcray.controllers import raw

PLAIN = by_case("1 cluster of a queue")
SLICE = by_case("7 job on a slice of four hosts")


def kuberay(gang=""):
    return World([make(gang) for make in STAND_INS["kuberay"].makes])


def a_cluster(world, row=PLAIN, **spec):
    cluster = world.put(
        RAYCLUSTERS, {**golden({**row, "kind": "RayCluster"}), "spec": {**cluster_spec(row), **spec}}
    )
    world.settle()
    return cluster


def of_group(world, group):
    return [pod for pod in world.list(PODS) if raw.labels_of(pod)["ray.io/group"] == group]


def state(world, name="r"):
    return raw.text(world.objects[RAYJOBS, "default", name], "status", "jobDeploymentStatus")


def make_ready(world):
    """All pods run."""
    for pod in world.list(PODS):
        ready = [{"type": "Ready", "status": "True"}]
        world.change(PODS, "default", raw.name(pod), status__phase="Running", status__conditions=ready)
    world.settle()


def names(objects):
    return {raw.name(each) for each in objects}


def test_a_replica_that_loses_one_host_goes_whole_and_comes_back_under_another_name():
    world = kuberay()
    a_cluster(world, SLICE)
    before = of_group(world, "g0")

    world.remove(PODS, "default", raw.name(before[0]))
    world.settle()

    after = of_group(world, "g0")
    key = "ray.io/worker-group-replica-name"
    assert len(after) == 4
    assert names(before).isdisjoint(names(after))
    assert len({raw.labels_of(pod)[key] for pod in after}) == 1
    assert raw.labels_of(before[0])[key] != raw.labels_of(after[0])[key]


def test_the_autoscaler_says_which_worker_goes_and_none_goes_by_itself():
    world = kuberay()
    a_cluster(world, enableInTreeAutoscaling=True)
    first, second = of_group(world, "g0")
    group = dict(cluster_spec(PLAIN)["workerGroupSpecs"][0], minReplicas=0, replicas=1)

    world.change(RAYCLUSTERS, "default", "r", spec__workerGroupSpecs=[group])
    world.settle()
    assert names(of_group(world, "g0")) == names([first, second])

    group["scaleStrategy"] = {"workersToDelete": [raw.name(first)]}
    world.change(RAYCLUSTERS, "default", "r", spec__workerGroupSpecs=[group])
    world.settle()
    assert names(of_group(world, "g0")) == names([second])


def test_workers_wait_for_the_head_in_a_container_of_their_own():
    world = kuberay()
    a_cluster(world)

    (head,) = of_group(world, "headgroup")
    assert "initContainers" not in head["spec"]
    assert [each["name"] for each in of_group(world, "g0")[0]["spec"]["initContainers"]] == ["wait-gcs-ready"]


@pytest.mark.parametrize(
    ("spec", "passes_s", "reason"),
    [
        ({"activeDeadlineSeconds": 60}, 61, "DeadlineExceeded"),
        ({"preRunningDeadlineSeconds": 60}, 61, "DeadlineExceeded"),
        ({"activeDeadlineSeconds": 60}, 59, ""),
    ],
)
def test_a_job_that_is_late_fails(spec, passes_s, reason):
    world = kuberay()
    job = golden(by_case("11, 12, 17 plain job"))
    world.put(RAYJOBS, {**job, "spec": {**job["spec"], **spec}})
    world.settle()

    world.advance(passes_s)

    assert state(world) == ("Failed" if reason else "Initializing")
    assert raw.text(world.objects[RAYJOBS, "default", "r"], "status", "reason") == reason


def test_only_a_deadline_before_it_runs_leaves_a_running_job_alone():
    world = kuberay()
    job = golden(by_case("11, 12, 17 plain job"))
    world.put(RAYJOBS, {**job, "spec": {**job["spec"], "preRunningDeadlineSeconds": 60}})
    world.settle()
    make_ready(world)

    world.advance(61)

    assert state(world) == "Running"
    assert names(world.list(KUBERNETES_JOBS)) == {"r"}


def test_the_child_of_a_job_says_in_the_plugins_way_whose_it_is():
    world = kuberay("volcano")
    job = golden(by_case("11, 12, 17 plain job"))
    job["metadata"]["labels"] = {"volcano.sh/queue-name": "q"}
    world.put(RAYJOBS, job)
    world.settle()

    (child,) = world.list(RAYCLUSTERS)
    assert raw.annotations_of(child) == {
        "scheduling.k8s.io/group-name": "ray-r-pg",
        "volcano.sh/task-spec": "",
    }
    assert raw.labels_of(child)["ray.io/job-submission-mode"] == "K8sJobMode"
    for pod in world.list(PODS):
        assert pod["spec"]["schedulerName"] == "volcano"
        assert raw.labels_of(pod)["volcano.sh/queue-name"] == "q"
        assert raw.annotation(pod, "volcano.sh/task-spec") == raw.labels_of(pod)["ray.io/group"]


def test_an_incremental_upgrade_begins_with_the_least_workers():
    world = kuberay()
    service = golden(by_case("15 service upgraded bit by bit"))
    config = dict(service["spec"]["rayClusterConfig"])
    config["workerGroupSpecs"] = [dict(config["workerGroupSpecs"][0], replicas=3)]
    strategy = {"type": "NewClusterWithIncrementalUpgrade"}
    world.put(RAYSERVICES, {**service, "spec": {"rayClusterConfig": config, "upgradeStrategy": strategy}})
    world.settle()
    make_ready(world)

    world.change(RAYSERVICES, "default", "r", spec__rayClusterConfig={**config, "rayVersion": "2"})
    world.settle()

    clusters = {raw.text(each, "spec", "rayVersion"): each for each in world.list(RAYCLUSTERS)}
    assert "replicas" not in clusters["2"]["spec"]["workerGroupSpecs"][0]
    assert raw.text(
        world.objects[RAYSERVICES, "default", "r"], "status", "pendingServiceStatus", "rayClusterName"
    ) == (raw.name(clusters["2"]))


def test_a_cron_job_with_a_schedule_that_is_none_makes_nothing():
    world = kuberay()
    cron = {
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"schedule": "often", "jobTemplate": {}},
    }
    world.put(RAYCRONJOBS, cron)
    world.settle()
    world.advance(3600)

    assert (
        raw.text(world.objects[RAYCRONJOBS, "default", "c"], "status", "scheduleStatus") == "validationFailed"
    )
    assert world.list(RAYJOBS) == []


def test_objects_of_another_manager_are_left_alone():
    world = kuberay("volcano")
    a_cluster(world, managedBy="kueue.x-k8s.io/multikueue")

    assert world.pods() == []
    assert world.podgroups() == []


@pytest.mark.parametrize("mode", ["K8sJobMode", "SidecarMode"])
@pytest.mark.parametrize(
    ("annotations", "runs"), [({}, "python train.py"), ({"vcray.io/stand-in-script": "sleep 7"}, "sleep 7")]
)
def test_who_submits_runs_the_entrypoint_or_the_script_that_stands_in_for_it(mode, annotations, runs):
    world = kuberay()
    job = golden(by_case("11, 12, 17 plain job"))
    spec = {**job["spec"], "submissionMode": mode, "entrypoint": "python train.py"}
    world.put(RAYJOBS, {**job, "metadata": {**job["metadata"], "annotations": annotations}, "spec": spec})
    world.settle()
    make_ready(world)

    templates = [raw.table(each, "spec", "template") for each in world.list(KUBERNETES_JOBS)]

    containers = [
        each for pod in templates or world.list(PODS) for each in raw.tables(pod, "spec", "containers")
    ]
    (submitter,) = [each for each in containers if each["name"] == "ray-job-submitter"]
    assert submitter["command"] == ["sh", "-c", runs]


def scaling(demand, row=PLAIN, **group):
    """A world with a cluster that scales itself, ready; its first worker group has these fields."""
    world = kuberay()
    spec = cluster_spec(row)
    spec["workerGroupSpecs"][0].update({"replicas": 1, "minReplicas": 1, "maxReplicas": 6, **group})
    cluster = golden({**row, "kind": "RayCluster"})
    cluster["metadata"].setdefault("annotations", {})["vcray.io/stand-in-demand"] = demand
    world.put(RAYCLUSTERS, {**cluster, "spec": {**spec, "enableInTreeAutoscaling": True}})
    world.settle()
    make_ready(world)
    world.advance(5)
    return world


def first_group(world):
    (cluster,) = world.list(RAYCLUSTERS)
    return raw.tables(cluster, "spec", "workerGroupSpecs")[0]


def demand(world, text):
    (cluster,) = world.list(RAYCLUSTERS)
    notes = {**raw.annotations_of(cluster), "vcray.io/stand-in-demand": text}
    world.change(RAYCLUSTERS, raw.namespace(cluster), raw.name(cluster), metadata__annotations=notes)
    world.settle()


@pytest.mark.parametrize(("asked", "replicas"), [("g=4", 4), ("g=9", 6), ("g=0", 1), ("", 1), ("g=x,h", 1)])
def test_autoscaler_writes_the_demand_within_its_limits(asked, replicas):
    name = raw.text(cluster_spec(PLAIN)["workerGroupSpecs"][0], "groupName")

    assert first_group(scaling(asked.replace("g", name)))["replicas"] == replicas


def test_autoscaler_asks_again_every_five_seconds_while_it_got_less():
    name = raw.text(cluster_spec(PLAIN)["workerGroupSpecs"][0], "groupName")
    world = scaling(f"{name}=3")
    (cluster,) = world.list(RAYCLUSTERS)
    for seconds, replicas in ((0, 2), (3, 2), (2, 3)):
        if not seconds:  # admission cut it
            groups = raw.tables(cluster, "spec", "workerGroupSpecs")
            cut = [{**groups[0], "replicas": 2}, *groups[1:]]
            world.change(RAYCLUSTERS, "default", raw.name(cluster), spec__workerGroupSpecs=cut)
            world.settle()
        else:
            world.advance(seconds)
        assert first_group(world)["replicas"] == replicas


def test_autoscaler_names_the_workers_that_go_and_waits_until_they_are_gone():
    name = raw.text(cluster_spec(PLAIN)["workerGroupSpecs"][0], "groupName")
    world = scaling(f"{name}=4")
    (running,) = (raw.name(pod) for pod in of_group(world, name) if phase(pod) == "Running")
    demand(world, f"{name}=1")

    world.advance(5)
    group = first_group(world)
    named = raw.at(group, "scaleStrategy", "workersToDelete")
    world.advance(5)

    assert (group["replicas"], len(named)) == (1, 3)
    assert names(of_group(world, name)) == {running}
    assert raw.at(first_group(world), "scaleStrategy", "workersToDelete") == []
