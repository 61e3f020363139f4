"""Sizes of groups for samples of JobSet, LeaderWorkerSet and Trainer: ours, and those of the operators' own plugins."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.controllers.world import World
from tests.integrations.objects import world
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CLUSTERTRAININGRUNTIMES,
    JOBSETS,
    KUBERNETES_JOBS,
    LEADERWORKERSETS,
    PODS,
    STATEFULSETS,
    TRAINJOBS,
)
from vcray.cluster.operators.lws.leaderworkersets import LeaderWorkerSets
from vcray.cluster.operators.trainer.trainjobs import TrainJobs
from vcray.controllers import raw
from vcray.controllers.base import Controller

SAMPLES = yaml.safe_load(Path(__file__).with_name("goldens.yaml").read_text())
RESOURCES = {each.kind: each for each in (JOBSETS, TRAINJOBS, LEADERWORKERSETS)}
LWS = "leaderworkerset.sigs.k8s.io/"


def put(w: World, sample: JsonObject) -> None:
    """The sample's object by the name of `x`, in a queue, with what it stands on."""
    given = raw.table(sample, "object")
    resource = RESOURCES[raw.text(given, "kind")]
    notes = {"scheduling.volcano.sh/queue-name": "q", **raw.annotations_of(given)}
    owner: JsonObject = {
        **given,
        "metadata": {"name": "x", "namespace": "ns", "annotations": raw.strings(notes)},
    }
    if resource == TRAINJOBS:
        w.put(CLUSTERTRAININGRUNTIMES, {"metadata": {"name": "r"}, "spec": raw.table(sample, "runtime")})
        owner["spec"] = {**raw.table(given, "spec"), "runtimeRef": {"name": "r"}}
    made = w.put(resource, owner)
    for job in raw.tables(sample, "jobs"):
        w.put(KUBERNETES_JOBS, job_of(made, job))
    w.settle()


def job_of(jobset: JsonObject, given: JsonObject) -> JsonObject:
    """A Job of a JobSet's first try, of the replicatedJob `of`."""
    name = raw.text(given, "of")
    ended = raw.text(given, "ended")
    labels: JsonObject = {
        "jobset.sigs.k8s.io/replicatedjob-name": name,
        "jobset.sigs.k8s.io/restart-attempt": "0",
    }
    return {
        "metadata": {
            "name": f"x-{name}-0",
            "namespace": "ns",
            "labels": labels,
            "ownerReferences": [raw.owner_reference(JOBSETS.api_version, "JobSet", jobset)],
        },
        "spec": {"suspend": raw.at(given, "suspend") is True},
        "status": {
            "ready": raw.number(given, "ready"),
            "conditions": [{"type": ended, "status": "True"}] if ended else [],
        },
    }


def put_leader(w: World) -> None:
    """Replica 0 of the LeaderWorkerSet, where LWS has made no pod."""
    lws = w.objects[LEADERWORKERSETS, "ns", "x"]
    both = raw.table(lws, "spec", "leaderWorkerTemplate")
    template = raw.table(both, "leaderTemplate") or raw.table(both, "workerTemplate")
    pod: JsonObject = {
        "metadata": {
            "name": "x-0",
            "namespace": "ns",
            "labels": {LWS + "name": "x", LWS + "worker-index": "0", LWS + "template-revision-hash": "h"},
            "ownerReferences": [raw.owner_reference(LEADERWORKERSETS.api_version, "LeaderWorkerSet", lws)],
        },
        "spec": raw.table(template, "spec"),
    }
    workers: JsonObject = {
        "metadata": {
            "name": "x-0",
            "namespace": "ns",
            "labels": {LWS + "name": "x"},
            "ownerReferences": [raw.owner_reference("v1", "Pod", w.put(PODS, pod))],
        },
        "spec": {"template": raw.table(both, "workerTemplate")},
    }
    w.settle()
    w.put(STATEFULSETS, workers)
    w.settle()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["sample"])
def test_our_group_is_as_large_as_what_may_start(sample) -> None:
    w = world()

    put(w, sample)
    if sample["object"]["kind"] == "LeaderWorkerSet":
        put_leader(w)

    (group,) = w.podgroups()
    assert [raw.number(group, "spec", "minMember"), raw.table(group, "spec", "minResources")] == sample[
        "ours"
    ]
    assert raw.text(group, "spec", "queue") == "q"


@pytest.mark.parametrize(
    "sample", [each for each in SAMPLES if "theirs" in each], ids=lambda sample: sample["sample"]
)
def test_group_of_an_operators_plugin_is_as_large_as_the_real_one(sample) -> None:
    operator: Controller
    operator = (TrainJobs if sample["object"]["kind"] == "TrainJob" else LeaderWorkerSets)("volcano")
    w = World([operator])

    put(w, sample)

    (group,) = w.podgroups()
    assert [raw.number(group, "spec", "minMember"), raw.table(group, "spec", "minResources")] == sample[
        "theirs"
    ]
