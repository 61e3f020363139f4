"""JobFlows and JobTemplates together with all other controllers, on the embedded cluster's store."""

from __future__ import annotations

from tests.controllers.cluster_world import ClusterWorld
from tests.controllers.flow_world import a_flow, a_template
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES, PODS
from vcray.controllers import raw
from vcray.controllers.base import Change
from vcray.controllers.garbage import GarbageController
from vcray.controllers.job.controller import JobController
from vcray.controllers.jobflow.controller import JobFlowController
from vcray.controllers.jobtemplate import JobTemplateController
from vcray.controllers.podgroup import PodGroupController
from vcray.controllers.queue import QueueController


async def world(flow: JsonObject, *templates: JsonObject) -> ClusterWorld:
    w = ClusterWorld(
        [
            JobController(),
            GarbageController(),
            QueueController(),
            PodGroupController(),
            JobFlowController(),
            JobTemplateController(),
        ]
    )
    await w.start()
    for template in templates:
        await w.client.create(JOBTEMPLATES, "ns", template)
    await w.client.create(JOBFLOWS, "ns", flow)
    await w.settle()
    return w


async def run_to_the_end(w: ClusterWorld) -> None:
    await w.admit()
    await w.pod_phase("Running")
    await w.advance(7)
    await w.pod_phase("Succeeded")


def status(w: ClusterWorld) -> JsonObject:
    return raw.table(w.all(JOBFLOWS)[0], "status")


def jobs(w: ClusterWorld) -> list[str]:
    return [raw.name(job) for job in w.all(JOBS)]


def created(w: ClusterWorld) -> list[str]:
    """Their messages, sorted: the store keeps events in no order."""
    return sorted(message for reason, message in w.events() if reason == "Created")


def listed(w: ClusterWorld) -> list[JsonValue]:
    return [raw.at(template, "status", "jobDependsOnList") for template in w.all(JOBTEMPLATES)]


async def test_a_chain_runs_to_its_end_and_the_schema_keeps_all_that_is_written() -> None:
    w = await world(a_flow("a", ("b", ["a"])), a_template("a"), a_template("b"))
    assert (jobs(w), listed(w)) == (["f-a"], [["f-a"], None])

    await run_to_the_end(w)
    assert (jobs(w), listed(w)) == (["f-a", "f-b"], [["f-a"], ["f-b"]])
    await run_to_the_end(w)

    told = status(w)
    assert raw.text(told, "state", "phase") == "Succeed"
    assert told["completedJobs"] == ["f-a", "f-b"]
    assert raw.table(told, "conditions", "f-a") == {
        "phase": "Completed",
        "createTime": "2027-01-15T08:00:00Z",
        "runningDuration": "7s",
    }
    entry = raw.tables(told, "jobStatusList")[0]
    assert (entry["startTimestamp"], entry["endTimestamp"]) == (
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:00:07Z",
    )
    states = [
        (raw.text(each, "state"), raw.text(each, "endTimestamp"))
        for each in raw.tables(entry, "runningHistories")
    ]
    assert states == [
        ("Pending", "2027-01-15T08:00:00Z"),
        ("Running", "2027-01-15T08:00:07Z"),
        ("Completed", ""),
    ]
    assert created(w) == ["create a job named f-a!", "create a job named f-b!"]
    assert w.refused == []


async def test_a_settled_flow_is_left_in_peace() -> None:
    w = await world(a_flow("a", "b"), a_template("a"), a_template("b"))
    await w.admit()
    await w.pod_phase("Running")
    before = w.store.storage.version

    for controller in w.controllers[-2:]:
        for resource in controller.watches:
            for item in w.all(resource):
                requests = controller.requests(Change(resource, None, item), w.mirrors)
                w.queue.extend((controller, request) for request in requests)
    await w.advance(60)

    assert w.turns > 0
    assert w.store.storage.version == before


async def test_jobs_of_a_deleted_flow_go_with_it() -> None:
    w = await world(a_flow("a"), a_template("a"))
    await w.admit()

    await w.client.delete(JOBFLOWS, "ns", "f")
    await w.settle()

    assert (jobs(w), w.all(PODS)) == ([], [])


async def test_a_flow_whose_jobs_are_collected_ends_and_runs_nothing_twice() -> None:
    ttl = {"ttlSecondsAfterFinished": 0}
    w = await world(a_flow("a", ("b", ["a"])), a_template("a", **ttl), a_template("b", **ttl))

    await run_to_the_end(w)
    await w.advance(1)
    assert jobs(w) == ["f-b"]
    await run_to_the_end(w)
    await w.advance(1)
    await w.advance(60)

    assert jobs(w) == []
    assert raw.text(status(w), "state", "phase") == "Succeed"
    assert created(w) == ["create a job named f-a!", "create a job named f-b!"]


async def test_the_policy_delete_takes_jobs_and_pods_once_the_flow_has_succeeded() -> None:
    w = await world(a_flow("a", ("b", ["a"]), policy="delete"), a_template("a"), a_template("b"))

    await run_to_the_end(w)
    assert jobs(w) == ["f-a", "f-b"]
    await run_to_the_end(w)

    assert (jobs(w), w.all(PODS)) == ([], [])
    assert raw.text(status(w), "state", "phase") == "Succeed"
    assert w.refused == []
