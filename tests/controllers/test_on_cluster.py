"""All controllers together on the embedded cluster's store."""

from __future__ import annotations

import pytest

from tests.controllers.cluster_world import ClusterWorld
from tests.controllers.dressing import a_role, container
from tests.controllers.world import a_job, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    COMMANDS,
    CONFIGMAPS,
    JOBS,
    NETWORKPOLICIES,
    PODGROUPS,
    PODS,
    QUEUES,
    SECRETS,
    SERVICES,
)
from vcray.controllers import raw
from vcray.controllers.base import Change
from vcray.controllers.garbage import GarbageController
from vcray.controllers.job.controller import JobController
from vcray.controllers.podgroup import PodGroupController
from vcray.controllers.queue import QueueController


async def world() -> ClusterWorld:
    w = ClusterWorld([JobController(), GarbageController(), QueueController(), PodGroupController()])
    await w.start()
    return w


async def submit(w: ClusterWorld, **spec: object) -> None:
    await w.client.create(JOBS, "ns", a_job(**spec))
    await w.settle()


def job(w: ClusterWorld) -> JsonObject:
    return w.all(JOBS)[0]


def phase(w: ClusterWorld) -> str:
    return raw.text(job(w), "status", "state", "phase")


async def test_job_runs_completes_and_goes_after_its_time() -> None:
    w = await world()
    tasks = [a_task("ps", 1), a_task("w", 2)]

    await submit(w, tasks=tasks, plugins={"svc": [], "env": []}, ttlSecondsAfterFinished=60)
    assert (phase(w), w.all(PODS)) == ("Pending", [])
    assert [len(w.all(r)) for r in (PODGROUPS, SERVICES, CONFIGMAPS, NETWORKPOLICIES)] == [1, 1, 1, 1]
    await w.admit()
    assert len(w.all(PODS)) == 3
    await w.pod_phase("Running")
    assert phase(w) == "Running"
    await w.pod_phase("Succeeded")
    assert phase(w) == "Completed"
    assert [len(w.all(r)) for r in (PODGROUPS, SERVICES, CONFIGMAPS, NETWORKPOLICIES)] == [0, 0, 0, 0]

    await w.advance(59)
    assert len(w.all(JOBS)) == 1
    await w.advance(1)
    await w.settle()

    assert (w.all(JOBS), w.all(PODS)) == ([], [])
    assert w.refused == []


async def test_settled_job_is_left_in_peace() -> None:
    w = await world()
    partitions = {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1}
    topology = {"highestTierAllowed": 2}
    await submit(
        w,
        networkTopology=topology,
        priorityClassName="system-node-critical",
        tasks=[a_task(replicas=2, partitionPolicy={**partitions, "networkTopology": topology})],
    )
    await w.admit()
    await w.pod_phase("Running")
    before = w.store.storage.version

    controller = w.controllers[0]
    requests = controller.requests(Change(JOBS, None, job(w)), w.mirrors)
    w.queue.extend((controller, request) for request in requests)
    await w.settle()

    assert w.store.storage.version == before


async def test_failed_pod_restarts_the_job() -> None:
    w = await world()
    await submit(w, policies=[{"event": "PodFailed", "action": "RestartJob"}])
    await w.admit()
    await w.pod_phase("Running")

    await w.pod_phase("Failed")
    await w.admit()
    await w.pod_phase("Running")

    conditions = [raw.text(item, "status") for item in raw.tables(job(w), "status", "conditions")]
    assert conditions == ["Restarting", "Pending", "Running"]
    assert raw.number(job(w), "status", "retryCount") == 1
    assert w.refused == []


async def test_command_suspends_and_queue_drains() -> None:
    w = await world()
    await w.client.create(QUEUES, None, {"metadata": {"name": "q"}, "spec": {"weight": 1}})
    await submit(w, queue="q")
    await w.admit()

    for action, kind, version, name in (
        ("CloseQueue", "Queue", "scheduling.volcano.sh/v1beta1", "q"),
        ("AbortJob", "Job", "batch.volcano.sh/v1alpha1", "j"),
    ):
        target: JsonObject = {"apiVersion": version, "kind": kind, "name": name, "uid": "u"}
        command: JsonObject = {"metadata": {"name": action.lower()}, "action": action, "target": target}
        await w.client.create(COMMANDS, "ns", command)
        await w.settle()

    states = {raw.name(q): raw.text(q, "status", "state") for q in w.all(QUEUES)}
    assert states == {"root": "Open", "default": "Open", "q": "Closed"}
    assert phase(w) == "Aborted"
    assert w.refused == []


async def test_job_with_a_missing_queue_gets_a_warning_and_waits_o_069() -> None:
    w = await world()

    await submit(w, queue="ghost")
    assert phase(w) == "Pending"
    assert [reason for reason, _ in w.events()] == ["QueueNotFound"]
    await w.client.create(QUEUES, None, {"metadata": {"name": "ghost"}, "spec": {}})
    await w.settle()
    await w.admit()

    assert len(w.all(PODS)) == 1


async def test_plain_pods_get_groups() -> None:
    w = await world()
    pod: JsonObject = {
        "metadata": {"name": "p"},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i"}]},
    }

    await w.client.create(PODS, "ns", pod)
    await w.settle()

    group = w.all(PODGROUPS)[0]
    assert raw.annotation(w.all(PODS)[0], "scheduling.k8s.io/group-name") == raw.name(group)
    assert raw.text(group, "status", "phase") == "Pending"
    assert w.refused == []


FRAMEWORKS = {
    "pytorch": (["--wait-master-enabled"], [a_role("master"), a_role("worker", 2)]),
    "tensorflow": ([], [a_role("ps"), a_role("worker", 2)]),
    "mpi": ([], [a_role("master"), a_role("worker", 2)]),
    "ray": ([], [a_role("head", 1, container("head")), a_role("worker", 2, container("worker"))]),
    "hcclrank": ([], [a_role("master"), a_role("worker", 2)]),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_what_plugins_make_passes_the_servers_checks_and_goes_with_the_job(name: str) -> None:
    arguments, tasks = FRAMEWORKS[name]
    w = await world()
    kinds = (SERVICES, SECRETS, CONFIGMAPS, NETWORKPOLICIES)
    there = [len(w.all(resource)) for resource in kinds]

    await submit(w, tasks=tasks, plugins={name: arguments, "svc": [], "ssh": [], "env": []})
    await w.admit()
    await w.pod_phase("Running")
    services = 2 if name == "ray" else 1

    assert (phase(w), len(w.all(PODS))) == ("Running", 3)
    made = [len(w.all(resource)) for resource in kinds]
    assert [now - before for now, before in zip(made, there, strict=True)] == [services, 1, 1, 1]
    await w.pod_phase("Succeeded")
    assert phase(w) == "Completed"
    assert [len(w.all(resource)) for resource in kinds] == there
    assert w.refused == []
