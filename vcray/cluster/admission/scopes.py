"""Which objects a ResourceQuota with scopes is about."""

from __future__ import annotations

from collections.abc import Callable

from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cluster.admission.pods import quality_of_service

_AFFINITY_LISTS = (
    ("requiredDuringSchedulingIgnoredDuringExecution", ()),
    ("preferredDuringSchedulingIgnoredDuringExecution", ("podAffinityTerm",)),
)


def selectors_of(quota: JsonObject) -> list[JsonObject]:
    """All scope selectors of a quota; a plain scope is one that asks whether it applies at all."""
    plain: list[JsonObject] = [
        {"scopeName": scope, "operator": "Exists"} for scope in dig_list(quota, "spec", "scopes")
    ]
    return plain + dig_objects(quota, "spec", "scopeSelector", "matchExpressions")


def in_scope(quota: JsonObject, resource: Resource, obj: JsonObject) -> bool:
    """Whether an object is within all scopes of a quota."""
    selectors = selectors_of(quota)
    if not selectors:
        return True
    if resource.group or resource.plural not in ("pods", "persistentvolumeclaims"):
        return False
    test = _pod_in if resource.plural == "pods" else _claim_in
    return all(test(selector, obj) for selector in selectors)


def is_terminating(pod: JsonObject) -> bool:
    """Whether a pod has a deadline: the scope Terminating."""
    deadline = dig(pod, "spec", "activeDeadlineSeconds")
    return isinstance(deadline, int) and deadline >= 0


def _pod_in(selector: JsonObject, pod: JsonObject) -> bool:
    name = dig_str(selector, "scopeName")
    if name == "PriorityClass":
        return _selected(selector, [dig_str(pod, "spec", "priorityClassName")])
    tests: dict[str, Callable[[], bool]] = {
        "Terminating": lambda: is_terminating(pod),
        "NotTerminating": lambda: not is_terminating(pod),
        "BestEffort": lambda: quality_of_service(pod) == "BestEffort",
        "NotBestEffort": lambda: quality_of_service(pod) != "BestEffort",
        "CrossNamespacePodAffinity": lambda: _crosses_namespaces(pod),
    }
    return name in tests and tests[name]()


def _claim_in(selector: JsonObject, claim: JsonObject) -> bool:
    if dig_str(selector, "scopeName") != "VolumeAttributesClass":
        return False
    names = [
        dig_str(claim, "spec", "volumeAttributesClassName"),
        dig_str(claim, "status", "currentVolumeAttributesClassName"),
        dig_str(claim, "status", "modifyVolumeStatus", "targetVolumeAttributesClassName"),
    ]
    return _selected(selector, names)


def _selected(selector: JsonObject, names: list[str]) -> bool:
    """Whether any of the class names of an object is selected; an object without a class has none."""
    present = [name for name in names if name]
    values = dig_list(selector, "values")
    match dig_str(selector, "operator"):
        case "Exists":
            return bool(present)
        case "DoesNotExist":
            return not present
        case "In":
            return any(name in values for name in present)
        case "NotIn":
            return all(name not in values for name in present)
    return False


def _crosses_namespaces(pod: JsonObject) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        for list_name, inner in _AFFINITY_LISTS:
            for entry in dig_objects(pod, "spec", "affinity", kind, list_name):
                term = dig_object(entry, *inner) if inner else entry
                if term.get("namespaces") or term.get("namespaceSelector") is not None:
                    return True
    return False
