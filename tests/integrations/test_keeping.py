"""What the keeper of groups does for all kinds alike, shown on RayClusters."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.objects import (
    GROUP,
    TASK,
    put_cluster,
    put_pod,
    ray_cluster,
    ray_pod,
    template,
    world,
)
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, PODS, RAYCLUSTERS, TRAININGRUNTIMES, TRAINJOBS
from vcray.controllers import raw
from vcray.controllers.base import Create, Outcome, Patch
from vcray.integrations.base import Gang
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.kuberay.raycluster import RayCluster


def group(w, name: str = "ray-r-pg") -> JsonObject:
    return w.objects[PODGROUPS, "ns", name]


def test_group_says_what_the_object_asks_for_and_goes_with_it() -> None:
    w = world()

    cluster = put_cluster(w)

    made = group(w)
    assert raw.table(made, "spec") == {
        "minMember": 3,
        "minTaskMember": {"headgroup": 1, "w": 2},
        "minResources": {"cpu": "5"},
        "queue": "q",
    }
    assert raw.labels_of(made) == {"vcray.io/managed-by": "raycluster"}
    assert raw.controller(made) == {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "r",
        "uid": raw.uid(cluster),
        "controller": True,
        "blockOwnerDeletion": True,
    }


@pytest.mark.parametrize(
    ("given", "namespace", "ours"),
    [
        ({"queue": ""}, {}, False),
        ({"queue": "", "scheduler": "volcano"}, {}, True),
        ({"queue": "q", "scheduler": "default-scheduler"}, {}, True),
        ({"queue": "q", "scheduler": "kai-scheduler"}, {}, False),
        ({"queue": ""}, {"scheduling.volcano.sh/queue-name": "n"}, True),
        ({"queue": "q", "managedBy": "kueue.x-k8s.io/multikueue"}, {}, False),
        ({"queue": "q", "managedBy": "ray.io/kuberay-operator"}, {}, True),
    ],
)
def test_only_objects_that_ask_for_it_are_taken_over(given, namespace, ours) -> None:
    w = world(**namespace)

    put_cluster(w, **given)

    assert bool(w.podgroups()) is ours


def test_queue_of_the_namespace_is_followed_while_the_group_waits() -> None:
    w = world()
    put_cluster(w, queue="")
    assert not w.podgroups()

    w.put(NAMESPACES, {"metadata": {"name": "ns", "annotations": {"scheduling.volcano.sh/queue-name": "n"}}})
    w.settle()
    assert raw.text(group(w), "spec", "queue") == "n"

    w.admit()
    w.put(NAMESPACES, {"metadata": {"name": "ns", "annotations": {"scheduling.volcano.sh/queue-name": "m"}}})
    w.settle()
    assert raw.text(group(w), "spec", "queue") == "n"


def test_t23_scale_changes_the_minimum_and_nothing_is_written_twice() -> None:
    """kuberay#5205."""
    w = world()
    put_cluster(w)
    w.admit("Running")

    put_cluster(w, workers=4)
    assert raw.number(group(w), "spec", "minMember") == 5
    assert raw.table(group(w), "spec", "minResources") == {"cpu": "9"}

    writes = len(w.did(Patch))
    w.change(PODGROUPS, "ns", "ray-r-pg", spec__minResources={"cpu": "9000m", "memory": "0"})
    w.change(RAYCLUSTERS, "ns", "r", status__state="ready")
    w.settle()
    assert len(w.did(Patch)) == writes


def test_pod_joins_its_group_and_says_its_task() -> None:
    w = world()
    cluster = put_cluster(w)

    joined = put_pod(w, cluster)

    assert raw.annotations_of(joined) == {GROUP: "ray-r-pg", TASK: "w"}


def test_pod_of_a_namesake_that_is_gone_joins_nothing() -> None:
    w = world()
    cluster = put_cluster(w)
    before = {**cluster, "metadata": {**raw.table(cluster, "metadata"), "uid": "of-old"}}

    assert raw.annotations_of(put_pod(w, before)) == {}


def test_pod_that_two_owners_claim_joins_nothing_and_says_so() -> None:
    w = world()
    cluster = put_cluster(w)
    pod = ray_pod(cluster)
    raw.append(raw.table(pod, "metadata"), "ownerReferences", raw.owner_reference("v1", "Other", cluster))

    w.put(PODS, pod)
    w.settle()

    assert w.events[-1] == (
        "TwoOwners",
        'RayCluster "r" and Other "r" both claim this pod; it joins no group',
    )
    assert raw.annotations_of(w.objects[PODS, "ns", "p"]) == {}


def test_pods_that_go_to_another_scheduler_are_told_on_their_object() -> None:
    w = world()
    cluster = put_cluster(w)

    pod = put_pod(w, cluster, scheduler="default-scheduler")

    assert raw.annotations_of(pod) == {}
    reason, message = w.events[-1]
    assert reason == "OtherScheduler"
    assert message == (
        'pod "p" goes to scheduler "default-scheduler"; set schedulerName: volcano in its template'
    )


