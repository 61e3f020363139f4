"""Killing pods of a job: all, all that have not finished, or those of one task, pod or partition.

Each pod is first marked out of sync and then deleted: the mark tells the deletion apart from one by somebody else, which
a policy may react to. The status says what is being deleted at once, before any pod is gone. After a full kill the
objects of the plugins and the PodGroup go too, and `version` moves on, so that events of older pods count no more.
On the last attempt finished pods are kept whatever was asked, so that a user can look at them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from vcray.api import names
from vcray.api.batch import JobAction
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import All, Delete, Effects, Outcome, Patch, ReconcileError, Steps
from vcray.controllers.job.lifecycle import Follow, stay
from vcray.controllers.job.podgroup import find_podgroup
from vcray.controllers.job.status import Counts, stamped, with_running_duration
from vcray.controllers.job.turn import Turn, run_job_delete
from vcray.controllers.job.view import phase_of, pods_of, task_of

Chosen: TypeAlias = Callable[[JsonObject], bool]

OUT_OF_SYNC_PATCH: JsonObject = {"metadata": {"annotations": {names.CONTROLLER_OUT_OF_SYNC: "true"}}}


def kill_all(turn: Turn, keep_finished: bool, then: Follow) -> Effects:
    """Delete the job's pods (without the finished ones), then what was made for them."""
    if turn.job.deleting or (then is stay and _nothing_left(turn)):
        return
    keep = keep_finished or turn.status.retry_count >= turn.job.max_retry - 1
    kept = ("Succeeded", "Failed") if keep else ()
    version = turn.status.version + 1
    terminating = yield from _delete_pods(turn, lambda pod: phase_of(pod) not in kept)
    turn.status = replace(turn.status, version=version)
    yield from _conclude(turn, terminating, then)
    podgroup = find_podgroup(turn.job, turn.seen)
    if podgroup is not None:
        outcome = yield Delete(PODGROUPS, turn.job.namespace, raw.name(podgroup), uid=raw.uid(podgroup))
        if not outcome.ok and not outcome.not_found and not outcome.conflict:
            raise ReconcileError(f"delete PodGroup {raw.name(podgroup)}: {outcome.message}")


def kill_target(turn: Turn, chosen: Chosen, then: Follow) -> Effects:
    """Delete some of the job's pods; version and PodGroup stay."""
    if turn.job.deleting:
        return
    terminating = yield from _delete_pods(turn, chosen)
    yield from _conclude(turn, terminating, then)


def target_of(turn: Turn, action: str, task: str, pod: str, partition: str) -> Chosen | None:
    """Which pods a RestartTask, RestartPod or RestartPartition means; None when there is no such partition."""
    if action == JobAction.RESTART_TASK:
        return lambda item: task_of(item) == task
    if action == JobAction.RESTART_POD:
        return lambda item: task_of(item) == task and raw.name(item) == pod

    def in_partition(item: JsonObject) -> bool:
        return task_of(item) == task and raw.labels_of(item).get(names.PARTITION_ID) == partition

    found = partition and any(in_partition(item) for item in pods_of(turn.job, turn.seen))
    return in_partition if found else None


def _nothing_left(turn: Turn) -> bool:
    """A job at rest that was cleaned up before: there is nothing to do, nor to write."""
    status = turn.status
    if status.counts != Counts() or _marks(turn):
        return False
    live = any(phase_of(pod) not in ("Succeeded", "Failed") for pod in pods_of(turn.job, turn.seen))
    return not live and status.version > 0 and find_podgroup(turn.job, turn.seen) is None


def _marks(turn: Turn) -> bool:
    return any(key.startswith("plugin-") for key in turn.status.controlled)


def _delete_pods(turn: Turn, chosen: Chosen) -> Steps[int]:
    """Mark and delete; the number of pods that are being deleted now. ReconcileError when any could not be."""
    pods = list(pods_of(turn.job, turn.seen))
    going = sum(1 for pod in pods if raw.terminating(pod))
    doomed = [pod for pod in pods if not raw.terminating(pod) and chosen(pod)]
    if not doomed:
        return going
    marks = yield All(tuple(_mark(pod) for pod in doomed))
    failures = [outcome for outcome in marks.parts if not outcome.ok and not outcome.not_found]
    marked = [
        pod for pod, outcome in zip(doomed, marks.parts, strict=True) if outcome.ok or outcome.not_found
    ]
    failures += yield from delete_pods(marked)
    if failures:
        yield from turn.event("Warning", "FailedDelete", f"Error deleting pods: {listed(failures)}")
        raise ReconcileError(f"failed to kill {len(failures)} pods of {len(doomed)}")
    return going + len(doomed)


def _mark(pod: JsonObject) -> Patch:
    return Patch(PODS, raw.namespace(pod), raw.name(pod), OUT_OF_SYNC_PATCH, "merge")


def delete_pods(pods: Sequence[JsonObject]) -> Steps[list[Outcome]]:
    """Delete pods at the same time, with their default grace; the failures that matter."""
    if not pods:
        return []
    deletes = tuple(Delete(PODS, raw.namespace(pod), raw.name(pod), uid=raw.uid(pod)) for pod in pods)
    outcomes = yield All(deletes)
    return [part for part in outcomes.parts if not part.ok and not part.not_found and not part.conflict]


def listed(failures: Sequence[Outcome]) -> str:
    """Error messages as Go prints a list of errors."""
    return "[" + " ".join(failure.message or failure.reason for failure in failures) + "]"


def _conclude(turn: Turn, terminating: int, then: Follow) -> Effects:
    """Work out the phase, take the plugins' objects away, write the status."""
    before = turn.status.phase
    status = then(
        turn.job, replace(turn.status, counts=Counts(terminating=terminating), reason="", message="")
    )
    if status.phase != before:
        status = stamped(status, turn.now)
    turn.status = with_running_duration(status, turn.job)
    yield from run_job_delete(turn)
    yield from turn.write_status(turn.status)
