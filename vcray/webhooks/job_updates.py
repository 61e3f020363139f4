"""What may change in the spec of a Job that exists: minima, replicas and the priority class.

The job controller writes the names of the claims it makes into the spec, so those may change too.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from vcray.api.jobsize import asked_pods, too_many_pods
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.webhooks.base import name_of
from vcray.webhooks.job_tasks import partition_problem, total_replicas
from vcray.webhooks.podgroups import BOTH_TIERS, names_both_tiers

FIXED: Final = "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and `PriorityClassName`"

_AMOUNTS: Final = frozenset(("requests", "limits", "overhead", "capacity", "allocatedResources"))
"""Maps of quantities, equal by value."""

_OPTIONAL: Final = frozenset(
    (
        "activeDeadlineSeconds",
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "defaultMode",
        "enableServiceLinks",
        "exitCode",
        "expirationSeconds",
        "fsGroup",
        "highestTierAllowed",
        "hostUsers",
        "minSuccess",
        "mode",
        "optional",
        "priority",
        "privileged",
        "readOnlyRootFilesystem",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "ttlSecondsAfterFinished",
    )
)
"""Numbers and switches for which zero is not the same as nothing."""


def update_problem(old: JsonObject, new: JsonObject) -> str:
    """The first rule that a change of a job breaks; empty when it is allowed.

    A job that came in with too many pods may change where their number stays: finalizers have to come off it."""
    tasks = dig_objects(new, "spec", "tasks")
    for task in tasks:
        problem = _task_problem(task, name_of(new))
        if problem:
            return problem
    too_many = too_many_pods(new)
    if too_many and asked_pods(new) != asked_pods(old):
        return too_many
    minimum = dig_int(new, "spec", "minAvailable")
    if minimum > total_replicas(tasks):
        return "job 'minAvailable' must not be greater than total replicas"
    if minimum < 0:
        return "job 'minAvailable' must be >= 0"
    if names_both_tiers(dig(new, "spec", "networkTopology")):
        return BOTH_TIERS
    if len(tasks) != len(dig_objects(old, "spec", "tasks")):
        return "job updates may not add or remove tasks"
    return "" if _fixed(old) == _fixed(new) else FIXED


def _task_problem(task: JsonObject, job_name: str) -> str:
    name, replicas = dig_str(task, "name"), dig_int(task, "replicas")
    if replicas < 0:
        return f"'replicas' must be >= 0 in task: {name}"
    if task.get("minAvailable") is not None:
        minimum = dig_int(task, "minAvailable")
        if minimum < 0:
            return f"'minAvailable' must be >= 0 in task: {name}"
        if minimum > replicas:
            return f"'minAvailable' must be <= 'replicas' in task: {name}"
    return partition_problem(task, job_name)


def _fixed(job: JsonObject) -> JsonValue:
    """The spec without what may change, in a form in which equal means equal for Kubernetes."""
    spec = deepcopy(dig_object(job, "spec"))
    for field in ("minAvailable", "priorityClassName"):
        spec.pop(field, None)
    for task in dig_objects(spec, "tasks"):
        task.pop("replicas", None)
        task.pop("minAvailable", None)
    for volume in dig_objects(spec, "volumes"):
        if volume.get("volumeClaim") is not None:
            volume.pop("volumeClaimName", None)
    return _settled(spec)


def _settled(value: JsonValue, key: str = "") -> JsonValue:
    """Without empty values, which a Go client leaves out, and with quantities as numbers."""
    if isinstance(value, dict):
        if key in _AMOUNTS:
            return {name: _exact(amount) for name, amount in value.items()}
        parts = {name: _settled(part, name) for name, part in value.items()}
        return {name: part for name, part in parts.items() if not _is_nothing(part, name)}
    if isinstance(value, list):
        return [_settled(part) for part in value]
    return value


def _is_nothing(value: JsonValue, key: str) -> bool:
    if isinstance(value, bool | int | float):
        return not value and key not in _OPTIONAL
    return not value


def _exact(amount: JsonValue) -> JsonValue:
    if isinstance(amount, str | int | float):
        try:
            return parse_quantity(amount)
        except QuantityError:
            pass
    return amount
