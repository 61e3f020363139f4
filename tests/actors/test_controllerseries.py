"""Series of controllers: each change of phase counts once, and a job's and a queue's series go with the object."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.controllers.world import a_job
from vcray.actors.controllerseries import ControllerSeries
from vcray.actors.messages import ObjectChange, ObjectChanges, Synced
from vcray.actors.objects import ObjectMirrors
from vcray.actors.reconciler import ControllerHost
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, NAMESPACES, PODGROUPS, PODS, QUEUES, Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers.base import Change
from vcray.controllers.job.controller import JobController
from vcray.controllers.queue import initial_queues
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder
from vcray.metrics import Metrics

Shown = dict[tuple[str, ...], float]


def shown(metrics: Metrics, *parts: str) -> Shown:
    """(name without volcano_, label values) -> value, of series whose name has one of the parts."""
    return {
        (sample.name.removeprefix("volcano_"), *sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if any(part in sample.name for part in parts)
    }


def thing(name: str, phase: str = "", uid: str = "u", **spec: str) -> JsonObject:
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": uid},
        "spec": {**spec},
        "status": {"state": {"phase": phase}, "phase": phase},
    }


class Feed:
    """Series, and hands on what they are told."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._series = ControllerSeries(self.metrics)
        self._last: dict[tuple[Resource, str], JsonObject | None] = {}

    def __call__(self, resource: Resource, name: str, new: JsonObject | None) -> None:
        old = self._last.get((resource, name))
        self._last[resource, name] = new
        self._series.follow(Change(resource, old, new))


def test_a_job_that_completes_or_fails_counts_each_time_it_does_until_it_is_gone() -> None:
    """api-controllers.md 10.52."""
    feed = Feed()
    for phase in ("Pending", "Running", "Completed", "Completed", "Restarting", "Running", "Failed"):
        feed(JOBS, "j", thing("j", phase, queue="q"))
    feed(JOBS, "found", thing("found", "Completed", queue="q"))

    assert shown(feed.metrics, "volcano_job_completed", "volcano_job_failed") == {
        ("job_completed_phase_count", "ns/j", "q"): 1,
        ("job_failed_phase_count", "ns/j", "q"): 1,
    }
    feed(JOBS, "j", None)
    feed(JOBS, "found", None)
    assert shown(feed.metrics, "volcano_job_completed", "volcano_job_failed") == {}


def test_a_job_that_takes_the_name_of_another_begins_without_series() -> None:
    feed = Feed()
    feed(JOBS, "j", thing("j", "Running", queue="q"))
    feed(JOBS, "j", thing("j", "Failed", queue="q"))

    feed(JOBS, "j", thing("j", "Completed", "another", queue="q"))

    assert shown(feed.metrics, "volcano_job_completed", "volcano_job_failed") == {}


def test_job_flows_count_in_their_namespace_and_stay_when_they_go() -> None:
    feed = Feed()
    for name, end in (("a", "Succeed"), ("b", "Succeed"), ("c", "Failed")):
        feed(JOBFLOWS, name, thing(name, "Running"))
        feed(JOBFLOWS, name, thing(name, end))
        feed(JOBFLOWS, name, None)

    assert shown(feed.metrics, "jobflow") == {
        ("jobflow_succeed_phase_count", "ns"): 2,
        ("jobflow_failed_phase_count", "ns"): 1,
    }


def test_groups_are_counted_by_queue_and_phase_while_the_queue_is_there() -> None:
    feed = Feed()
    feed(PODGROUPS, "early", thing("early", "Inqueue", queue="q"))
    feed(QUEUES, "q", {"metadata": {"name": "q"}})
    feed(QUEUES, "default", {"metadata": {"name": "default"}})
    feed(PODGROUPS, "a", thing("a", "", queue="q"))
    feed(PODGROUPS, "b", thing("b", "Running", queue="q"))
    feed(PODGROUPS, "b", thing("b", "Completed"))
    feed(PODGROUPS, "odd", thing("odd", "Odd", queue="q"))
    feed(PODGROUPS, "nowhere", thing("nowhere", "Running", queue="none"))

    counts = shown(feed.metrics, "queue_pod_group")
    assert {key: value for key, value in counts.items() if value} == {
        ("queue_pod_group_inqueue_count", "q"): 1,
        ("queue_pod_group_pending_count", "q"): 1,
        ("queue_pod_group_completed_count", "default"): 1,
    }
    assert len(counts) == 2 * 5

    feed(QUEUES, "q", None)
    feed(PODGROUPS, "a", None)
    assert {key[1] for key in shown(feed.metrics, "queue_pod_group")} == {"default"}
    feed(QUEUES, "q", {"metadata": {"name": "q"}})
    assert shown(feed.metrics, "queue_pod_group")["queue_pod_group_pending_count", "q"] == 0


def test_a_pod_that_is_made_tells_how_long_after_its_job() -> None:
    """api-controllers.md 10.2, the metrics."""
    metrics = Metrics()
    mirrors = ObjectMirrors((JOBS,))
    mirrors.put(JOBS, {"metadata": {"namespace": "ns", "name": "j", "uid": "u", "creationTimestamp": "2027-01-15T08:00:00Z"}})  # fmt: skip
    owner: JsonObject = {"kind": "Job", "name": "j", "uid": "u", "controller": True}
    pod: JsonObject = {"metadata": {"namespace": "ns", "name": "p", "creationTimestamp": "2027-01-15T08:00:02Z", "ownerReferences": [owner]}}  # fmt: skip

    ControllerSeries(metrics).made(PODS, pod, mirrors)
    ControllerSeries(metrics).made(PODGROUPS, pod, mirrors)

    latency = "controller_job_to_pod_creation_latency_milliseconds"
    counts = shown(metrics, latency)
    assert (counts[f"{latency}_count",], counts[f"{latency}_sum",]) == (1, 2000)


@pytest.fixture
async def host() -> AsyncIterator[tuple[ControllerHost, KubeClient, Metrics]]:
    time, metrics = VirtualTime(), Metrics()
    client = KubeClient(InProcessTransport(Store(clock=time)), "host", sleep=time.sleep)
    await client.create(NAMESPACES, None, {"metadata": {"name": "ns"}})
    made = ControllerHost([JobController()], client, EventRecorder(client, "tests", time), time, metrics)
    await made.start()
    yield made, client, metrics
    await made.stop()


async def test_the_host_feeds_its_series(host: tuple[ControllerHost, KubeClient, Metrics]) -> None:
    made, client, metrics = host
    queue = await client.create(QUEUES, None, initial_queues()[0])
    job = await client.create(JOBS, "ns", a_job(queue="root"))
    for resource, obj in ((QUEUES, queue), (JOBS, job)):
        await made.receive(ObjectChanges(resource.full_name, (ObjectChange("ADDED", obj),)))
    status: JsonObject = {"state": {"phase": "Failed"}}
    failed = await client.update_status(JOBS, {**job, "status": status})
    await made.receive(ObjectChanges(JOBS.full_name, (ObjectChange("MODIFIED", failed),)))
    await made.receive(Synced(PODS.full_name))

    found = shown(metrics, "volcano_job_failed", "queue_pod_group_running")
    assert found == {
        ("job_failed_phase_count", "ns/j", "root"): 1,
        ("queue_pod_group_running_count", "root"): 0,
    }
