"""A TrainJob's runtime, and the JobSet that Trainer is going to make of both (integrations.md 2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.resources import CLUSTERTRAININGRUNTIMES, TRAININGRUNTIMES, Resource
from vcray.controllers import raw
from vcray.integrations.base import Find, count
from vcray.integrations.batch._jobsets import pod_templates

STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""Label of Jobs, not of their pods."""
TRAINER: Final = "trainer"
NODE: Final = "node"
"""The replicatedJob of an MPI runtime's nodes, and the container that trains."""


def reference(owner: JsonObject) -> tuple[Resource, str]:
    """The kind and the name of the runtime that a TrainJob names."""
    kind = raw.text(owner, "spec", "runtimeRef", "kind")
    resource = TRAININGRUNTIMES if kind == TRAININGRUNTIMES.kind else CLUSTERTRAININGRUNTIMES
    return resource, raw.text(owner, "spec", "runtimeRef", "name")


def of(owner: JsonObject, find: Find) -> JsonObject | None:
    """The runtime of a TrainJob; None when there is none of that name."""
    resource, name = reference(owner)
    return find(resource, raw.namespace(owner) if resource.namespaced else "", name) if name else None


def patched(runtime: JsonObject, owner: JsonObject) -> tuple[JsonObject, ...]:
    """What may name a queue, a scheduler or a priority, first the one that counts: metadata of the patches and of the runtime's JobSet,
    then the pod templates, the trainer's first."""
    patches = [raw.table(each, "trainingRuntimeSpec", "template") for each in _patches(owner)]
    jobset = raw.table(runtime, "spec", "template")
    marks: list[JsonObject] = [{"metadata": raw.table(each, "metadata")} for each in (*patches, jobset)]
    steps = sorted(raw.tables(jobset, "spec", "replicatedJobs"), key=lambda each: _step(each) != TRAINER)
    pods = [raw.table(each, "template", "spec", "template") for each in steps]
    for each in patches:
        pods = [*pod_templates(raw.table(each, "spec")), *pods]
    return tuple(each for each in (*marks, *pods) if raw.table(each, "spec") or raw.table(each, "metadata"))


def jobset_spec(runtime: JsonObject, owner: JsonObject) -> JsonObject:
    """spec of the JobSet to come: the runtime's, with the TrainJob's number of nodes and their resources. Raises Malformed."""
    spec = raw.table(runtime, "spec", "template", "spec")
    jobs = [_sized(runtime, owner, each) for each in raw.tables(spec, "replicatedJobs")]
    return {**spec, "replicatedJobs": list(jobs)}


def _sized(runtime: JsonObject, owner: JsonObject, each: JsonObject) -> JsonObject:
    trains = _step(each) == TRAINER or raw.text(each, "name") == NODE
    nodes = _nodes(runtime, owner, each) if trains else None
    job = raw.table(each, "template", "spec")
    if nodes is not None:
        job = {**job, "parallelism": nodes, "completions": nodes}
    resources = raw.table(owner, "spec", "trainer", "resourcesPerNode")
    if trains and resources:
        pod = raw.table(job, "template", "spec")
        containers = [
            {**one, "resources": resources} if raw.text(one, "name") == NODE else one
            for one in raw.tables(pod, "containers")
        ]
        job = {
            **job,
            "template": {**raw.table(job, "template"), "spec": {**pod, "containers": [*containers]}},
        }
    return {**each, "template": {**raw.table(each, "template"), "spec": job}}


def _nodes(runtime: JsonObject, owner: JsonObject, each: JsonObject) -> int | None:
    """Pods of a step that trains; None leaves its own parallelism. An MPI runtime's launcher bears the trainer's label, but the
    TrainJob's nodes are those of the step `node`, less the launcher where that one is a node itself."""
    policy = raw.table(runtime, "spec", "mlPolicy")
    written = count(policy, "spec.mlPolicy.numNodes", "numNodes", default=-1)
    asked = count(owner, "spec.trainer.numNodes", "spec", "trainer", "numNodes", default=-1)
    if not raw.table(policy, "mpi"):
        found = asked if asked >= 0 else written
    elif _step(each) == TRAINER:
        found = written
    else:
        beside = raw.at(policy, "mpi", "runLauncherAsNode") is True
        found = max(asked - 1, 1) if beside and asked >= 0 else asked
    return found if found >= 0 else None


def _step(replicated: JsonObject) -> str:
    return raw.labels_of(raw.table(replicated, "template")).get(STEP, "")


def _patches(owner: JsonObject) -> Iterator[JsonObject]:
    """The patches, the last one first: it wins."""
    return reversed(raw.tables(owner, "spec", "runtimePatches"))
