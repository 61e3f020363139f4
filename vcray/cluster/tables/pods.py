"""The cells of pods."""

from __future__ import annotations

from vcray.api.ages import since
from vcray.api.jsonview import dig_objects, dig_str, holds
from vcray.api.meta import JsonObject
from vcray.api.podstate import pod_state
from vcray.cluster.tables.cells import NONE, Cells, Printer, age, printer

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def _gates(pod: JsonObject) -> str:
    gates = dig_objects(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    held = sum(1 for gate in gates if holds(pod, dig_str(gate, "conditionType")))
    return f"{held}/{len(gates)}"


def _cells(pod: JsonObject, now: float) -> Cells:
    state = pod_state(pod)
    restarts = str(state.restarts)
    if state.restarts and state.restarted:
        restarts = f"{state.restarts} ({since(state.restarted, now)} ago)"
    addresses = dig_objects(pod, "status", "podIPs")
    return [
        f"{state.ready}/{state.total}",
        state.word,
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
