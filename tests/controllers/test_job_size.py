"""A job that no webhook refused and that asks for more pods than any cluster holds costs one event and nothing else."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_task
from vcray.api.jobsize import MOST_PODS, too_many_pods
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODS
from vcray.controllers.base import Create, Delete, UpdateStatus
from vcray.controllers.job.controller import JobController

HUGE = 2**31 - 1
PLUGINS: JsonObject = {"svc": [], "tensorflow": []}
PARTITIONS: JsonObject = {"totalPartitions": HUGE, "partitionSize": HUGE}


@pytest.mark.parametrize(
    ("tasks", "asked"),
    [
        ([a_task("ps", HUGE)], HUGE),
        ([a_task("ps", MOST_PODS), a_task("worker", 1)], MOST_PODS + 1),
        ([a_task("ps", 1, partitionPolicy=PARTITIONS)], HUGE * HUGE),
    ],
)
def test_it_is_told_once_and_nothing_is_made(tasks: list[JsonObject], asked: int) -> None:
    w = World([JobController()])
    w.submit(tasks=tasks, plugins=PLUGINS)
    w.change(JOBS, "ns", "j", spec__priorityClassName="high")
    w.settle()

    assert (w.did(Create), w.did(UpdateStatus), w.errors) == ([], [], [])
    assert w.events == [
        (
            "TooManyPods",
            f"'replicas' of all tasks add up to {asked}, more than the 150000 pods that a job may have, in job: j; "
            "lower them or divide the job",
        )
    ]


def test_a_running_job_that_is_raised_so_keeps_its_pods_until_it_is_lowered_and_is_told_each_time() -> None:
    w = World([JobController()])
    w.running(tasks=[a_task("t", 2)])
    w.effects.clear()

    w.change_tasks(t=HUGE)
    w.settle()
    assert w.pods() == ["j-t-0", "j-t-1"]
    assert (w.did(Create), w.did(Delete)) == ([], [])
    w.change_tasks(t=3)
    w.settle()

    assert w.pods() == ["j-t-0", "j-t-1", "j-t-2"]
    assert len(w.did(Create, PODS)) == 1
    w.change_tasks(t=HUGE)
    w.settle()
    assert [reason for reason, _ in w.events].count("TooManyPods") == 2


def test_as_many_pods_as_the_largest_cluster_holds_are_not_too_many() -> None:
    job: JsonObject = {"spec": {"tasks": [a_task("a", MOST_PODS - 1), a_task("b", 1)]}}

    assert too_many_pods(job) == ""
