"""The PodGroups that the mpi-operator makes with --gang-scheduling=volcano, with its own arithmetic (integrations.md 2.2): the
launcher counts even where it waits for the workers; where more pods than the minimum exist, workers count as one less than it,
unless the priority classes of both differ: then the lesser does."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json


def spec_of(job: JsonObject, classes: Mapping[str, int]) -> JsonObject:
    """spec of a job's PodGroup; `classes` are the values of priority classes by name. A queue that nobody names is left out."""
    chosen = raw.table(job, "spec", "runPolicy", "schedulingPolicy")
    launcher, worker = (_template(job, kind) for kind in ("Launcher", "Worker"))
    workers = workers_of(job)
    members = raw.number(chosen, "minAvailable", default=workers + 1)
    given = [raw.text(each, "spec", "priorityClassName") for each in (launcher, worker)]
    spec: JsonObject = {"minMember": members}
    queue = raw.text(chosen, "queue") or raw.annotation(job, names.POD_QUEUE_NAME)
    priority = raw.text(chosen, "priorityClass") or given[0] or given[1]
    if queue:
        spec["queue"] = queue
    if priority:
        spec["priorityClassName"] = priority
    if raw.at(chosen, "minResources") is not None:
        spec["minResources"] = raw.table(chosen, "minResources")
    elif members:
        counted = _counted(workers, members, *(classes.get(each, 0) for each in given))
        total: Usage = {}
        for template, times in zip((launcher, worker), counted, strict=True):
            containers: JsonObject = {"containers": [*raw.tables(template, "spec", "containers")]}
            add_usage(total, effective(containers, "requests"), times)
        spec["minResources"] = usage_json({name: amount for name, amount in total.items() if amount})
    return spec


def workers_of(job: JsonObject) -> int:
    """Worker.replicas, none unless it is given."""
    return raw.number(job, "spec", "mpiReplicaSpecs", "Worker", "replicas")


def _counted(workers: int, members: int, launcher_value: int, worker_value: int) -> tuple[int, int]:
    """How often the launcher and the worker count."""
    if workers + 1 <= members:
        return 1, workers
    if launcher_value < worker_value:
        return members - 1, workers
    return 1, members - 1


def _template(job: JsonObject, kind: str) -> JsonObject:
    return raw.table(job, "spec", "mpiReplicaSpecs", kind, "template")
