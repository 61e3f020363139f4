"""The pods of a job: names, metadata, volumes, and when a task that depends on others may have them.

A pod starts from its task's template. The name of a mounted claim's volume is derived from the job and the claim, so
building a pod twice gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.controllers.job.view import JobView, TaskView, pods_of, task_of

_SUFFIX_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_COPIED_ANNOTATIONS = (names.PREEMPTABLE, names.COOLDOWN_TIME, names.REVOCABLE_ZONE)
_COPIED_LABELS = (names.PREEMPTABLE, names.COOLDOWN_TIME)


def pod_name(job: JobView, task: TaskView, index: int) -> str:
    """`<job>-<task>-<index>`."""
    return f"{job.name}-{task.name}-{index}"


def suffix(*parts: str) -> str:
    """Twelve characters of 0-9a-z that stand for these words: a name that nobody else has, without dice."""
    number = int.from_bytes(hashlib.blake2b("/".join(parts).encode(), digest_size=8).digest())
    digits = []
    for _ in range(12):
        number, digit = divmod(number, len(_SUFFIX_ALPHABET))
        digits.append(_SUFFIX_ALPHABET[digit])
    return "".join(digits)


def build_pod(job: JobView, task: TaskView, index: int, version: int, retry_count: int) -> JsonObject:
    """Pod `index` of a task, before the job's plugins have seen it."""
    template = task.spec.template
    labels = raw.labels_of(template)
    annotations = raw.annotations_of(template)
    labels.update(_labels(job, task, index))
    annotations.update(_annotations(job, task, index, version, retry_count))
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": pod_name(job, task, index),
            "namespace": job.namespace,
            "ownerReferences": [job.owner_reference],
            "labels": raw.strings(labels),
            "annotations": raw.strings(annotations),
            **_finalizers(template),
        },
        "spec": _spec(job, template),
    }


def _finalizers(template: JsonObject) -> JsonObject:
    finalizers = raw.at(template, "metadata", "finalizers")
    return {"finalizers": finalizers} if finalizers else {}


def _labels(job: JobView, task: TaskView, index: int) -> Mapping[str, str]:
    stored = raw.labels_of(job.raw)
    labels = {
        names.TASK_INDEX: str(index),
        names.JOB_NAME: job.name,
        names.TASK_SPEC: task.name,
        names.JOB_NAMESPACE: job.namespace,
        names.QUEUE_NAME: job.queue,
        **{key: stored[key] for key in _COPIED_LABELS if key in stored},
    }
    if is_forwarded(job):
        labels[names.JOB_FORWARDING] = "true"
    if task.partition_size:
        labels[names.PARTITION_ID] = str(index // task.partition_size)
    return labels


def _annotations(
    job: JobView, task: TaskView, index: int, version: int, retry_count: int
) -> Mapping[str, str]:
    stored = raw.annotations_of(job.raw)
    annotations = {
        names.TASK_INDEX: str(index),
        names.TASK_SPEC: task.name,
        names.GROUP_NAME: job.podgroup_name,
        names.JOB_NAME: job.name,
        names.QUEUE_NAME: job.queue,
        names.JOB_VERSION: str(version),
        names.TEMPLATE_UID: f"{job.name}-{task.name}",
        names.JOB_RETRY_COUNT: str(retry_count),
        **{key: stored[key] for key in _COPIED_ANNOTATIONS if key in stored},
        **disruption_budget(stored),
    }
    if task.spec.topology_policy:
        annotations[names.NUMA_TOPOLOGY_POLICY] = task.spec.topology_policy
    if is_forwarded(job):
        annotations[names.JOB_FORWARDING] = "true"
    return annotations


def disruption_budget(annotations: Mapping[str, str]) -> dict[str, str]:
    """The one disruption budget annotation that counts: min-available goes before max-unavailable."""
    for key in (names.JDB_MIN_AVAILABLE, names.JDB_MAX_UNAVAILABLE):
        if key in annotations:
            return {key: annotations[key]}
    return {}


def is_forwarded(job: JobView) -> bool:
    """The job may run in another cluster; its pods say so too."""
    return raw.annotation(job.raw, names.JOB_FORWARDING) == "true"


def _spec(job: JobView, template: JsonObject) -> JsonObject:
    spec = raw.copied(raw.table(template, "spec"))
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job.scheduler_name
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    if spec.get("hostNetwork") is True and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    _mount_claims(job, spec)
    return spec


def _mount_claims(job: JobView, spec: JsonObject) -> None:
    mounted: set[str] = set()
    for volume in job.spec.volumes:
        claim = volume.volume_claim_name
        if not claim or claim in mounted:
            continue
        mounted.add(claim)
        name = f"{job.name}-{suffix(job.uid, claim)}"
        raw.append(spec, "volumes", {"name": name, "persistentVolumeClaim": {"claimName": claim}})
        for container in raw.tables(spec, "containers"):
            raw.append(container, "volumeMounts", {"name": name, "mountPath": volume.mount_path})


def may_start(job: JobView, task: TaskView, seen: Seen) -> bool:
    """Whether the tasks that this one depends on are ready: all of them, or one where iteration is `any`.

    A task is ready when as many pods as its minimum Succeeded, or run with every container ready. It gates creation
    only: what happens to the other tasks later takes nothing away."""
    depends_on = task.spec.depends_on
    if depends_on is None or not depends_on.name:
        return True
    ready = [_is_ready(job, name, seen) for name in depends_on.name]
    return any(ready) if depends_on.iteration == "any" else all(ready)


def _is_ready(job: JobView, name: str, seen: Seen) -> bool:
    needed = job.task(name)
    if needed is None:
        return False
    ready = sum(1 for pod in pods_of(job, seen) if task_of(pod) == name and _pod_ready(pod))
    return ready >= needed.needed


def _pod_ready(pod: JsonObject) -> bool:
    phase = raw.text(pod, "status", "phase")
    containers = raw.tables(pod, "status", "containerStatuses")
    running = phase == "Running" and all(container.get("ready") is True for container in containers)
    return not raw.terminating(pod) and (phase == "Succeeded" or running)
