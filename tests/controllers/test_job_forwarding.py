"""Jobs of a queue that reaches into other clusters (api-controllers.md 2.5 and 2.6a)."""

from __future__ import annotations

from tests.controllers.world import World
from vcray.api import names
from vcray.api.resources import JOBS, PODS, QUEUES
from vcray.controllers import raw
from vcray.controllers.base import Patch
from vcray.controllers.job.controller import JobController


def test_job_of_a_queue_with_other_clusters_is_marked_once_with_its_group_and_pods() -> None:
    w = World([JobController()])
    w.put(QUEUES, {"metadata": {"name": "far"}, "spec": {"extendClusters": [{"name": "c", "weight": 1}]}})
    w.submit(queue="far")
    w.admit()
    w.replay(JOBS)
    w.settle()

    assert raw.annotation(w.job(), names.JOB_FORWARDING) == "true"
    assert raw.annotation(w.podgroups()[0], names.JOB_FORWARDING) == "true"
    pod = w.list(PODS)[0]
    assert raw.annotation(pod, names.JOB_FORWARDING) == raw.labels_of(pod)[names.JOB_FORWARDING] == "true"
    assert len(w.did(Patch, JOBS)) == 1


def test_job_of_another_queue_is_not_marked() -> None:
    w = World([JobController()])
    w.put(QUEUES, {"metadata": {"name": "near"}, "spec": {"extendClusters": []}})

    w.submit(queue="near")

    assert names.JOB_FORWARDING not in raw.annotations_of(w.job())
