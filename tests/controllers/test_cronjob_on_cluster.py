"""CronJobs with the job controller on the embedded cluster's store: defaults, schemas, deletion and refusals are real."""

from __future__ import annotations

from tests.controllers.cluster_world import ClusterWorld
from tests.controllers.crons import EIGHT, a_cron_job
from vcray.actors.effects import EffectRunner
from vcray.api.jsonview import dig_object
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, CRONJOBS, JOBS, NAMESPACES, PODS
from vcray.controllers import raw
from vcray.controllers.base import Create, Emit
from vcray.controllers.cronjob.controller import CronJobController, CronRequest
from vcray.controllers.job.controller import JobController
from vcray.kube.events import EventRecorder


async def world(**spec: object) -> ClusterWorld:
    w = ClusterWorld([JobController(), CronJobController()])
    await w.start()
    await w.client.create(CRONJOBS, "ns", a_cron_job(**spec))
    await w.settle()
    return w


def names(w: ClusterWorld) -> list[str]:
    return [raw.name(job) for job in w.all(JOBS)]


def active(w: ClusterWorld) -> list[str]:
    return [raw.text(each, "name") for each in raw.tables(w.all(CRONJOBS)[0], "status", "active")]


async def test_job_runs_to_its_end_and_is_noted() -> None:
    w = await world(labels={"team": "x"})

    await w.advance(60.1)
    assert names(w) == active(w) == [f"c-{EIGHT + 1}"]
    assert raw.labels_of(w.all(JOBS)[0]) == {"team": "x"}
    await w.admit()
    await w.pod_phase("Running")
    await w.pod_phase("Succeeded")

    assert dig_object(w.all(CRONJOBS)[0], "status") == {
        "lastScheduleTime": "2027-01-15T08:01:00Z",
        "lastSuccessfulTime": "2027-01-15T08:01:00Z",
    }
    reasons = [reason for reason, _ in w.events()]
    assert (reasons.count("SuccessfulCreate"), reasons.count("SawCompletedJob")) == (1, 1)
    assert w.refused == []


async def test_replaced_job_goes_with_its_pods() -> None:
    w = await world(concurrencyPolicy="Replace")
    await w.advance(60.1)
    await w.admit()
    assert len(w.all(PODS)) == 1

    await w.advance(60)
    await w.settle()

    assert names(w) == active(w) == [f"c-{EIGHT + 2}"]
    assert w.all(PODS) == []
    assert w.refused == []


async def test_settled_cron_job_is_not_written() -> None:
    w = await world()
    await w.advance(60.1)
    before = w.store.storage.version

    await w.client.patch(CRONJOBS, "ns", "c", {"metadata": {"labels": {"a": "b"}}})
    await w.settle()

    assert int(w.store.storage.version) == int(before) + 1


async def test_refusal_of_a_namespace_that_is_going_is_understood() -> None:
    """The server deletes a CronJob with its namespace; a turn that has begun meets the refusal."""
    w = await world()
    held: JsonObject = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await w.client.create(CONFIGMAPS, "ns", held)
    cron_job = w.all(CRONJOBS)[0]
    w.clock.advance(60)
    request = CronRequest("ns", "c", raw.uid(cron_job))
    effects = CronJobController().reconcile(request, w.mirrors, w.clock.now())
    made = next(effect for effect in effects if isinstance(effect, Create))
    await w.client.delete(NAMESPACES, None, "ns")

    recorder = EventRecorder(w.client, "test", w.clock)
    outcome = await EffectRunner(w.client, recorder, lambda *_: None, lambda *_: None).run(made)
    told = effects.send(outcome)

    assert isinstance(told, Emit)
    assert told.reason == "NamespaceTerminating"
