"""What state a pod is in, in one word, from its phase, its conditions and its containers.

The word, the counts and their order of precedence are those of `kubectl get pods`; tables of the embedded cluster and
`vcctl pod list` show the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.jsontypes import JsonObject
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str, holds
from vcray.api.times import seconds_of

_TERMINAL = ("Succeeded", "Failed")


@dataclass
class PodState:
    """What the containers say: the word, how many are ready of how many, restarts and when the last was."""

    word: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    restarted: str = ""

    def restart(self, status: JsonObject) -> None:
        """Add the restarts of a container's status."""
        self.restarts += dig_int(status, "restartCount")
        ended = dig_str(status, "lastState", "terminated", "finishedAt")
        if (seconds_of(ended) or 0) > (seconds_of(self.restarted) or 0):
            self.restarted = ended


def _ended(terminated: JsonObject, opening: str = "") -> str:
    reason, signal = dig_str(terminated, "reason"), dig_int(terminated, "signal")
    if reason:
        return f"{opening}{reason}"
    return f"{opening}Signal:{signal}" if signal else f"{opening}ExitCode:{dig_int(terminated, 'exitCode')}"


def pod_state(pod: JsonObject) -> PodState:
    """The state of a pod, whatever of its status is missing."""
    status = dig_object(pod, "status")
    state = PodState(dig_str(status, "reason") or dig_str(status, "phase"))
    for each in dig_objects(status, "conditions"):
        if (each.get("type"), each.get("reason")) == ("PodScheduled", "SchedulingGated"):
            state.word = "SchedulingGated"
    sidecars = {
        dig_str(each, "name")
        for each in dig_objects(pod, "spec", "initContainers")
        if each.get("restartPolicy") == "Always"
    }
    state.total = len(dig_objects(pod, "spec", "containers")) + len(sidecars)
    kept = PodState(state.word)
    initializing = _initializing(pod, sidecars, state, kept)
    if not initializing or holds(pod, "Initialized"):
        state.restarts, state.restarted = kept.restarts, kept.restarted
        _running(pod, state)
    deleted = bool(dig(pod, "metadata", "deletionTimestamp"))
    if deleted and status.get("reason") == "NodeLost":
        state.word = "Unknown"
    elif deleted and status.get("phase") not in _TERMINAL:
        state.word = "Terminating"
    return state


def _initializing(pod: JsonObject, sidecars: set[str], state: PodState, kept: PodState) -> bool:
    """Go through the init containers up to the first that is not done; True if there is one."""
    for index, status in enumerate(dig_objects(pod, "status", "initContainerStatuses")):
        sidecar = dig_str(status, "name") in sidecars
        state.restart(status)
        if sidecar:
            kept.restart(status)
        terminated = dig(status, "state", "terminated")
        waiting = dig_str(status, "state", "waiting", "reason")
        if isinstance(terminated, dict) and dig_int(terminated, "exitCode") == 0:
            continue
        if sidecar and status.get("started"):
            state.ready += 1 if status.get("ready") else 0
            continue
        if isinstance(terminated, dict):
            state.word = _ended(terminated, "Init:")
        elif waiting and waiting != "PodInitializing":
            state.word = f"Init:{waiting}"
        else:
            state.word = f"Init:{index}/{len(dig_objects(pod, 'spec', 'initContainers'))}"
        return True
    return False


def _running(pod: JsonObject, state: PodState) -> None:
    """Go through the containers, the last first."""
    running, failure = False, ""
    for status in reversed(dig_objects(pod, "status", "containerStatuses")):
        state.restart(status)
        terminated = dig(status, "state", "terminated")
        waiting = dig_str(status, "state", "waiting", "reason")
        if waiting:
            state.word = waiting
        elif isinstance(terminated, dict):
            state.word = _ended(terminated)
            if dig_int(terminated, "exitCode"):
                failure = state.word
        elif status.get("ready") and dig(status, "state", "running") is not None:
            running = True
            state.ready += 1
    if state.word == "Completed":
        if running and holds(pod, "Ready"):
            state.word = "Running"
        elif failure:
            state.word = failure
        elif running:
            state.word = "NotReady"
