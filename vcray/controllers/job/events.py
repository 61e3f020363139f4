"""Watch events into requests.

A pod that is first seen in an end phase is told as the event it stands for (PodFailed, TaskCompleted), not as
PodPending, so that a failure while no controller ran still meets its policy (volcano-sh/volcano#3967). Every other
first sight of a pod is PodPending, whatever its phase, which also starts the time-outs of pending pods again.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api import names
from vcray.api.batch import JobEvent
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.controllers.job.lifecycle import RESTING
from vcray.controllers.job.policies import mentions
from vcray.controllers.job.request import CommandRequest, JobRequest
from vcray.controllers.job.view import JobView, is_job_pod, phase_of, pods_of, task_of


def job_request(change: Change) -> JobRequest | None:
    """A job that appeared, or whose spec or phase changed."""
    if change.new is None:
        return None
    if change.old is not None:
        same_spec = raw.at(change.old, "spec") == raw.at(change.new, "spec")
        if same_spec and _phase(change.old) == _phase(change.new):
            return None
    return JobRequest(namespace=raw.namespace(change.new), job=raw.name(change.new))


def _phase(job: JsonObject) -> str:
    return raw.text(job, "status", "state", "phase")


def pod_request(change: Change, job: JobView | None, seen: Seen) -> JobRequest | None:
    """What a change of a job's pod means; None for a pod that no job manages or an event without a change."""
    pod = change.object
    if not is_job_pod(pod):
        return None
    if (
        change.old is not None
        and change.new is not None
        and raw.version(change.old) == raw.version(change.new)
    ):
        return None
    event = _pod_event(change, job, seen)
    return pod_event(pod, event)


def pod_event(pod: JsonObject, event: JobEvent) -> JobRequest:
    """The request for an event of a pod."""
    owner = raw.controller(pod)
    return JobRequest(
        namespace=raw.namespace(pod),
        job=raw.text(owner, "name"),
        uid=raw.text(owner, "uid"),
        event=event.value,
        task=task_of(pod),
        pod=raw.name(pod),
        pod_uid=raw.uid(pod),
        partition=raw.labels_of(pod).get(names.PARTITION_ID, ""),
        exit_code=exit_code(pod) if event is JobEvent.POD_FAILED else 0,
        version=int(raw.annotation(pod, names.JOB_VERSION)),
    )


def shown_by_pods(job: JobView, seen: Seen) -> Iterator[JobRequest]:
    """Events that the pods of a job still show: failed pods, then tasks of which every replica Succeeded.

    A failed pod that is marked but not going counts: the kill that marked it was cut short before it told anybody."""
    pods = [pod for pod in pods_of(job, seen) if not raw.terminating(pod)]
    for pod in pods:
        if phase_of(pod) == "Failed":
            yield pod_event(pod, JobEvent.POD_FAILED)
    for task in job.tasks:
        succeeded = [pod for pod in pods if task_of(pod) == task.name and phase_of(pod) == "Succeeded"]
        if len(succeeded) >= task.replicas > 0:
            yield pod_event(succeeded[-1], JobEvent.TASK_COMPLETED)


def exit_code(pod: JsonObject) -> int:
    """Exit code of the pod's first container, 0 when it has none."""
    first = next(iter(raw.tables(pod, "status", "containerStatuses")), {})
    return raw.number(first, "state", "terminated", "exitCode")


def _pod_event(change: Change, job: JobView | None, seen: Seen) -> JobEvent:
    pod = change.object
    if raw.annotation(pod, names.CONTROLLER_OUT_OF_SYNC):
        return JobEvent.OUT_OF_SYNC
    if change.new is None:
        return JobEvent.POD_EVICTED
    phase = phase_of(pod)
    moved = change.old is None or phase_of(change.old) != phase
    if phase == "Failed" and moved:
        return JobEvent.POD_FAILED
    if phase == "Succeeded" and moved and _task_completed(pod, job, seen):
        return JobEvent.TASK_COMPLETED
    if change.old is None:
        return JobEvent.POD_PENDING
    if phase in ("Pending", "Running"):
        if moved:
            return JobEvent.POD_RUNNING if phase == "Running" else JobEvent.POD_PENDING
        if _task_failed(pod, job, seen):
            return JobEvent.TASK_FAILED
    return JobEvent.OUT_OF_SYNC


def _task_completed(pod: JsonObject, job: JobView | None, seen: Seen) -> bool:
    """Every replica of the pod's task Succeeded, and a policy wants to know."""
    task = job.task(task_of(pod)) if job is not None else None
    if job is None or task is None or task.replicas == 0:
        return False
    if not mentions(job, task, JobEvent.TASK_COMPLETED):
        return False
    succeeded = sum(
        1 for item in pods_of(job, seen) if task_of(item) == task.name and phase_of(item) == "Succeeded"
    )
    return succeeded >= task.replicas


def _task_failed(pod: JsonObject, job: JobView | None, seen: Seen) -> bool:
    """The containers of the task's live pods were restarted as often as its maxRetry, and a policy wants to know."""
    task = job.task(task_of(pod)) if job is not None else None
    if job is None or task is None or task.replicas == 0 or task.restart_limit < 0:
        return False
    if not mentions(job, task, JobEvent.TASK_FAILED):
        return False
    restarts = sum(
        raw.number(status, "restartCount")
        for item in pods_of(job, seen)
        if task_of(item) == task.name and phase_of(item) in ("Pending", "Running")
        for field in ("initContainerStatuses", "containerStatuses")
        for status in raw.tables(item, "status", field)
    )
    return restarts >= task.restart_limit


def podgroup_request(change: Change, seen: Seen) -> JobRequest | None:
    """A PodGroup whose phase changed; Unknown is an event for policies. A lost group of a live job is made again."""
    group = change.object
    owner = raw.controller(group)
    if owner.get("kind") != JOBS.kind or owner.get("apiVersion") != JOBS.api_version:
        return None
    namespace, job = raw.namespace(group), raw.text(owner, "name")
    if change.new is None:
        stored = seen.get(JOBS, namespace, job)
        if stored is None or raw.uid(stored) != raw.text(owner, "uid") or _phase(stored) in RESTING:
            return None
        return JobRequest(namespace=namespace, job=job)
    old_phase = raw.text(change.old, "status", "phase") if change.old is not None else ""
    phase = raw.text(group, "status", "phase")
    if phase == old_phase:
        return None
    event = JobEvent.UNKNOWN.value if phase == "Unknown" else ""
    return JobRequest(namespace=namespace, job=job, uid=raw.text(owner, "uid"), event=event)


def command_request(change: Change) -> CommandRequest | None:
    """A new Command that names a job."""
    command = change.new
    if command is None or change.old is not None:
        return None
    target = raw.table(command, "target")
    if target.get("kind") != JOBS.kind or target.get("apiVersion") != JOBS.api_version:
        return None
    return CommandRequest(
        namespace=raw.namespace(command),
        job=raw.text(target, "name"),
        command=raw.name(command),
        command_uid=raw.uid(command),
        action=raw.text(command, "action"),
    )


def queue_requests(change: Change, seen: Seen) -> list[JobRequest]:
    """Jobs that waited for a queue that has now been created."""
    if change.old is not None or change.new is None:
        return []
    queue = raw.name(change.new)
    return [
        JobRequest(namespace=raw.namespace(job), job=raw.name(job))
        for job in seen.list(JOBS)
        if (raw.text(job, "spec", "queue") or names.DEFAULT_QUEUE) == queue
        and raw.text(job, "status", "state", "reason") == "QueueNotFound"
    ]
