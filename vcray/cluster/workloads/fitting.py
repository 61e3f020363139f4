"""Whether a node takes a pod as far as node selector, required node affinity and taints tell, of plain objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.cluster.objects.selectors import selector_matches

_NAME = "metadata.name"


def tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    """Whether a toleration covers a taint, for however long."""
    key, effect = dig_str(toleration, "key"), dig_str(toleration, "effect")
    if effect not in ("", taint.get("effect")) or key not in ("", taint.get("key")):
        return False
    if dig_str(toleration, "operator") == "Exists":
        return True
    return bool(key) and dig_str(toleration, "value") == dig_str(taint, "value")


def tolerated(tolerations: Sequence[JsonObject], node: JsonObject, effects: Sequence[str]) -> bool:
    """Whether all taints of a node that have one of these effects are covered."""
    for taint in dig_objects(node, "spec", "taints"):
        if taint.get("effect") in effects and not any(tolerates(each, taint) for each in tolerations):
            return False
    return True


def selected(spec: JsonObject, node: JsonObject) -> bool:
    """Whether a node meets a pod's node selector and one term of its required node affinity, if it has any."""
    wanted, labels = dig_object(spec, "nodeSelector"), dig_object(node, "metadata", "labels")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if dig(spec, *path) is None:
        return True
    fields = {_NAME: dig_str(node, "metadata", "name")}
    words = dig_strings(node, "metadata", "labels")
    return any(_term_holds(term, words, fields) for term in dig_objects(spec, *path, "nodeSelectorTerms"))


def _term_holds(term: JsonObject, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    """A term without any requirement holds nowhere."""
    parts = [
        *((each, labels) for each in dig_objects(term, "matchExpressions")),
        *((each, fields) for each in dig_objects(term, "matchFields")),
    ]
    return bool(parts) and all(_meets(requirement, values) for requirement, values in parts)


def _meets(requirement: JsonObject, values: Mapping[str, str]) -> bool:
    """Gt and Lt compare whole numbers; what is no number never matches."""
    operator = dig_str(requirement, "operator")
    if operator not in ("Gt", "Lt"):
        return selector_matches({"matchExpressions": [requirement]}, values)
    found, bounds = _whole(values.get(dig_str(requirement, "key"))), dig_list(requirement, "values")
    bound = _whole(bounds[0]) if len(bounds) == 1 else None
    if found is None or bound is None:
        return False
    return found > bound if operator == "Gt" else found < bound


def _whole(text: object) -> int | None:
    try:
        return int(text) if isinstance(text, str) and text.isascii() else None
    except ValueError:
        return None
