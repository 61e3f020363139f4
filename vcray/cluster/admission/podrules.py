"""What a pod must have, and what may change in the spec of an existing one."""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import dig, entries, section, text

_MESSAGE = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_FREE_WHILE_GATED = ("nodeSelector", "affinity")


def check_pod_update(old: JsonObject, new: JsonObject) -> None:
    """Refuse (Invalid) a change of a pod's spec beyond images, deadline, further tolerations and removed gates.

    While a pod is gated its node selector and affinity may change too.
    """
    before, after = section(old, "spec"), section(new, "spec")
    if before == after:
        return
    name = text(dig(new, "metadata", "name"))
    gates_before, gates_after = entries(before.get("schedulingGates")), entries(after.get("schedulingGates"))
    told = [*_new_gates(gates_before, gates_after), *_deadline_faults(before, after)]
    told += [
        f"spec.{field}: Forbidden: pod updates may not add or remove containers"
        for field in ("containers", "initContainers")
        if len(entries(before.get(field))) != len(entries(after.get(field)))
    ]
    if told:
        raise refusals.invalid(PODS, name, told)
    free = (*_FREE, *_FREE_WHILE_GATED) if gates_before else _FREE
    tolerated = entries(after.get("tolerations"))
    kept = all(toleration in tolerated for toleration in entries(before.get("tolerations")))
    if not kept or _fixed(before, free) != _fixed(after, free):
        raise refusals.invalid(PODS, name, [_MESSAGE])


def _new_gates(before: list[JsonObject], after: list[JsonObject]) -> list[str]:
    return [
        f"spec.schedulingGates[{index}].name: Forbidden: only deletion is allowed, but found new scheduling gate "
        f"'{text(gate.get('name'))}'"
        for index, gate in enumerate(after)
        if gate not in before
    ]


def _deadline_faults(before: JsonObject, after: JsonObject) -> list[str]:
    old, new = before.get("activeDeadlineSeconds"), after.get("activeDeadlineSeconds")
    if not isinstance(old, int):
        return []
    where = "spec.activeDeadlineSeconds"
    if not isinstance(new, int):
        return [f'{where}: Invalid value: "": must not update from a positive integer to nil value']
    why = "must be less than or equal to previous value"
    return [f"{where}: Invalid value: {new}: {why}"] if new > old else []


def _fixed(spec: JsonObject, free: tuple[str, ...]) -> JsonObject:
    """The parts of a spec that must stay as they are."""
    kept: dict[str, JsonValue] = deepcopy({key: value for key, value in spec.items() if key not in free})
    for list_name in ("containers", "initContainers"):
        for container in entries(kept.get(list_name)):
            container.pop("image", None)
            container.pop("imagePullPolicy", None)
    return {key: value for key, value in kept.items() if value not in (None, [], {})}
