"""The counters of a job: pods are noted by UID, then freed of their finalizer, then counted, so that none counts twice."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.jsonview import dig_int, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339
from vcray.cluster.workloads.job.indexes import index_of, write
from vcray.cluster.workloads.job.turn import FAILURE_TARGET, SUCCESS_CRITERIA, TRACKING, Outcome, Turn
from vcray.cluster.workloads.podview import PodView

MOST_UNCOUNTED = 500
"""UIDs that one status may hold."""


@dataclass(slots=True)
class Tally:
    """The next status of a job, and the pods to be freed once it is written; `whole` if none is left for the next turn."""

    status: JsonObject
    free: list[PodView]
    whole: bool


def tally(turn: Turn, outcome: Outcome | None, status: JsonObject) -> Tally:
    """Note all pods that have ended. `status` is the job's with active, ready and terminating brought up to date."""
    held = {pod.metadata.uid for pod in turn.tracked}
    noted: dict[str, list[str]] = {}
    for kind in ("succeeded", "failed"):
        before = sorted(turn.uncounted(kind))
        gone = [uid for uid in before if uid not in held]
        noted[kind] = [uid for uid in before if uid in held]
        if gone and not (turn.indexed and kind == "succeeded"):
            status[kind] = dig_int(status, kind) + len(gone)
    indexes = set(turn.before_indexes)
    keep = {pod.metadata.uid for pod in turn.last_failures().values()} if turn.per_index else set()
    ended = [pod for pod in turn.tracked if _may_free(turn, outcome, pod, keep)]
    free = ended[:MOST_UNCOUNTED]
    for pod in free:
        _note(turn, outcome, pod, noted, indexes)
    if turn.indexed:
        status["completedIndexes"] = write(indexes) or None
        status["succeeded"] = len(indexes)
        if turn.per_index:
            status["failedIndexes"] = write(turn.failed_indexes)
    written: JsonObject = {kind: [*uids] for kind, uids in noted.items() if uids}
    status["uncountedTerminatedPods"] = written
    if outcome is not None:
        add_condition(status, outcome.kind, "True", outcome.reason, outcome.message, turn.now)
    return Tally(status, free, len(free) == len(ended))


def _may_free(turn: Turn, outcome: Outcome | None, pod: PodView, keep: set[str]) -> bool:
    if turn.is_deleting() or outcome is not None or pod.status.phase == "Succeeded":
        return True
    return turn.has_failed(pod) and pod.metadata.uid not in keep


def _note(
    turn: Turn, outcome: Outcome | None, pod: PodView, noted: dict[str, list[str]], indexes: set[int]
) -> None:
    uid, index = pod.metadata.uid, index_of(pod)
    in_range = not turn.indexed or (index is not None and index < (turn.completions or 0))
    if uid in noted["failed"] or uid in noted["succeeded"]:
        return
    if pod.status.phase == "Succeeded":
        if not turn.indexed:
            noted["succeeded"].append(uid)
        elif in_range and index is not None:
            indexes.add(index)
        return
    ended_by_job = outcome is not None and outcome.kind == FAILURE_TARGET
    if (turn.has_failed(pod) or ended_by_job) and in_range and turn.counts(pod):
        noted["failed"].append(uid)


def settle(turn: Turn, outcome: Outcome | None, status: JsonObject, freed: set[str]) -> bool:
    """Count the pods that were freed; True if that changed the status. The job ends when nothing is left to wait for."""
    changed = False
    uncounted = status.get("uncountedTerminatedPods")
    left: JsonObject = {}
    for kind, uids in (uncounted if isinstance(uncounted, dict) else {}).items():
        listed = uids if isinstance(uids, list) else []
        remaining: list[JsonValue] = [uid for uid in listed if uid not in freed]
        if len(remaining) < len(listed):
            changed = True
            status[kind] = dig_int(status, kind) + len(listed) - len(remaining)
        if remaining:
            left[kind] = remaining
    status["uncountedTerminatedPods"] = left
    waits = left or dig_int(status, "terminating") or dig_int(status, "active")
    if outcome is None or waits:
        return changed
    kind = "Complete" if outcome.kind == SUCCESS_CRITERIA else "Failed"
    if add_condition(status, kind, "True", outcome.reason, outcome.message, turn.now):
        changed = True
        if kind == "Complete":
            status["completionTime"] = rfc3339(turn.now)
    return changed


def add_condition(status: JsonObject, kind: str, value: str, reason: str, message: str, now: float) -> bool:
    """Add or change a condition; False if it was so already, or would be added as false."""
    conditions = dig_objects(status, "conditions")
    old = next((each for each in conditions if dig_str(each, "type") == kind), None)
    if (old is None and value != "True") or (old is not None and old.get("status") == value):
        return False
    moment = rfc3339(now)
    fresh: JsonObject = {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
    status["conditions"] = [*(each for each in conditions if each is not old), fresh]
    return True


def without_tracking(pod: PodView) -> JsonObject:
    """The strategic merge patch that frees a pod."""
    metadata: JsonObject = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
    return {"metadata": metadata}
