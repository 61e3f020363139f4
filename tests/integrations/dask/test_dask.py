"""Gangs of Dask's clusters."""

from __future__ import annotations

import pytest

from tests.integrations.objects import template, world
from vcray.api.meta import JsonObject
from vcray.api.resources import DASKAUTOSCALERS, DASKCLUSTERS, DASKJOBS, DASKWORKERGROUPS, PODGROUPS
from vcray.controllers import raw


def cluster(**worker: object) -> JsonObject:
    return {
        "metadata": {"name": "d", "namespace": "ns", "labels": {"volcano.sh/queue-name": "q"}},
        "spec": {"scheduler": template("1"), "worker": {**template("2"), "replicas": 3, **worker}},
    }


def of_cluster(**spec: object) -> JsonObject:
    return {"metadata": {"name": "d-default", "namespace": "ns"}, "spec": {"cluster": "d", **spec}}


@pytest.mark.parametrize(
    ("beside", "minimum", "cpu"),
    [
        ({}, {"scheduler": 1, "worker": 3}, "7"),
        ({DASKWORKERGROUPS: of_cluster(worker={"replicas": 5})}, {"scheduler": 1, "worker": 3}, "7"),
        ({DASKWORKERGROUPS: of_cluster(worker={"replicas": 1})}, {"scheduler": 1, "worker": 1}, "3"),
        ({DASKAUTOSCALERS: of_cluster(minimum=2, maximum=9)}, {"scheduler": 1, "worker": 2}, "5"),
        ({DASKAUTOSCALERS: of_cluster(minimum=0, maximum=9)}, {"scheduler": 1}, "1"),
    ],
)
def test_gang_is_the_scheduler_and_the_least_workers(beside, minimum, cpu) -> None:
    w = world()
    w.put(DASKCLUSTERS, cluster())
    w.settle()
    for resource, obj in beside.items():
        w.put(resource, obj)
    w.settle()

    spec = raw.table(w.objects[PODGROUPS, "ns", "dask-d-pg"], "spec")
    assert spec["minTaskMember"] == minimum
    assert spec["minMember"] == sum(minimum.values())
    assert spec["minResources"] == {"cpu": cpu}


def test_runner_of_a_job_is_in_the_gang_of_its_cluster() -> None:
    w = world()
    job = w.put(
        DASKJOBS,
        {
            "metadata": {"name": "d", "namespace": "ns"},
            "spec": {"job": template("4"), "cluster": {"spec": cluster()["spec"]}},
        },
    )
    made = cluster(replicas=1)
    raw.table(made, "metadata")["ownerReferences"] = [
        raw.owner_reference("kubernetes.dask.org/v1", "DaskJob", job)
    ]
    w.put(DASKCLUSTERS, made)
    w.settle()

    spec = raw.table(w.objects[PODGROUPS, "ns", "dask-d-pg"], "spec")
    assert spec["minTaskMember"] == {"scheduler": 1, "worker": 1, "job-runner": 1}
    assert spec["minResources"] == {"cpu": "7"}


@pytest.mark.parametrize("worker", [{"replicas": -1}, {"spec": {}}])
def test_malformed_cluster_is_told(worker) -> None:
    w = world()
    w.put(DASKCLUSTERS, cluster(**worker))
    w.settle()

    assert [reason for reason, _ in w.events] == ["InvalidSpec"]
    assert not w.podgroups()
