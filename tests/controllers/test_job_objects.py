"""What a job makes: pods with their volumes and marks, and how its PodGroup follows it (api-controllers.md 2.6a, 2.7)."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_task
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CONFIGMAPS,
    JOBS,
    NETWORKPOLICIES,
    PERSISTENTVOLUMECLAIMS,
    PODGROUPS,
    PODS,
    SECRETS,
    SERVICES,
)
from vcray.controllers import raw
from vcray.controllers.base import Create, Effect, Outcome, Patch
from vcray.controllers.job.controller import JobController


def world() -> World:
    return World([JobController()])


def claim(w: World, name: str) -> None:
    w.put(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": name, "namespace": "ns"}, "spec": {}})


def test_claims_are_mounted_once_each_into_containers_but_not_into_init_containers() -> None:
    w = world()
    for name in ("one", "two"):
        claim(w, name)
    task = a_task()
    raw.table(task, "template", "spec")["initContainers"] = [{"name": "prepare", "image": "i"}]
    volumes: list[JsonObject] = [
        {"mountPath": "/a", "volumeClaimName": "one"},
        {"mountPath": "/b", "volumeClaimName": "two"},
        {"mountPath": "/c", "volumeClaimName": "one"},
    ]

    w.submit(tasks=[task], volumes=volumes)
    w.admit()

    spec = raw.table(w.list(PODS)[0], "spec")
    claims = [raw.text(each, "persistentVolumeClaim", "claimName") for each in raw.tables(spec, "volumes")]
    (container,) = raw.tables(spec, "containers")
    assert claims == ["one", "two"]
    assert [each["mountPath"] for each in raw.tables(container, "volumeMounts")] == ["/a", "/b"]
    assert [each["name"] for each in raw.tables(container, "volumeMounts")] == [
        each["name"] for each in raw.tables(spec, "volumes")
    ]
    assert "volumeMounts" not in raw.tables(spec, "initContainers")[0]
    assert raw.table(w.status(), "controlledResources") == {"volume-pvc-one": "one", "volume-pvc-two": "two"}


def test_claims_without_a_name_get_one_each_that_a_repeated_turn_finds_again() -> None:
    w = world()
    conflicts = [Outcome(ok=False, status=500, message="slow")]

    def fail(effect: Effect) -> Outcome | None:
        return (
            conflicts.pop() if isinstance(effect, Patch) and effect.resource == JOBS and conflicts else None
        )

    w.fail = fail
    each: JsonObject = {"resources": {"requests": {"storage": "1Gi"}}}
    w.submit(volumes=[{"mountPath": "/a", "volumeClaim": each}, {"mountPath": "/b", "volumeClaim": each}])

    made = [raw.name(stored) for stored in w.list(PERSISTENTVOLUMECLAIMS)]
    written = [raw.text(volume, "volumeClaimName") for volume in raw.tables(w.job(), "spec", "volumes")]
    assert sorted(written) == made
    assert len(made) == 2
    assert raw.controlled_by(w.list(PERSISTENTVOLUMECLAIMS)[0], raw.uid(w.job()))


def test_pods_bear_what_the_job_and_the_task_say_to_the_scheduler() -> None:
    w = world()
    notes = {names.COOLDOWN_TIME: "60s", names.REVOCABLE_ZONE: "*", names.JDB_MAX_UNAVAILABLE: "1"}

    w.submit(
        annotations=notes,
        labels={names.COOLDOWN_TIME: "60s"},
        schedulerName="mine",
        tasks=[a_task(topologyPolicy="single-numa-node")],
    )
    w.admit()

    pod = w.list(PODS)[0]
    assert {key: raw.annotation(pod, key) for key in notes} == notes
    assert raw.annotation(pod, names.NUMA_TOPOLOGY_POLICY) == "single-numa-node"
    assert raw.labels_of(pod)[names.COOLDOWN_TIME] == "60s"
    assert raw.text(pod, "spec", "schedulerName") == "mine"


def test_minimum_of_a_task_that_is_gone_stays_in_the_group() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task("a", 1), a_task("b", 1)])

    w.change(JOBS, "ns", "j", spec__tasks=raw.tables(w.job(), "spec", "tasks")[:1])
    w.settle()

    assert raw.table(w.podgroups()[0], "spec", "minTaskMember") == {"a": 1, "b": 1}
    assert w.pods() == ["j-a-0", "j-b-0"], "pods of a task that is gone are not touched"


def test_group_that_cannot_be_made_is_told_and_tried_again() -> None:
    w = world()
    refusals = [Outcome(ok=False, status=403, reason="Forbidden", message="no more groups")]

    def refuse(effect: Effect) -> Outcome | None:
        return (
            refusals.pop()
            if isinstance(effect, Create) and effect.resource == PODGROUPS and refusals
            else None
        )

    w.fail = refuse
    w.submit()

    assert ("PodGroupError", "Failed to create PodGroup, err: no more groups") in w.events
    assert len(w.podgroups()) == 1


def test_group_of_the_jobs_bare_name_is_the_jobs_when_the_job_owns_it() -> None:
    w = world()
    w.submit()
    owner = raw.tables(w.podgroups()[0], "metadata", "ownerReferences")
    w.controllers, controllers = [], w.controllers
    w.remove(PODGROUPS, "ns", raw.name(w.podgroups()[0]))
    meta: JsonObject = {"name": "j", "namespace": "ns", "ownerReferences": [*owner]}
    w.put(PODGROUPS, {"metadata": meta, "spec": {"queue": "default"}, "status": {"phase": "Inqueue"}})
    w.controllers = controllers

    w.replay(JOBS)
    w.settle()

    assert [raw.name(group) for group in w.podgroups()] == ["j"]
    assert w.pods() == ["j-t-0"]


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_job_that_fails_after_its_last_try_leaves_no_object_of_its_plugins(tries: int) -> None:
    """api-controllers.md 2.6."""
    w = world()
    w.graceful = True
    w.running(
        plugins={"svc": [], "ssh": []},
        policies=[{"event": "PodFailed", "action": "RestartJob"}],
        maxRetry=tries,
    )
    for _ in range(tries + 1):
        w.pod_phase("Failed", code=3)
        w.bury()
        w.admit()

    assert w.phase() == "Failed"
    for resource in (CONFIGMAPS, SERVICES, SECRETS, NETWORKPOLICIES):
        assert not w.list(resource), resource
