"""Admission of pods: where the pods of a resource group run, a gate until their queue has room, budgets that can be read.

Texts and order after Volcano's `/pods/mutate` and `/pods/validate`. Most pods of a cluster are no concern of ours: whatever
these rules are asked, they let a pod of another scheduler pass, and give only what an administrator wrote down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from vcray.api import names
from vcray.api.formats import shown
from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer, Request, Rules, add, annotations_of
from vcray.webhooks.resource_groups import ResourceGroup

BUDGETS: Final = (names.JDB_MIN_AVAILABLE, names.JDB_MAX_UNAVAILABLE)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")


# -- mutating ---------------------------------------------------------------------------------------------------------


def mutate(request: Request) -> Answer:
    """On CREATE: the gate, then what the first resource group of the pod gives. Without a configuration, no patch at all."""
    if request.operation != "CREATE":
        return Answer("expect operation to be 'CREATE' ")
    groups, pod = request.rules.resource_groups, request.new
    if groups is None or not isinstance(pod.get("spec"), dict):
        return Answer()
    namespace = dig_str(pod, "metadata", "namespace") or request.namespace
    annotations = annotations_of(pod)
    group = next((each for each in groups if each.holds(namespace, annotations)), None)
    scheduler = (group.scheduler_name if group is not None else "") or dig_str(pod, "spec", "schedulerName")
    gate = _gate(pod, annotations, scheduler, request.rules)
    return Answer(patch=(*gate, *(_placed(dig_object(pod, "spec"), group) if group is not None else ())))


def _gate(
    pod: JsonObject, annotations: Mapping[str, str], scheduler: str, rules: Rules
) -> Iterator[JsonObject]:
    """The gate of queue admission for a pod that asks for it, unless no scheduler of ours would ever take it away."""
    gates = dig_objects(pod, "spec", "schedulingGates")
    if (
        rules.gate_pods
        and annotations.get(names.QUEUE_ALLOCATION_GATE) == "true"
        and (not scheduler or scheduler in rules.scheduler_names)
        and all(gate.get("name") != names.QUEUE_ALLOCATION_GATE for gate in gates)
    ):
        yield add("/spec/schedulingGates", [*gates, {"name": names.QUEUE_ALLOCATION_GATE}])


def _placed(spec: JsonObject, group: ResourceGroup) -> Iterator[JsonObject]:
    if group.labels:
        yield add("/spec/nodeSelector", {**dig_strings(spec, "nodeSelector"), **dict(group.labels)})
    if group.affinity is not None and spec.get("affinity") is None:
        yield add("/spec/affinity", group.affinity)
    if group.tolerations:
        yield add("/spec/tolerations", [*dig_objects(spec, "tolerations"), *group.tolerations])
    if group.scheduler_name:
        yield add("/spec/schedulerName", group.scheduler_name)


# -- validating -------------------------------------------------------------------------------------------------------


def validate(request: Request) -> Answer:
    """On CREATE, for pods of our schedulers: budgets in annotations are numbers or percentages, and not two of them."""
    if request.operation != "CREATE":
        return Answer("expect operation to be 'CREATE'")
    if dig(request.new, "spec", "schedulerName") not in request.rules.scheduler_names:
        return Answer()
    annotations = annotations_of(request.new)
    given = [key for key in BUDGETS if key in annotations]
    problem = next(filter(None, (_budget_problem(key, annotations[key]) for key in given)), "")
    if not problem and len(given) > 1:
        problem = f"not allow configure multiple annotations <[{' '.join(BUDGETS)}]> at same time"
    return Answer(problem)


def _budget_problem(key: str, value: str) -> str:
    whole = _whole(value)
    if whole is not None and -(2**31) <= whole < 2**31:
        what = "it must be a positive integer"
        return "" if whole > 0 else f"invalid value <{shown(value)}> for {key}, {what}"
    digits = value.replace("%", "")
    part = _whole(digits)
    if part is None or not -(2**63) <= part < 2**63:
        why = "invalid syntax" if part is None else "value out of range"
        return f"invalid value strconv.Atoi: parsing {shown(digits)}: {why} for {key}"
    what = "it must be a valid percentage which between 1% ~ 99%"
    return "" if 0 < part < 100 else f"invalid value <{shown(value)}> for {key}, {what}"


def _whole(text: str) -> int | None:
    """A whole number as Go reads one; None for another text. Longer than any number that counts is as good as endless."""
    if not _WHOLE.fullmatch(text):
        return None
    return int(text[:1000])
