"""What happens on a mixed day: which objects are handed in when, of which sizes, and how they end."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PYTORCHJOBS, RAYCLUSTERS, SPARKAPPLICATIONS, Resource


@dataclass(frozen=True, slots=True)
class Arrival:
    """One object: `pods` pods of `cpu` cores that run for `run_s` seconds; it starts with `least` of them."""

    at_s: float
    kind: str
    name: str
    queue: str
    pods: int
    least: int
    cpu: int
    run_s: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A day: arrivals by time, queues with their weights, nodes of `node_cpu` cores of which some fail, so many an hour."""

    arrivals: tuple[Arrival, ...]
    weights: Mapping[str, int]
    nodes: int
    node_cpu: int
    node_failures_h: float
    seed: int


def plan_of(
    counts: Mapping[str, int], queues: int = 6, nodes: int = 500, node_cpu: int = 8, seed: int = 0
) -> Plan:
    """A plan with so many objects of each kind, spread evenly over the queues and over the first two hours.

    Sizes are such that the cluster is wanted several times over: all queues have demand for most of the day. Every other object is
    elastic, so that what a queue may have is not a matter of which gangs happen to fit together. ValueError for a kind that there is none
    of, or a size below 1."""
    unknown = next((kind for kind in counts if kind not in MADE), None)
    if unknown is not None:
        raise ValueError(f"a day has no {unknown}")
    if min(queues, nodes, node_cpu) < 1:
        raise ValueError("queues, nodes and node_cpu must be at least 1")
    dice = random.Random(seed)
    weights = {f"q{number}": number for number in range(1, queues + 1)}
    names_of_queues, shares = list(weights), list(weights.values())
    arrivals = []
    for kind, number in counts.items():
        for index in range(number):
            pods = dice.randint(2, 12)
            arrivals.append(
                Arrival(
                    at_s=dice.uniform(0, 600),
                    kind=kind,
                    name=f"{kind.lower()}-{index}",
                    queue=dice.choices(names_of_queues, shares)[0],
                    pods=pods,
                    least=2 if index % 2 else pods,
                    cpu=dice.choice((1, 2, 4)),
                    run_s=dice.randint(20, 90) * 60,
                )
            )
    arrivals.sort(key=lambda each: (each.at_s, each.name))
    return Plan(tuple(arrivals), weights, nodes, node_cpu, 2.0, seed)


def _template(arrival: Arrival, name: str, seconds: int, **spec: object) -> JsonObject:
    command = ["sh", "-c", f"sleep {seconds}"]
    container: JsonObject = {
        "name": name,
        "image": "none",
        "command": list(command),
        "resources": {"requests": {"cpu": str(arrival.cpu), "memory": f"{2 * arrival.cpu}Gi"}},
    }
    made: JsonObject = {"spec": {"containers": [container], **spec}}  # type: ignore[dict-item]
    return made


def _head(arrival: Arrival, resource: Resource, **annotations: str) -> JsonObject:
    marks = {names.POD_QUEUE_NAME: arrival.queue, **annotations}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": arrival.name, "annotations": dict(marks)},
    }


def _job(arrival: Arrival) -> tuple[Resource, JsonObject]:
    policies = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    if arrival.least == arrival.pods:
        policies.append({"event": "PodEvicted", "action": "RestartJob"})
    task = {
        "name": "t",
        "replicas": arrival.pods,
        "template": _template(arrival, "main", arrival.run_s, restartPolicy="OnFailure"),
    }
    spec = {
        "minAvailable": arrival.least,
        "schedulerName": names.SCHEDULER_NAME,
        "queue": arrival.queue,
        "maxRetry": 20,
        "policies": policies,
        "tasks": [task],
    }
    return JOBS, {**_head(arrival, JOBS), "spec": spec}  # type: ignore[dict-item]


def _ray_cluster(arrival: Arrival) -> tuple[Resource, JsonObject]:
    group = {
        "groupName": "workers",
        "replicas": arrival.pods - 1,
        "minReplicas": arrival.least - 1,
        "maxReplicas": arrival.pods - 1,
        "template": _template(arrival, "worker", 10**7),
    }
    spec = {
        "enableInTreeAutoscaling": arrival.least < arrival.pods,
        "headGroupSpec": {"template": _template(arrival, "head", 10**7)},
        "workerGroupSpecs": [group],
    }
    head = _head(arrival, RAYCLUSTERS, **{"day/life": str(arrival.run_s)})
    return RAYCLUSTERS, {**head, "spec": spec}  # type: ignore[dict-item]


def _pytorch_job(arrival: Arrival) -> tuple[Resource, JsonObject]:
    def replicas(count: int) -> JsonObject:
        template = _template(arrival, "pytorch", arrival.run_s)
        return {"replicas": count, "restartPolicy": "OnFailure", "template": template}

    specs: JsonObject = {"Master": replicas(1), "Worker": replicas(arrival.pods - 1)}
    spec: JsonObject = {"runPolicy": {"cleanPodPolicy": "All"}, "pytorchReplicaSpecs": specs}
    if arrival.least < arrival.pods:
        spec["elasticPolicy"] = {"minReplicas": arrival.least - 1, "maxReplicas": arrival.pods - 1}
    return PYTORCHJOBS, {**_head(arrival, PYTORCHJOBS), "spec": spec}


def _spark(arrival: Arrival) -> tuple[Resource, JsonObject]:
    driver = {"cores": arrival.cpu, "memory": f"{1600 * arrival.cpu}m"}
    spec = {
        "type": "Scala",
        "mode": "cluster",
        "image": "none",
        "driver": driver,
        "executor": {**driver, "instances": arrival.pods - 1},
        "restartPolicy": {"type": "OnFailure", "onFailureRetries": 20, "onFailureRetryInterval": 10},
    }
    head = _head(arrival, SPARKAPPLICATIONS, **{"vcray.io/stand-in-script": f"sleep {arrival.run_s}"})
    return SPARKAPPLICATIONS, {**head, "spec": spec}  # type: ignore[dict-item]


MADE: Final[Mapping[str, Callable[[Arrival], tuple[Resource, JsonObject]]]] = {
    JOBS.kind: _job,
    RAYCLUSTERS.kind: _ray_cluster,
    PYTORCHJOBS.kind: _pytorch_job,
    SPARKAPPLICATIONS.kind: _spark,
}
"""The objects of a day by kind."""
