"""The status of a deployment: its counters, and whether it is available and makes progress. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api.jsonview import dig, dig_int, dig_objects, dig_str
from vcray.api.meta import JsonObject, seconds_of
from vcray.clock import rfc3339
from vcray.cluster.workloads.deployment.sizes import available, bounds, replicas

NO_DEADLINE = 2**31 - 1
PROGRESSING, AVAILABLE, FAILURE = "Progressing", "Available", "ReplicaFailure"
TIMED_OUT, PAUSED, RESUMED = "ProgressDeadlineExceeded", "DeploymentPaused", "DeploymentResumed"
DONE = "NewReplicaSetAvailable"


def deadline_s(deployment: JsonObject) -> int | None:
    """Seconds without progress after which a rollout counts as stuck; None for never."""
    found = dig(deployment, "spec", "progressDeadlineSeconds")
    return found if isinstance(found, int) and found != NO_DEADLINE else None


def condition(status: JsonObject, kind: str) -> JsonObject | None:
    """The condition of a kind."""
    return next((each for each in dig_objects(status, "conditions") if each.get("type") == kind), None)


def drop(status: JsonObject, kind: str) -> None:
    """Remove a condition."""
    if condition(status, kind) is not None:
        status["conditions"] = [
            each for each in dig_objects(status, "conditions") if each.get("type") != kind
        ]


def put(
    status: JsonObject, kind: str, value: str, reason: str, message: str, now: float, again: bool = False
) -> None:
    """Add or change a condition; one with the same status and reason stays, unless it is to be told `again`."""
    old = condition(status, kind)
    same = old is not None and old.get("status") == value
    if old is not None and same and old.get("reason") == reason and not again:
        return
    moment = rfc3339(now)
    fresh: JsonObject = {
        "type": kind,
        "status": value,
        "lastUpdateTime": moment,
        "lastTransitionTime": old.get("lastTransitionTime") if old is not None and same else moment,
        "reason": reason,
        "message": message,
    }
    drop(status, kind)
    status["conditions"] = [*dig_objects(status, "conditions"), fresh]


def counted(
    deployment: JsonObject, sets: Sequence[JsonObject], new: JsonObject | None, status: JsonObject, now: float
) -> JsonObject:
    """`status` with its counters and Available brought up to date, as a new object."""
    ready = sum(dig_int(each, "status", "readyReplicas") for each in sets)
    there = sum(map(available, sets))
    total = sum(map(replicas, sets))
    terminating = [dig(each, "status", "terminatingReplicas") for each in sets]
    made: JsonObject = {
        **status,
        "observedGeneration": dig_int(deployment, "metadata", "generation") or None,
        "replicas": sum(dig_int(each, "status", "replicas") for each in sets) or None,
        "updatedReplicas": (dig_int(new, "status", "replicas") if new else 0) or None,
        "readyReplicas": ready or None,
        "availableReplicas": there or None,
        "unavailableReplicas": max(0, total - there) or None,
        "terminatingReplicas": sum(each for each in terminating if isinstance(each, int)),
        "conditions": [*dig_objects(status, "conditions")],
    }
    if there >= replicas(deployment) - bounds(deployment)[1]:
        why = "Deployment has minimum availability."
        put(made, AVAILABLE, "True", "MinimumReplicasAvailable", why, now)
    else:
        why = "Deployment does not have minimum availability."
        put(made, AVAILABLE, "False", "MinimumReplicasUnavailable", why, now)
    return made


def is_complete(deployment: JsonObject, status: JsonObject) -> bool:
    """Whether all pods are of the newest template, available, and nothing else is left."""
    wanted = replicas(deployment)
    counters = ("updatedReplicas", "replicas", "availableReplicas")
    seen = dig_int(status, "observedGeneration") >= dig_int(deployment, "metadata", "generation")
    return seen and all(dig_int(status, each) == wanted for each in counters)


def judge(deployment: JsonObject, new: JsonObject | None, status: JsonObject, now: float) -> None:
    """Bring Progressing up to date in a counted status."""
    limit = deadline_s(deployment)
    if limit is None:
        drop(status, PROGRESSING)
        return
    before = dig(deployment, "status")
    current = condition(before if isinstance(before, dict) else {}, PROGRESSING)
    settled = current is not None and current.get("reason") == DONE
    if settled and dig_int(status, "replicas") == dig_int(status, "updatedReplicas"):
        return
    kind, name = (
        ("ReplicaSet", dig_str(new, "metadata", "name"))
        if new
        else (
            "Deployment",
            dig_str(deployment, "metadata", "name"),
        )
    )
    if is_complete(deployment, status):
        put(status, PROGRESSING, "True", DONE, f'{kind} "{name}" has successfully progressed.', now)
    elif _advanced(before, status):
        put(
            status,
            PROGRESSING,
            "True",
            "ReplicaSetUpdated",
            f'{kind} "{name}" is progressing.',
            now,
            again=True,
        )
    elif _stuck(status, limit, now):
        put(status, PROGRESSING, "False", TIMED_OUT, f'{kind} "{name}" has timed out progressing.', now)


def _advanced(before: object, status: JsonObject) -> bool:
    old: JsonObject = before if isinstance(before, dict) else {}

    def outdated(of: JsonObject) -> int:
        return dig_int(of, "replicas") - dig_int(of, "updatedReplicas")

    more = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(status) < outdated(old) or any(
        dig_int(status, each) > dig_int(old, each) for each in more
    )


def _stuck(status: JsonObject, limit: int, now: float) -> bool:
    current = condition(status, PROGRESSING)
    if current is None or current.get("reason") == DONE:
        return False
    since = seconds_of(current.get("lastUpdateTime"))
    return current.get("reason") == TIMED_OUT or (since is not None and since + limit < now)


def next_check(deployment: JsonObject, status: JsonObject, now: float) -> float | None:
    """Seconds until a rollout may have become stuck."""
    limit, current = deadline_s(deployment), condition(status, PROGRESSING)
    if (
        limit is None
        or current is None
        or current.get("reason") == TIMED_OUT
        or is_complete(deployment, status)
    ):
        return None
    since = seconds_of(current.get("lastUpdateTime"))
    return None if since is None else max(1.0, since + limit + 1.0 - now)


def move_failure(status: JsonObject, sets: Sequence[JsonObject]) -> None:
    """Show what keeps a set from making pods."""
    for each in sets:
        failure = condition(dig_status(each), FAILURE)
        if failure is not None:
            since = seconds_of(failure.get("lastTransitionTime")) or 0.0
            put(
                status,
                FAILURE,
                dig_str(failure, "status"),
                dig_str(failure, "reason"),
                dig_str(failure, "message"),
                since,
            )
            return
    drop(status, FAILURE)


def dig_status(obj: JsonObject) -> JsonObject:
    """The status of an object."""
    found = obj.get("status")
    return found if isinstance(found, dict) else {}
