"""The PodGroup of a job: what the scheduler is told of it.

Made once per job object (its name carries the uid) and kept in step with what may change in a job: priority class,
minimum, minimum per task, minResources and partitions. Queue, labels, annotations and topology are those of its birth.
"""

from __future__ import annotations

from vcray.api import names
from vcray.api.batch import PartitionPolicy
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.objects import NetworkTopology
from vcray.api.resources import PODGROUPS, PRIORITYCLASSES
from vcray.controllers import raw
from vcray.controllers.base import Create, Patch, ReconcileError, Seen, Steps
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.podusage import Usage, add_usage, pod_usage, usage_json

_KEPT_IN_STEP: JsonObject = {
    "priorityClassName": "",
    "minMember": 0,
    "minResources": {},
    "minTaskMember": {},
    "subGroupPolicy": [],
}
"""Fields that follow the job, each with what a field left out means."""


def find_podgroup(job: JobView, seen: Seen) -> JsonObject | None:
    """The job's PodGroup; one that carries the job's bare name (made by an old Volcano) counts if the job owns it."""
    found = seen.get(PODGROUPS, job.namespace, job.podgroup_name)
    if found is None:
        found = seen.get(PODGROUPS, job.namespace, job.name)
        if found is not None and not raw.controlled_by(found, job.uid):
            return None
    return found


def is_admitted(podgroup: JsonObject | None) -> bool:
    """Whether the scheduler has let the group past its queue's gate; only then are pods made."""
    return podgroup is not None and raw.text(podgroup, "status", "phase") not in ("", "Pending")


def keep_podgroup(job: JobView, seen: Seen) -> Steps[None]:
    """Create the PodGroup, or bring the fields that follow the job up to date."""
    stored = find_podgroup(job, seen)
    spec = podgroup_spec(job, seen)
    if stored is None:
        outcome = yield Create(PODGROUPS, _podgroup(job, spec))
    else:
        old = raw.table(stored, "spec")
        spec["minTaskMember"] = {**raw.table(old, "minTaskMember"), **raw.table(spec, "minTaskMember")}
        patch: list[JsonValue] = [
            {"op": "add", "path": f"/spec/{field}", "value": spec[field]}
            for field, absent in _KEPT_IN_STEP.items()
            if spec[field] != old.get(field, absent)
        ]
        if not patch:
            return
        outcome = yield Patch(PODGROUPS, job.namespace, raw.name(stored), patch, "json")
    if not outcome.ok:
        raise ReconcileError(outcome.why)


def podgroup_spec(job: JobView, seen: Seen) -> JsonObject:
    """spec of the PodGroup; every field that follows the job is present."""
    spec: JsonObject = {
        "minMember": job.min_available,
        "minTaskMember": {task.name: task.needed for task in job.tasks},
        "queue": job.queue,
        "priorityClassName": job.spec.priority_class_name,
        "minResources": usage_json(min_resources(job, seen)),
        "subGroupPolicy": [
            _subgroup(task, task.spec.partition_policy)
            for task in job.tasks
            if task.spec.partition_policy is not None
        ],
    }
    if job.spec.network_topology is not None:
        spec["networkTopology"] = _topology(job.spec.network_topology)
    return spec


def _podgroup(job: JobView, spec: JsonObject) -> JsonObject:
    given = {key: value for key, value in spec.items() if value not in ("", [], {})}
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {
            "name": job.podgroup_name,
            "namespace": job.namespace,
            "labels": raw.strings(raw.labels_of(job.raw)),
            "annotations": raw.strings(raw.annotations_of(job.raw)),
            "ownerReferences": [job.owner_reference],
        },
        "spec": given,
    }


def _topology(topology: NetworkTopology) -> JsonObject:
    result: JsonObject = {"mode": topology.mode.value}
    if topology.highest_tier_allowed is not None:
        result["highestTierAllowed"] = topology.highest_tier_allowed
    elif topology.highest_tier_name:
        result["highestTierName"] = topology.highest_tier_name
    return result


def _subgroup(task: TaskView, partitions: PartitionPolicy) -> JsonObject:
    result: JsonObject = {
        "name": task.name,
        "subGroupSize": partitions.partition_size,
        "minSubGroups": partitions.min_partitions,
        "labelSelector": {"matchLabels": {names.TASK_SPEC: task.name}},
        "matchLabelKeys": [names.PARTITION_ID],
    }
    if partitions.network_topology is not None:
        result["networkTopology"] = _topology(partitions.network_topology)
    return result


def min_resources(job: JobView, seen: Seen) -> Usage:
    """What the first `min_available` pods count, tasks of higher priority first.

    When the job's minimum covers the tasks' minima, those are taken first and the rest is filled from what is left."""
    tasks = sorted(job.tasks, key=lambda task: -_priority(task, seen))
    wanted = job.min_available
    taken = dict.fromkeys((task.name for task in tasks), 0)
    if job.min_available >= sum(task.needed for task in tasks):
        for task in tasks:
            taken[task.name] = min(task.needed, wanted)
            wanted -= taken[task.name]
    for task in tasks:
        more = max(0, min(task.replicas - taken[task.name], wanted))
        taken[task.name] += more
        wanted -= more
    total: Usage = {}
    for task in tasks:
        if taken[task.name]:
            add_usage(total, pod_usage(raw.table(task.spec.template, "spec")), taken[task.name])
    return total


def _priority(task: TaskView, seen: Seen) -> int:
    name = raw.text(task.spec.template, "spec", "priorityClassName")
    priority_class = seen.get(PRIORITYCLASSES, "", name) if name else None
    return raw.number(priority_class, "value") if priority_class is not None else 0
