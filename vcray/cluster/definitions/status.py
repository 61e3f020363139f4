"""The status of a definition: which names it got, and the conditions that clients wait for."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api.jsonview import condition_of, dig, dig_list, dig_object, dig_str, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.served import storage_version

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its objects are gone."""


def set_condition(
    definition: JsonObject, kind: str, status: str, reason: str, message: str, now: str
) -> None:
    """Set a condition in place; its time changes only with its status."""
    holder = dig_object(definition, "status")
    listed = dig_list(holder, "conditions")
    definition["status"], holder["conditions"] = holder, listed
    present = condition_of(definition, kind)
    if not present:
        present = {"type": kind}
        listed.append(present)
    if present.get("status") != status:
        present["lastTransitionTime"] = now
    present |= {"status": status, "reason": reason, "message": message}


def set_defaults(definition: JsonObject) -> None:
    """Fill in the names that follow from others and the conversion, in place."""
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict):
        kind = dig_str(names, "kind")
        if not names.get("singular"):
            names["singular"] = kind.lower()
        if not names.get("listKind") and kind:
            names["listKind"] = f"{kind}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}


def first_status(definition: JsonObject) -> JsonObject:
    """The status at creation: nothing accepted yet."""
    version = storage_version(definition)
    stored: list[JsonValue] = [version] if version else []
    return {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    }


def keep_stored_version(definition: JsonObject) -> None:
    """Note the storage version among those that were ever stored, in place."""
    status = dig_object(definition, "status")
    stored, version = dig_list(status, "storedVersions"), storage_version(definition)
    if version and version not in stored:
        status["storedVersions"] = [*stored, version]
        definition["status"] = status


def accept_names(definition: JsonObject, others: Iterable[JsonObject], now: str) -> bool:
    """Accept the names that no other definition of the group has, in place; True if the status changed by it.

    A definition whose names are all free is established with it: it is served from the same moment.
    """
    wanted = dig_object(definition, "spec", "names")
    had = dig_object(definition, "status", "acceptedNames")
    if wanted == had and holds(definition, "NamesAccepted"):
        return False
    resources, kinds = _taken(others)
    got: JsonObject = {
        key: had[key] for key in ("plural", "singular", "shortNames", "kind", "listKind") if had.get(key)
    }
    reason = message = ""
    for word, taken, why in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        clash = _clash(wanted.get(word), had.get(word), taken)
        if clash:
            reason, message = why, clash
        else:
            got.pop(word, None)
            if wanted.get(word):
                got[word] = wanted[word]
    if wanted.get("categories"):
        got["categories"] = wanted["categories"]
    return _write_names(definition, got, reason, message, now)


def _write_names(definition: JsonObject, got: JsonObject, reason: str, message: str, now: str) -> bool:
    before = repr(definition.get("status"))
    status = dig_object(definition, "status")
    definition["status"] = status
    status["acceptedNames"] = {"plural": "", "kind": "", **got}
    if reason:
        set_condition(definition, "NamesAccepted", "False", reason, message, now)
        if not holds(definition, "Established"):
            why = "not all names are accepted"
            set_condition(definition, "Established", "False", "NotAccepted", why, now)
    else:
        set_condition(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        if not holds(definition, "Established"):
            why = "the initial names have been accepted"
            set_condition(definition, "Established", "True", "InitialNamesAccepted", why, now)
    return repr(status) != before


def _taken(others: Iterable[JsonObject]) -> tuple[set[str], set[str]]:
    """The resource names and the kinds that other definitions have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = dig_object(other, "status", "acceptedNames")
        resources |= {dig_str(names, "plural"), dig_str(names, "singular")}
        resources |= {str(word) for word in dig_list(names, "shortNames")}
        kinds |= {dig_str(names, "kind"), dig_str(names, "listKind")}
    return resources - {""}, kinds - {""}


def _clash(wanted: JsonValue, had: JsonValue, taken: set[str]) -> str:
    """Why a name, or one of several, cannot be had; empty if it can."""
    asked = wanted if isinstance(wanted, list) else [wanted]
    mine = had if isinstance(had, list) else [had]
    told = [f'"{name}" is already in use' for name in asked if name not in mine and name in taken]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def set_approval(definition: JsonObject, state: str, reason: str, now: str) -> bool:
    """Say in a condition whether a definition of a protected group was approved, in place; True if that is new."""
    kind = "KubernetesAPIApprovalPolicyConformant"
    status = "True" if state == "Approved" else "False"
    present = condition_of(definition, kind)
    if (present.get("status"), present.get("message")) == (status, reason):
        return False
    set_condition(definition, kind, status, f"{state}Annotation", reason, now)
    return True


def mark_terminating(definition: JsonObject, status: str, reason: str, message: str, now: str) -> None:
    """Say how far the deletion of a definition's objects is, in place."""
    set_condition(definition, "Terminating", status, reason, message, now)


def is_served(definition: JsonObject) -> bool:
    """Whether the kinds of a definition are served: established, and not about to leave."""
    return holds(definition, "Established") and not dig(definition, "metadata", "deletionTimestamp")
