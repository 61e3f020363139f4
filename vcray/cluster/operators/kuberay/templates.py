"""Pod templates of RayClusters as KubeRay completes them, and hashes over specs."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.operators.kuberay import words
from vcray.controllers import raw

_AUTOSCALER: Final[JsonObject] = {
    "limits": {"cpu": "500m", "memory": "512Mi"},
    "requests": {"cpu": "500m", "memory": "512Mi"},
}
_WAITER: Final[JsonObject] = {
    "limits": {"cpu": "200m", "memory": "256Mi"},
    "requests": {"cpu": "200m", "memory": "256Mi"},
}
SUBMITTER_RESOURCES: Final[JsonObject] = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}
_OF_THE_AUTOSCALER: Final = ("replicas", "scaleStrategy")


def head(cluster: JsonObject) -> JsonObject:
    """The head's template, with the autoscaler's container where the cluster scales itself."""
    template = raw.table(cluster, "spec", "headGroupSpec", "template")
    if raw.at(cluster, "spec", "enableInTreeAutoscaling") is not True:
        return template
    resources = raw.table(cluster, "spec", "autoscalerOptions", "resources") or _AUTOSCALER
    return with_container(template, {"name": "autoscaler", "image": image(template), "resources": resources})


def worker(group: JsonObject) -> JsonObject:
    """A worker's template, with the init container that waits for the head."""
    template = raw.table(group, "template")
    spec = raw.table(template, "spec")
    waiter: JsonObject = {
        "name": "wait-gcs-ready",
        "image": image(template),
        "command": ["true"],
        "resources": _WAITER,
    }
    waiters: list[JsonValue] = [*raw.tables(spec, "initContainers"), waiter]
    return {**template, "spec": {**spec, "initContainers": waiters}}


def redis_cleanup(cluster: JsonObject) -> JsonObject:
    """The template of the pod that empties a Redis: the head's, with its first container alone."""
    template = raw.table(cluster, "spec", "headGroupSpec", "template")
    spec = raw.table(template, "spec")
    containers: list[JsonValue] = [
        {**each, "command": ["true"], "resources": _WAITER} for each in raw.tables(spec, "containers")[:1]
    ]
    labels: JsonObject = {
        **raw.table(template, "metadata", "labels"),
        words.CLUSTER: raw.name(cluster),
        words.GROUP: words.HEAD_GROUP,
        words.NODE_TYPE: "redis-cleanup",
    }
    return {
        "metadata": {"labels": labels},
        "spec": {**spec, "containers": containers, "restartPolicy": "Never"},
    }


def with_container(template: JsonObject, container: JsonObject) -> JsonObject:
    """A template with one container more."""
    spec = raw.table(template, "spec")
    containers: list[JsonValue] = [*raw.tables(spec, "containers"), container]
    return {**template, "spec": {**spec, "containers": containers}}


def image(template: JsonObject) -> str:
    """The image of the first container."""
    return raw.text(template, "spec", "containers", 0, "image")


def spec_hash(spec: JsonObject) -> str:
    """Tells specs apart by what makes new pods necessary: not by numbers of workers."""
    groups: list[JsonValue] = [
        {key: value for key, value in group.items() if key not in _OF_THE_AUTOSCALER}
        for group in raw.tables(spec, "workerGroupSpecs")
    ]
    return digest({**spec, "workerGroupSpecs": groups})


def digest(value: JsonValue) -> str:
    """A short hash of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]
