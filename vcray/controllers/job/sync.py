"""Bringing the pods of a job in line with its spec.

Pending jobs are set up first: phase, plugins' objects, claims, PodGroup. Pods are made only once the scheduler has moved
the PodGroup past Pending, so a job that cannot start costs no pods; until then nothing is counted either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from vcray.api import names
from vcray.api.batch import JobPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, QUEUES
from vcray.api.scheduling import QueueState
from vcray.controllers import raw
from vcray.controllers.base import All, Create, Effects, ReconcileError, Steps
from vcray.controllers.job.claims import keep_claims
from vcray.controllers.job.kill import delete_pods, is_marked, listed
from vcray.controllers.job.lifecycle import Then
from vcray.controllers.job.podgroup import find_podgroup, is_admitted, keep_podgroup
from vcray.controllers.job.pods import build_pod, is_forwarded, may_start, pod_name
from vcray.controllers.job.status import counted, stamped, status_of
from vcray.controllers.job.turn import Turn, run_job_add, run_job_update
from vcray.controllers.job.view import TaskView, pods_of, task_of

QUEUE_NOT_FOUND = "QueueNotFound"


@dataclass(slots=True)
class _Plan:
    """What has to happen to the pods; `present` are counted in their phase."""

    present: list[JsonObject] = field(default_factory=list)
    terminating: int = 0
    create: list[JsonObject] = field(default_factory=list)
    delete: list[JsonObject] = field(default_factory=list)


def sync_job(turn: Turn, then: Then, overtaken: Callable[[], bool] = lambda: False) -> Steps[bool]:
    """Set up, create and delete pods, count, write the status if anything differs. Raises ReconcileError.

    False when it gave way before it came to the pods: `overtaken` tells that meanwhile something happened to them that
    a policy has to answer first."""
    if turn.job.deleting:
        return True
    if find_podgroup(turn.job, turn.seen) is None and not (yield from turn.lives()):
        return True
    if turn.job.phase in ("", JobPhase.PENDING):
        yield from _initiate(turn)
    else:
        yield from _note_queue(turn)
        yield from run_job_update(turn)
    yield from _keep_podgroup(turn, then)
    podgroup = find_podgroup(turn.job, turn.seen)
    if podgroup is not None:
        yield from _tell_why_pending(turn, podgroup)
    if podgroup is not None and is_admitted(podgroup):
        if overtaken():
            return False
        yield from _sync_pods(turn)
    else:
        yield from _finish_kill(turn)
    turn.status = then(turn.job, turn.status)
    if turn.status != status_of(turn.job):
        yield from turn.write_status(stamped(turn.status, turn.now))
    return True


def _initiate(turn: Turn) -> Effects:
    if not turn.job.phase:
        first = replace(turn.status, phase=JobPhase.PENDING.value, min_available=turn.job.min_available)
        try:
            yield from turn.write_status(stamped(first, turn.now))
        except ReconcileError as error:
            message = f"Failed to initialize job status, err: {error}"
            yield from turn.event("Warning", "JobStatusError", message)
            raise
    yield from _note_queue(turn)
    yield from run_job_add(turn)
    yield from keep_claims(turn)


def _note_queue(turn: Turn) -> Effects:
    """Say once, by event and in the job's state, that its queue is missing; the job waits (volcano-sh/volcano#195).

    A job of a queue that reaches into other clusters is marked as one that is forwarded (api-controllers.md 2.5)."""
    queue = turn.seen.get(QUEUES, "", turn.job.queue)
    if raw.tables(queue or {}, "spec", "extendClusters") and not is_forwarded(turn.job):
        yield from turn.annotate(names.JOB_FORWARDING, "true")
    missing = queue is None
    known = turn.status.reason == QUEUE_NOT_FOUND
    if missing and not known:
        message = f'unable to find job queue: queue.scheduling.volcano.sh "{turn.job.queue}" not found'
        turn.status = replace(turn.status, reason=QUEUE_NOT_FOUND, message=message)
        yield from turn.event("Warning", QUEUE_NOT_FOUND, f"{message}; the job waits until it is created")
    elif known and not missing:
        turn.status = replace(turn.status, reason="", message="")


def _keep_podgroup(turn: Turn, then: Then) -> Effects:
    try:
        yield from keep_podgroup(turn.job, turn.seen)
    except ReconcileError as error:
        message = f"Failed to create PodGroup, err: {error}"
        yield from turn.event("Warning", "PodGroupError", message)
        if _queue_takes_groups(turn):
            raise
        yield from _wait_for_queue(turn, then)
        raise ReconcileError(str(error), counts=False) from error


def _wait_for_queue(turn: Turn, then: Then) -> Effects:
    """Tell how things are while the job has no group because its queue takes none; a restart goes on to its end."""
    yield from _finish_kill(turn)
    if turn.job.phase == JobPhase.RESTARTING:
        going = sum(1 for pod in pods_of(turn.job, turn.seen) if raw.terminating(pod))
        turn.status = then(
            turn.job, replace(turn.status, counts=replace(turn.status.counts, terminating=going))
        )
    if turn.status != status_of(turn.job):
        yield from turn.write_status(stamped(turn.status, turn.now))


def _queue_takes_groups(turn: Turn) -> bool:
    """Is the job's queue there, and neither closed nor about to be? Webhooks refuse groups of any other."""
    queue = turn.seen.get(QUEUES, "", turn.job.queue)
    return queue is not None and raw.text(queue, "status", "state") in ("", QueueState.OPEN)