def test_group_that_the_operator_made_is_left_to_it() -> None:
    w = world()
    cluster = w.put(RAYCLUSTERS, ray_cluster(queue=""))
    theirs = {
        "metadata": {
            "name": "ray-r-pg",
            "namespace": "ns",
            "ownerReferences": [raw.owner_reference("ray.io/v1", "RayCluster", cluster)],
        },
        "spec": {"minMember": 7},
    }
    w.put(PODGROUPS, theirs)
    w.settle()

    assert raw.table(group(w), "spec") == {"minMember": 7}
    assert not w.did(Create)

    w.change(RAYCLUSTERS, "ns", "r", spec__suspend=True)
    w.settle()
    assert raw.annotation(group(w), "vcray.io/released") == "suspended"
    assert raw.number(group(w), "spec", "minMember") == 7

    w.change(RAYCLUSTERS, "ns", "r", spec__suspend=False)
    w.settle()
    assert raw.annotation(group(w), "vcray.io/released") == ""


def test_group_of_something_else_is_never_written() -> None:
    w = world()
    w.put(PODGROUPS, {"metadata": {"name": "ray-r-pg", "namespace": "ns"}, "spec": {"minMember": 7}})

    put_cluster(w)

    assert raw.table(group(w), "spec") == {"minMember": 7}
    assert w.events == [
        (
            "PodGroupConflict",
            'PodGroup "ray-r-pg" is there already and belongs to nobody; rename one of the two',
        )
    ]


def test_group_of_a_namesake_that_is_gone_is_made_anew() -> None:
    w = world()
    put_cluster(w)
    old = raw.uid(group(w))
    w.remove(RAYCLUSTERS, "ns", "r")

    again = put_cluster(w, workers=1)

    assert raw.uid(group(w)) != old
    assert raw.text(raw.controller(group(w)), "uid") == raw.uid(again)
    assert raw.number(group(w), "spec", "minMember") == 2


def test_group_that_somebody_deletes_comes_back() -> None:
    w = world()
    put_cluster(w)

    w.remove(PODGROUPS, "ns", "ray-r-pg")
    w.settle()

    assert raw.number(group(w), "spec", "minMember") == 3


def test_object_that_cannot_be_read_is_told_so_and_keeps_the_last_group() -> None:
    w = world()
    put_cluster(w)

    put_cluster(w, workers=-1)

    assert w.events[-1] == (
        "InvalidSpec",
        "spec.workerGroupSpecs[0].replicas: must be a whole number of at least 0, got -1",
    )
    assert raw.number(group(w), "spec", "minMember") == 3


def test_object_that_is_not_ours_is_told_nothing() -> None:
    w = world()

    put_cluster(w, workers=-1, queue="")

    assert not w.events


def test_refused_write_is_tried_again() -> None:
    w = world()
    refusals = iter([Outcome(False, status=500, message="etcd is away")])
    w.fail = lambda effect: next(refusals, None) if isinstance(effect, Create) else None

    put_cluster(w)
    assert w.errors == ["create PodGroup ns/ray-r-pg: etcd is away"]

    w.advance(1)
    assert raw.number(group(w), "spec", "minMember") == 3


def test_object_of_several_gangs_cannot_start_together_with_others() -> None:
    class Twice(RayCluster):
        def gangs(self, owner, seen):
            return (Gang("a"), Gang("b"))

    w = World([GroupKeeper([Twice()])])
    w.put(NAMESPACES, {"metadata": {"name": "ns"}})
    cluster = ray_cluster()
    raw.table(cluster, "metadata")["annotations"] = {"vcray.io/start-together": "pair"}

    w.put(PODS, ray_pod(w.put(RAYCLUSTERS, cluster), "h", "headgroup"))
    w.settle()

    assert w.events[-1] == (
        "InvalidSpec",
        "vcray.io/start-together: only an object whose pods are one gang can start together with others",
    )
    assert not w.podgroups()


def test_who_leads_is_placed_before_the_others_of_its_group() -> None:
    w = world()
    cluster = put_cluster(w)

    head, worker = put_pod(w, cluster, name="h", group="headgroup"), put_pod(w, cluster)

    assert raw.annotation(head, "volcano.sh/task-priority") == str(2**31 - 1)
    assert raw.annotation(worker, "volcano.sh/task-priority") == ""


def test_group_of_an_object_that_is_deleted_stays_in_the_queue_that_its_runtime_names() -> None:
    w = world()
    job_spec: JsonObject = {"template": {"spec": {"parallelism": 2, "template": template()}}, "name": "node"}
    jobset: JsonObject = {
        "metadata": {"labels": {"volcano.sh/queue-name": "q"}},
        "spec": {"replicatedJobs": [job_spec]},
    }
    runtime: JsonObject = {"metadata": {"name": "rt", "namespace": "ns"}, "spec": {"template": jobset}}
    w.put(TRAININGRUNTIMES, runtime)
    reference: JsonObject = {"kind": "TrainingRuntime", "name": "rt"}
    metadata: JsonObject = {"name": "t", "namespace": "ns", "finalizers": ["example.com/wait"]}
    w.put(TRAINJOBS, {"metadata": metadata, "spec": {"runtimeRef": reference, "suspend": True}})
    w.settle()
    before = raw.table(group(w, "t"), "spec")

    w.change(TRAINJOBS, "ns", "t", metadata__deletionTimestamp="2026-01-01T00:00:00Z")
    w.settle()

    assert raw.text(before, "queue") == raw.text(group(w, "t"), "spec", "queue") == "q"
