"""The cells of pods: what state a pod is in, in one word, from its phase, its conditions and its containers."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.tables.cells import NONE, Cells, Printer, age, condition, printer, seconds_of, since

_TERMINAL = ("Succeeded", "Failed")
_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


@dataclass
class _Summary:
    """What the containers say: the word, how many are ready of how many, restarts and when the last was."""

    word: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    restarted: str = ""

    def restart(self, status: JsonObject) -> None:
        self.restarts += dig_int(status, "restartCount")
        ended = dig_str(status, "lastState", "terminated", "finishedAt")
        if (seconds_of(ended) or 0) > (seconds_of(self.restarted) or 0):
            self.restarted = ended


def _ended(terminated: JsonObject, opening: str = "") -> str:
    reason, signal = dig_str(terminated, "reason"), dig_int(terminated, "signal")
    if reason:
        return f"{opening}{reason}"
    return f"{opening}Signal:{signal}" if signal else f"{opening}ExitCode:{dig_int(terminated, 'exitCode')}"


def _summary(pod: JsonObject) -> _Summary:
    status = dig_object(pod, "status")
    summary = _Summary(dig_str(status, "reason") or dig_str(status, "phase"))
    for each in dig_objects(status, "conditions"):
        if (each.get("type"), each.get("reason")) == ("PodScheduled", "SchedulingGated"):
            summary.word = "SchedulingGated"
    sidecars = {
        dig_str(each, "name")
        for each in dig_objects(pod, "spec", "initContainers")
        if each.get("restartPolicy") == "Always"
    }
    summary.total = len(dig_objects(pod, "spec", "containers")) + len(sidecars)
    kept = _Summary(summary.word)
    initializing = _initializing(pod, sidecars, summary, kept)
    if not initializing or condition(pod, "Initialized") == "True":
        summary.restarts, summary.restarted = kept.restarts, kept.restarted
        _running(pod, summary)
    deleted = bool(dig(pod, "metadata", "deletionTimestamp"))
    if deleted and status.get("reason") == "NodeLost":
        summary.word = "Unknown"
    elif deleted and status.get("phase") not in _TERMINAL:
        summary.word = "Terminating"
    return summary


def _initializing(pod: JsonObject, sidecars: set[str], summary: _Summary, kept: _Summary) -> bool:
    """Go through the init containers up to the first that is not done; True if there is one."""
    for index, status in enumerate(dig_objects(pod, "status", "initContainerStatuses")):
        sidecar = dig_str(status, "name") in sidecars
        summary.restart(status)
        if sidecar:
            kept.restart(status)
        terminated = dig(status, "state", "terminated")
        waiting = dig_str(status, "state", "waiting", "reason")
        if isinstance(terminated, dict) and dig_int(terminated, "exitCode") == 0:
            continue
        if sidecar and status.get("started"):
            summary.ready += 1 if status.get("ready") else 0
            continue
        if isinstance(terminated, dict):
            summary.word = _ended(terminated, "Init:")
        elif waiting and waiting != "PodInitializing":
            summary.word = f"Init:{waiting}"
        else:
            summary.word = f"Init:{index}/{len(dig_objects(pod, 'spec', 'initContainers'))}"
        return True
    return False


def _running(pod: JsonObject, summary: _Summary) -> None:
    """Go through the containers, the last first."""
    running, failure = False, ""
    for status in reversed(dig_objects(pod, "status", "containerStatuses")):
        summary.restart(status)
        terminated = dig(status, "state", "terminated")
        waiting = dig_str(status, "state", "waiting", "reason")
        if waiting:
            summary.word = waiting
        elif isinstance(terminated, dict):
            summary.word = _ended(terminated)
            if dig_int(terminated, "exitCode"):
                failure = summary.word
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
            summary.ready += 1
    if summary.word == "Completed":
        if running and condition(pod, "Ready") == "True":
            summary.word = "Running"
        elif failure:
            summary.word = failure
        elif running:
            summary.word = "NotReady"


def _gates(pod: JsonObject) -> str:
    gates = dig_objects(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    held = sum(1 for gate in gates if condition(pod, dig_str(gate, "conditionType")) == "True")
    return f"{held}/{len(gates)}"


def _cells(pod: JsonObject, now: float) -> Cells:
    summary = _summary(pod)
    restarts = str(summary.restarts)
    if summary.restarts and summary.restarted:
        restarts = f"{summary.restarts} ({since(summary.restarted, now)} ago)"
    addresses = dig_objects(pod, "status", "podIPs")
    return [
        f"{summary.ready}/{summary.total}",
        summary.word,
        restarts,
        age(pod, now),
        (dig_str(addresses[0], "ip") if addresses else "") or NONE,
        dig_str(pod, "spec", "nodeName") or NONE,
        dig_str(pod, "status", "nominatedNodeName") or NONE,
        _gates(pod),
    ]


def completion(pod: JsonObject) -> JsonObject | None:
    """The condition of the row of a pod that is done; None for others."""
    phase = dig_str(pod, "status", "phase")
    if phase not in _COMPLETED:
        return None
    return {"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}


PRINTERS: dict[str, Printer] = {
    "pods": printer("Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+", _cells),
}
