"""Killing pods of a job: all, all that have not finished, or those of one task, pod or partition.

The order makes a kill survive a crash between any two writes. First every doomed pod is marked out of sync: the mark
says that its deletion is ours (a policy must not react to it) and that it has to go, so whoever finds a marked pod
deletes it. Then the status is written, with the new phase and what is about to end; it is there before any pod is gone.
Then PodGroup and pods are deleted. After a full kill `version` has moved on, so that events of older pods count no more.
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
from vcray.controllers.job.lifecycle import Then, stay
from vcray.controllers.job.podgroup import find_podgroup
from vcray.controllers.job.status import Counts, stamped, with_running_duration
from vcray.controllers.job.turn import Turn, run_job_delete
from vcray.controllers.job.view import phase_of, pods_of, task_of

Chosen: TypeAlias = Callable[[JsonObject], bool]

OUT_OF_SYNC_PATCH: JsonObject = {"metadata": {"annotations": {names.CONTROLLER_OUT_OF_SYNC: "true"}}}


def kill_all(turn: Turn, keep_finished: bool, then: Then) -> Effects:
    """Delete the job's pods (without the finished ones), its plugins' objects and its PodGroup."""
    if turn.job.deleting or (then is stay and _nothing_left(turn)):
        return
    keep = keep_finished or turn.status.retry_count >= turn.job.max_retry - 1
    kept = ("Succeeded", "Failed") if keep else ()
    doomed = yield from _mark_pods(turn, lambda pod: phase_of(pod) not in kept)
    turn.status = replace(turn.status, version=turn.status.version + 1)
    yield from _write_status(turn, len(doomed), then)
    podgroup = find_podgroup(turn.job, turn.seen)
    if podgroup is not None:
        outcome = yield Delete(PODGROUPS, turn.job.namespace, raw.name(podgroup), uid=raw.uid(podgroup))
        if not outcome.ok and not outcome.not_found and not outcome.conflict:
            raise ReconcileError(f"delete PodGroup {raw.name(podgroup)}: {outcome.message}")
    yield from delete_pods(turn, doomed)


def kill_target(turn: Turn, chosen: Chosen, then: Then) -> Effects:
    """Delete some of the job's pods; version and PodGroup stay."""
    if turn.job.deleting:
        return
    doomed = yield from _mark_pods(turn, chosen)
    yield from _write_status(turn, len(doomed), then)
    yield from delete_pods(turn, doomed)


def is_marked(pod: JsonObject) -> bool:
    """The pod has to go, and its going is the controller's own doing."""
    return bool(raw.annotation(pod, names.CONTROLLER_OUT_OF_SYNC))


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


def _mark_pods(turn: Turn, chosen: Chosen) -> Steps[list[JsonObject]]:
    """Mark the pods that have to go and are not going yet. ReconcileError when any could not be marked."""
    doomed = [pod for pod in pods_of(turn.job, turn.seen) if not raw.terminating(pod) and chosen(pod)]
    marks = tuple(
        Patch(PODS, raw.namespace(pod), raw.name(pod), OUT_OF_SYNC_PATCH)
        for pod in doomed
        if not is_marked(pod)
    )
    if marks:
        outcomes = yield All(marks)
        yield from _complain(
            turn, [part for part in outcomes.parts if not part.ok and not part.not_found], doomed
        )
    return doomed


def delete_pods(turn: Turn, doomed: Sequence[JsonObject]) -> Effects:
    """Delete pods at the same time, with their default grace. ReconcileError when any could not be deleted."""
    if not doomed:
        return
    deletes = tuple(Delete(PODS, raw.namespace(pod), raw.name(pod), uid=raw.uid(pod)) for pod in doomed)
    outcomes = yield All(deletes)
    failures = [part for part in outcomes.parts if not part.ok and not part.not_found and not part.conflict]
    yield from _complain(turn, failures, doomed)


def _complain(turn: Turn, failures: Sequence[Outcome], doomed: Sequence[JsonObject]) -> Effects:
    if failures:
        yield from turn.event("Warning", "FailedDelete", f"Error deleting pods: {listed(failures)}")
        raise ReconcileError(f"failed to delete {len(failures)} pods of {len(doomed)}")


def listed(failures: Sequence[Outcome]) -> str:
    """Error messages as Go prints a list of errors."""
    return "[" + " ".join(failure.why for failure in failures) + "]"


def _write_status(turn: Turn, doomed: int, then: Then) -> Effects:
    """Take the plugins' objects away, work out the phase from what is about to end, write it."""
    going = sum(1 for pod in pods_of(turn.job, turn.seen) if raw.terminating(pod))
    before = turn.status.phase
    counts = Counts(terminating=going + doomed)
    status = then(turn.job, replace(turn.status, counts=counts, reason="", message=""))
    if status.phase != before:
        status = stamped(status, turn.now)
    turn.status = with_running_duration(status, turn.job)
    yield from run_job_delete(turn)
    yield from turn.write_status(turn.status)
