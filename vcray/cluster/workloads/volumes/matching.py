"""Which volume a claim gets, and why one does not fit.

Pure. Rules: Kubernetes' component-helpers (storage/volume, FindMatchingVolume) and persistent volume controller
(checkVolumeSatisfyClaim).
"""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api.jsonview import dig, dig_list, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.names import BIND_COMPLETED, SELECTED_NODE
from vcray.api.quantity import parse_quantity
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.storageclasses import class_of


def is_completed(claim: JsonObject) -> bool:
    """Whether the claim has been bound once."""
    return dig(claim, "metadata", "annotations", BIND_COMPLETED) is not None


def has_node(claim: JsonObject) -> bool:
    """Whether a scheduler has chosen the node for which the claim's volume is to be made."""
    return dig(claim, "metadata", "annotations", SELECTED_NODE) is not None


def is_meant_for(volume: JsonObject, claim: JsonObject) -> bool:
    """Whether the volume is reserved for, or bound to, this claim."""
    reference = dig(volume, "spec", "claimRef")
    if reference is None or any(
        dig_str(reference, field) != dig_str(claim, "metadata", field) for field in ("name", "namespace")
    ):
        return False
    return dig_str(reference, "uid") in ("", dig_str(claim, "metadata", "uid"))


def best_match(claim: JsonObject, volumes: Iterable[JsonObject], delayed: bool) -> JsonObject | None:
    """Of the volumes that fit one with as few access modes as can be, of these one that is reserved, then the smallest.

    A `delayed` claim takes only what is reserved for it: a scheduler chooses the rest. Volumes of one size go by name.
    """
    found: list[tuple[int, bool, int, str, JsonObject]] = []
    for volume in volumes:
        reserved = is_meant_for(volume, claim)
        if _could_hold(volume, claim) and (reserved or (not delayed and _is_free(volume, claim))):
            modes, name = len(dig_list(volume, "spec", "accessModes")), dig_str(volume, "metadata", "name")
            found.append((modes, not reserved, size(volume), name, volume))
    return min(found, key=lambda each: each[:4])[4] if found else None


def mismatch(volume: JsonObject, claim: JsonObject) -> str:
    """Why the volume that a claim asks for by name does not satisfy it; empty if it does."""
    if dig_str(volume, "metadata", "deletionTimestamp"):
        return f'the volume is marked for deletion "{dig_str(volume, "metadata", "name")}"'
    if size(volume) < wanted_size(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes(volume) != _attributes(claim):
        return "volumeAttributesClassName does not match"
    if not _same_mode(volume, claim):
        return "incompatible volumeMode"
    return "" if _offers_modes(volume, claim) else "incompatible accessMode"


def size(volume: JsonObject) -> int:
    """What a volume holds, in billionths of a byte."""
    return parse_quantity(dig_str(volume, "spec", "capacity", "storage") or "0")


def wanted_size(claim: JsonObject) -> int:
    """What a claim asks for, in billionths of a byte."""
    return parse_quantity(dig_str(claim, "spec", "resources", "requests", "storage") or "0")


def _could_hold(volume: JsonObject, claim: JsonObject) -> bool:
    return (
        size(volume) >= wanted_size(claim)
        and _same_mode(volume, claim)
        and _attributes(volume) == _attributes(claim)
        and not dig_str(volume, "metadata", "deletionTimestamp")
        and _offers_modes(volume, claim)
    )


def _is_free(volume: JsonObject, claim: JsonObject) -> bool:
    selector = dig(claim, "spec", "selector")
    return (
        dig_str(volume, "status", "phase") == "Available"
        and dig(volume, "spec", "claimRef") is None
        and class_of(volume) == class_of(claim)
        and (selector is None or selector_matches(selector, dig_strings(volume, "metadata", "labels")))
    )


def _offers_modes(volume: JsonObject, claim: JsonObject) -> bool:
    offered = dig_list(volume, "spec", "accessModes")
    return all(mode in offered for mode in dig_list(claim, "spec", "accessModes"))


def _same_mode(volume: JsonObject, claim: JsonObject) -> bool:
    return _mode(volume) == _mode(claim)


def _mode(obj: JsonObject) -> str:
    return dig_str(obj, "spec", "volumeMode") or "Filesystem"


def _attributes(obj: JsonObject) -> str:
    return dig_str(obj, "spec", "volumeAttributesClassName")
