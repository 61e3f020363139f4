"""JobSet, LeaderWorkerSet and TrainJob: who belongs where, and what cannot be read."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.objects import GROUP, TASK, template, world
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    JOBSETS,
    KUBERNETES_JOBS,
    LEADERWORKERSETS,
    PODGROUPS,
    PODS,
    STATEFULSETS,
    TRAININGRUNTIMES,
    TRAINJOBS,
    Resource,
)
from vcray.controllers import raw

JOBSET = "jobset.sigs.k8s.io/"
LWS = "leaderworkerset.sigs.k8s.io/"
QUEUE = {"scheduling.volcano.sh/queue-name": "q"}


def put(
    w: World,
    resource: Resource,
    name: str,
    spec: JsonObject,
    owner: tuple[Resource, JsonObject] | None = None,
    labels: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "ns"}
    if owner is not None:
        kind, above = owner
        metadata["ownerReferences"] = [raw.owner_reference(kind.api_version, kind.kind, above)]
    metadata["labels"] = raw.strings(labels or {})
    metadata["annotations"] = raw.strings(notes or {})
    made = w.put(
        resource,
        {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec},
    )
    w.settle()
    return made


def replicated(name: str = "a", **spec: object) -> JsonObject:
    job: JsonObject = {"template": template()}
    job.update(spec)  # type: ignore[arg-type]
    return {"name": name, "template": {"spec": job}}


def put_pod(w: World, name: str, owner: tuple[Resource, JsonObject], labels: dict[str, str]) -> JsonObject:
    put(w, PODS, name, raw.table(template("1", "volcano"), "spec"), owner, labels)
    return w.objects[PODS, "ns", name]


def test_t20_pod_finds_its_train_job_through_job_and_job_set() -> None:
    w = world()
    put(w, TRAININGRUNTIMES, "r", {"template": {"spec": {"replicatedJobs": [replicated()]}}})
    reference: JsonObject = {"kind": "TrainingRuntime", "name": "r"}
    train = put(w, TRAINJOBS, "t", {"runtimeRef": reference}, notes=QUEUE)
    jobset = put(w, JOBSETS, "t", {"replicatedJobs": [replicated()]}, (TRAINJOBS, train))
    labels = {JOBSET + "jobset-name": "t", JOBSET + "replicatedjob-name": "a"}
    job = put(w, KUBERNETES_JOBS, "t-a-0", {}, (JOBSETS, jobset), labels)

    pod = put_pod(w, "p", (KUBERNETES_JOBS, job), labels)

    assert (raw.annotation(pod, GROUP), raw.annotation(pod, TASK)) == ("t", "a")
    (group,) = w.podgroups()
    assert raw.text(raw.controller(group), "kind") == "TrainJob"


def test_t13_train_job_is_told_that_its_pods_go_elsewhere() -> None:
    w = world()
    put(w, TRAININGRUNTIMES, "r", {"template": {"spec": {"replicatedJobs": [replicated()]}}})
    train = put(w, TRAINJOBS, "t", {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}, notes=QUEUE)
    jobset = put(w, JOBSETS, "t", {"replicatedJobs": [replicated()]}, (TRAINJOBS, train))
    labels = {JOBSET + "jobset-name": "t", JOBSET + "replicatedjob-name": "a"}
    job = put(w, KUBERNETES_JOBS, "t-a-0", {}, (JOBSETS, jobset), labels)

    put(w, PODS, "p", raw.table(template("1", "default-scheduler"), "spec"), (KUBERNETES_JOBS, job), labels)

    ((reason, message),) = w.events
    assert reason == "OtherScheduler"
    assert "schedulerName: volcano" in message
    assert raw.annotation(w.objects[PODS, "ns", "p"], GROUP) == ""


def test_runtime_may_come_after_its_train_job() -> None:
    w = world()
    put(w, TRAINJOBS, "t", {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}, notes=QUEUE)
    assert w.events == [
        ("InvalidSpec", "spec.runtimeRef: TrainingRuntime 'r' is not there; create it or name another")
    ]

    put(w, TRAININGRUNTIMES, "r", {"template": {"spec": {"replicatedJobs": [replicated()]}}})

    assert [raw.number(each, "spec", "minMember") for each in w.podgroups()] == [1]


def leader_worker_set(w: World) -> tuple[JsonObject, JsonObject]:
    """A LeaderWorkerSet of a size of 2, as the real one makes it, and the StatefulSet of its leaders."""
    both: JsonObject = {"size": 2, "workerTemplate": template()}
    lws = put(w, LEADERWORKERSETS, "l", {"leaderWorkerTemplate": both}, notes=QUEUE)
    return lws, put(w, STATEFULSETS, "l", {}, (LEADERWORKERSETS, lws))


LEADER = {LWS + "name": "l", LWS + "worker-index": "0", LWS + "template-revision-hash": "h"}
WORKER = {**LEADER, LWS + "group-index": "0", LWS + "worker-index": "1"}


def test_pods_of_a_replica_share_the_group_of_their_leader() -> None:
    w = world()
    _, leaders = leader_worker_set(w)

    leader = put_pod(w, "l-0", (STATEFULSETS, leaders), LEADER)
    assert w.podgroups() == []
    workers = put(w, STATEFULSETS, "l-0", {"template": template("3")}, (PODS, leader), LEADER)
    worker = put_pod(w, "l-0-1", (STATEFULSETS, workers), WORKER)

    marks = [(raw.annotation(each, GROUP), raw.annotation(each, TASK)) for each in (leader, worker)]
    assert marks == [("l-0-h", "leader"), ("l-0-h", "worker")]
    (group,) = w.podgroups()
    assert raw.text(raw.controller(group), "uid") == raw.uid(leader)
    assert raw.table(group, "spec", "minResources") == {"cpu": "4"}


def test_t17_group_that_goes_after_the_next_leader_came_is_made_again() -> None:
    w = world()
    _, leaders = leader_worker_set(w)
    leader = put_pod(w, "l-0", (STATEFULSETS, leaders), LEADER)
    put(w, STATEFULSETS, "l-0", {"template": template("3")}, (PODS, leader), LEADER)

    w.remove(PODGROUPS, "ns", "l-0-h")
    w.settle()

    (group,) = w.podgroups()
    assert raw.text(raw.controller(group), "uid") == raw.uid(leader)


def test_t17_group_of_the_leader_before_is_replaced() -> None:
    w = world()
    _, leaders = leader_worker_set(w)
    first = put_pod(w, "l-0", (STATEFULSETS, leaders), LEADER)
    put(w, STATEFULSETS, "l-0", {"template": template("3")}, (PODS, first), LEADER)
    left = w.objects[PODGROUPS, "ns", "l-0-h"]
    w.remove(PODS, "ns", "l-0")
    w.settle()
    assert w.podgroups() == [left]

    leader = put_pod(w, "l-0", (STATEFULSETS, leaders), LEADER)
    w.remove(STATEFULSETS, "ns", "l-0")
    put(w, STATEFULSETS, "l-0", {"template": template("3")}, (PODS, leader), LEADER)
    w.advance(1.0)

    (group,) = w.podgroups()
    assert raw.text(raw.controller(group), "uid") == raw.uid(leader)


@pytest.mark.parametrize(
    ("resource", "spec", "says"),
    [
        (JOBSETS, {}, "spec.replicatedJobs: at least one must be given"),
        (JOBSETS, {"replicatedJobs": [replicated(), replicated()]}, "spec.replicatedJobs[1].name: *'a'"),
        (JOBSETS, {"replicatedJobs": [replicated(parallelism=-1)]}, "spec.replicatedJobs[0].template.spec.parallelism: *"),
        (JOBSETS, {"replicatedJobs": [{"name": "a"}]}, "spec.replicatedJobs[0].template.spec.template: *"),
        (
            JOBSETS,
            {"replicatedJobs": [{**replicated(), "dependsOn": [{"name": "b", "status": "Ready"}]}]},
            "spec.replicatedJobs[0].dependsOn: 'b' is no replicatedJob before this one",
        ),
        (TRAINJOBS, {}, "spec.runtimeRef: ClusterTrainingRuntime '' is not there; *"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_gives_an_event_and_no_group(resource, spec, says) -> None:
    w = world()

    put(w, resource, "x", spec, notes=QUEUE)

    ((reason, message),) = w.events
    start, _, rest = says.partition("*")
    assert reason == "InvalidSpec"
    assert message.startswith(start)
    assert message.endswith(rest)
    assert w.podgroups() == []


@pytest.mark.parametrize(
    ("both", "says"),
    [
        ({"size": 0}, "spec.leaderWorkerTemplate.size: must be at least 1, got 0"),
        ({"size": 4}, "spec.leaderWorkerTemplate.workerTemplate: a pod template with containers is missing"),
        (
            {"size": 5, "workerTemplate": template(), "subGroupPolicy": {"subGroupSize": 3}},
            "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize: 3 divides neither the size 5 nor 4",
        ),
    ],
)
def test_replica_that_cannot_be_read_gives_an_event_on_its_set(both, says) -> None:
    w = world()
    lws = put(w, LEADERWORKERSETS, "l", {"leaderWorkerTemplate": both}, notes=QUEUE)

    put_pod(w, "l-0", (LEADERWORKERSETS, lws), LEADER)

    assert set(w.events) == {("InvalidSpec", says)}
    assert w.podgroups() == []
