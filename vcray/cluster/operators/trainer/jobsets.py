"""The JobSet that Trainer makes of a TrainJob and its runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.controllers import raw

STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
NODE: Final = "node"


def jobset_of(job: JsonObject, runtime: JsonObject) -> JsonObject:
    """A JobSet without its owner."""
    template = raw.table(runtime, "spec", "template")
    for patch in raw.tables(job, "spec", "runtimePatches"):
        template = merged(template, raw.table(patch, "trainingRuntimeSpec", "template"))
    spec = raw.table(template, "spec")
    replicated: list[JsonValue] = [_sized(job, runtime, each) for each in raw.tables(spec, "replicatedJobs")]
    suspended = raw.at(job, "spec", "suspend") is True
    return {
        "metadata": {
            "name": raw.name(job),
            "labels": raw.strings(raw.labels_of(template)),
            "annotations": raw.strings(raw.annotations_of(template)),
        },
        "spec": {**spec, "replicatedJobs": replicated, "suspend": suspended},
    }


def step_of(replicated: JsonObject) -> str:
    """What a replicatedJob does: a label of its Jobs."""
    return raw.labels_of(raw.table(replicated, "template")).get(STEP, "")


def with_pods(replicated: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A replicatedJob whose pod template went through `change`."""
    template = raw.table(replicated, "template")
    spec = raw.table(template, "spec")
    changed: JsonObject = {**spec, "template": change(raw.table(spec, "template"))}
    return {**replicated, "template": {**template, "spec": changed}}


def _sized(job: JsonObject, runtime: JsonObject, replicated: JsonObject) -> JsonObject:
    trainer, policy = raw.table(job, "spec", "trainer"), raw.table(runtime, "spec", "mlPolicy")
    trains = step_of(replicated) == "trainer"
    node = raw.text(replicated, "name") == NODE
    nodes: JsonValue = None
    if not raw.table(policy, "mpi"):
        nodes = trainer.get("numNodes", policy.get("numNodes")) if trains else None
    elif trains:
        nodes = policy.get("numNodes", 1)
    elif node and "numNodes" in trainer:
        beside = raw.at(policy, "mpi", "runLauncherAsNode") is True
        nodes = max(raw.number(trainer, "numNodes") - 1, 1) if beside else trainer["numNodes"]
    if nodes is not None:
        template = raw.table(replicated, "template")
        spec = {**raw.table(template, "spec"), "parallelism": nodes, "completions": nodes}
        replicated = {**replicated, "template": {**template, "spec": spec}}
    resources = trainer.get("resourcesPerNode")
    if resources and (trains or node):
        replicated = with_pods(replicated, lambda pod: _with_resources(pod, resources))
    return replicated


def _with_resources(pod: JsonObject, resources: JsonValue) -> JsonObject:
    spec = raw.table(pod, "spec")
    containers: list[JsonValue] = [
        {**each, "resources": resources} if raw.text(each, "name") == NODE else each
        for each in raw.tables(spec, "containers")
    ]
    return {**pod, "spec": {**spec, "containers": containers}}


def merged(below: JsonObject, over: JsonObject) -> JsonObject:
    """One object over another: tables go key by key, lists of named items name by name, all else is replaced."""
    found: JsonObject = {**below}
    for key, value in over.items():
        old = found.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            found[key] = merged(old, value)
        elif isinstance(old, list) and isinstance(value, list) and raw.tables(below, key):
            found[key] = _by_name(raw.tables(below, key), raw.tables(over, key))
        else:
            found[key] = value
    return found


def _by_name(below: list[JsonObject], over: list[JsonObject]) -> list[JsonValue]:
    fresh = {raw.text(each, "name"): each for each in over}
    kept: list[JsonValue] = [merged(each, fresh.pop(raw.text(each, "name"), {})) for each in below]
    return [*kept, *fresh.values()]