def _tell_why_pending(turn: Turn, podgroup: JsonObject) -> Effects:
    true = [item for item in raw.tables(podgroup, "status", "conditions") if item.get("status") == "True"]
    if not true:
        return
    latest = max(true, key=lambda item: raw.text(item, "lastTransitionTime"))
    kind = raw.text(latest, "type")
    if kind != "Scheduled":
        group = f"{turn.job.namespace}:{turn.job.name}"
        message = f"PodGroup {group} {kind.lower()}, reason: {raw.text(latest, 'message')}"
        yield from turn.event("Warning", "PodGroupPending", message)


def _sync_pods(turn: Turn) -> Effects:
    plan = _plan(turn)
    created = yield from _create(turn, plan.create)
    yield from delete_pods(turn, plan.delete)
    counts = counted([*plan.present, *created], plan.terminating + len(plan.delete))
    turn.status = replace(
        turn.status, counts=counts, min_available=turn.job.min_available, running_duration=""
    )


def _finish_kill(turn: Turn) -> Effects:
    """Delete pods that a kill had marked when it was cut short; they may hold what the job itself waits for."""
    marked = [pod for pod in pods_of(turn.job, turn.seen) if is_marked(pod) and not raw.terminating(pod)]
    yield from delete_pods(turn, marked)


def _plan(turn: Turn) -> _Plan:
    plan = _Plan()
    by_task: dict[str, dict[str, JsonObject]] = {}
    for pod in pods_of(turn.job, turn.seen):
        by_task.setdefault(task_of(pod), {})[raw.name(pod)] = pod
    for task in turn.job.tasks:
        _plan_task(turn, task, by_task.get(task.name, {}), plan)
    return plan


def _plan_task(turn: Turn, task: TaskView, stored: dict[str, JsonObject], plan: _Plan) -> None:
    missing: list[int] = []
    for index in range(task.replicas):
        pod = stored.pop(pod_name(turn.job, task, index), None)
        if pod is None:
            missing.append(index)
        elif raw.terminating(pod):
            plan.terminating += 1
        else:
            plan.present.append(pod)
            if is_marked(pod):
                plan.delete.append(pod)
    for pod in stored.values():
        if raw.terminating(pod):
            plan.terminating += 1
        else:
            plan.delete.append(pod)
    if missing and may_start(turn.job, task, turn.seen):
        plan.create += [_dressed(turn, task, index) for index in missing]


def _dressed(turn: Turn, task: TaskView, index: int) -> JsonObject:
    pod = build_pod(turn.job, task, index, turn.status.version, turn.status.retry_count)
    for _, plugin in turn.plugins():
        pod = plugin.on_pod(turn.job, task, index, pod)
    return pod


def _create(turn: Turn, pods: Sequence[JsonObject]) -> Steps[list[JsonObject]]:
    """Create pods at the same time; those that exist now. A name still taken is tried again when its pod is gone."""
    if not pods:
        return []
    outcomes = yield All(tuple(Create(PODS, pod) for pod in pods))
    created: list[JsonObject] = []
    failures = []
    for pod, outcome in zip(pods, outcomes.parts, strict=True):
        if outcome.ok:
            created.append(outcome.object or pod)
        elif not outcome.already_exists:
            failures.append(outcome)
    if failures:
        yield from turn.event("Warning", "FailedCreate", f"Error creating pods: {listed(failures)}")
        raise ReconcileError(f"failed to create {len(failures)} pods of {len(pods)}")
    return created
