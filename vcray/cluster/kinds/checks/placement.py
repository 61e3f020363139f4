"""Checks of where a pod may run: node selectors, affinity, tolerations, taints, spreading."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.formats import (
    duplicate,
    forbidden,
    invalid,
    label_value,
    qualified_name,
    required,
    unsupported,
)
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.checks.labels import selector_faults
from vcray.cluster.kinds.checks.words import broken, named

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_WEIGHT = "must be in the range 1-100"


def toleration_faults(tolerations: list[JsonObject], path: str) -> Iterator[str]:
    """Every toleration of a pod."""
    for index, toleration in enumerate(tolerations):
        here = f"{path}[{index}]"
        key, operator = dig_str(toleration, "key"), dig_str(toleration, "operator")
        effect = dig_str(toleration, "effect")
        if key:
            yield from named(key, f"{here}.key", qualified_name)
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{here}.operator", operator, why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{here}.effect", effect, why)
        yield from _operator_faults(operator, dig_str(toleration, "value"), here)
        if effect and effect not in EFFECTS:
            yield unsupported(f"{here}.effect", effect, EFFECTS)


def _operator_faults(operator: str, value: str, path: str) -> Iterator[str]:
    if operator in ("", "Equal"):
        for wrong in broken(label_value, value):
            yield invalid(f"{path}.operator", value, wrong)
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))


def affinity_faults(affinity: JsonObject, path: str) -> Iterator[str]:
    """Affinity to nodes, to pods and away from pods."""
    node = affinity.get("nodeAffinity")
    if isinstance(node, dict):
        yield from _node_affinity_faults(node, f"{path}.nodeAffinity")
    for part in ("podAffinity", "podAntiAffinity"):
        told = affinity.get(part)
        if not isinstance(told, dict):
            continue
        for index, term in enumerate(dig_objects(told, _REQUIRED)):
            yield from _pod_term_faults(term, f"{path}.{part}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(dig_objects(told, _PREFERRED)):
            here = f"{path}.{part}.{_PREFERRED}[{index}]"
            yield from _weight_faults(weighted, here)
            yield from _pod_term_faults(dig_object(weighted, "podAffinityTerm"), f"{here}.podAffinityTerm")


def _weight_faults(weighted: JsonObject, path: str) -> Iterator[str]:
    if not 1 <= dig_int(weighted, "weight") <= 100:
        yield invalid(f"{path}.weight", weighted.get("weight"), _WEIGHT)


def _node_affinity_faults(affinity: JsonObject, path: str) -> Iterator[str]:
    needed = affinity.get(_REQUIRED)
    if isinstance(needed, dict):
        yield from node_selector_faults(needed, f"{path}.{_REQUIRED}")
    for index, preferred in enumerate(dig_objects(affinity, _PREFERRED)):
        here = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight_faults(preferred, here)
        yield from _node_term_faults(dig_object(preferred, "preference"), f"{here}.preference")


def node_selector_faults(selector: JsonObject, path: str) -> Iterator[str]:
    """The terms of a node selector."""
    terms = dig_objects(selector, "nodeSelectorTerms")
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term_faults(term, f"{path}.nodeSelectorTerms[{index}]")


def _node_term_faults(term: JsonObject, path: str) -> Iterator[str]:
    for index, rule in enumerate(dig_objects(term, "matchExpressions")):
        here = f"{path}.matchExpressions[{index}]"
        values = dig_list(rule, "values")
        match dig_str(rule, "operator"):
            case "In" | "NotIn":
                if not values:
                    yield required(f"{here}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            case "Exists" | "DoesNotExist":
                if values:
                    why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                    yield forbidden(f"{here}.values", why)
            case "Gt" | "Lt":
                if len(values) != 1:
                    why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                    yield required(f"{here}.values", why)
            case other:
                yield invalid(f"{here}.operator", other, "not a valid selector operator")
        yield from named(dig_str(rule, "key"), f"{here}.key", qualified_name)
    for index, rule in enumerate(dig_objects(term, "matchFields")):
        here = f"{path}.matchFields[{index}]"
        if dig_str(rule, "key") != "metadata.name":
            yield invalid(f"{here}.key", dig_str(rule, "key"), "not a valid field selector key")


def _pod_term_faults(term: JsonObject, path: str) -> Iterator[str]:
    yield from selector_faults(term.get("labelSelector"), f"{path}.labelSelector")
    yield from selector_faults(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    key = dig_str(term, "topologyKey")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from named(key, f"{path}.topologyKey", qualified_name)


def spread_faults(constraints: list[JsonObject], path: str) -> Iterator[str]:
    """The topology spread constraints of a pod."""
    for index, constraint in enumerate(constraints):
        here = f"{path}[{index}]"
        if dig_int(constraint, "maxSkew") <= 0:
            yield invalid(f"{here}.maxSkew", constraint.get("maxSkew"), "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{here}.topologyKey", "can not be empty")
        else:
            yield from named(dig_str(constraint, "topologyKey"), f"{here}.topologyKey", qualified_name)
        when, known = dig_str(constraint, "whenUnsatisfiable"), ("DoNotSchedule", "ScheduleAnyway")
        if when not in known:
            yield unsupported(f"{here}.whenUnsatisfiable", when, known)
        fewest = constraint.get("minDomains")
        if fewest is not None:
            if dig_int(constraint, "minDomains") <= 0:
                yield invalid(f"{here}.minDomains", fewest, "must be greater than zero")
            elif when != "DoNotSchedule":
                why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                yield invalid(f"{here}.minDomains", fewest, why)
        yield from selector_faults(constraint.get("labelSelector"), f"{here}.labelSelector")


def taint_faults(taints: list[JsonObject], path: str) -> Iterator[str]:
    """The taints of a node."""
    taken: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here = f"{path}[{index}]"
        key, effect = dig_str(taint, "key"), dig_str(taint, "effect")
        yield from named(key, f"{here}.key", qualified_name)
        yield from named(dig_str(taint, "value"), f"{here}.value", label_value)
        if not effect:
            yield required(f"{here}.effect")
        elif effect not in EFFECTS:
            yield unsupported(f"{here}.effect", effect, EFFECTS)
        if (key, effect) in taken:
            shown: JsonObject = {
                "Key": key,
                "Value": dig_str(taint, "value"),
                "Effect": effect,
                "TimeAdded": dig(taint, "timeAdded"),
            }
            yield duplicate(here, shown) + ": taints must be unique by key and effect pair"
        taken.add((key, effect))
