"""What a namespace that is being deleted says about what it still waits for, in the namespace controller's conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.objects.deletion import finalizers
from vcray.cluster.objects.record import Record

_CONTENT, _FINALIZERS = "NamespaceContentRemaining", "NamespaceFinalizersRemaining"


def remaining_conditions(remaining: Iterable[Record], now: str) -> list[JsonValue]:
    """The conditions of a namespace in which these objects remain."""
    left = list(remaining)
    kinds = Counter(record.resource.full_name + ("." if not record.resource.group else "") for record in left)
    held = Counter(name for record in left for name in finalizers(record.decode()))
    content = ", ".join(f"{kind} has {count} resource instances" for kind, count in sorted(kinds.items()))
    waits = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
    some = f"Some content in the namespace has finalizers remaining: {waits}"
    rows: list[tuple[str, bool, str, str]] = [
        (
            "NamespaceDeletionDiscoveryFailure",
            False,
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            False,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            False,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (_CONTENT, True, "SomeResourcesRemain", f"Some resources are remaining: {content}")
        if left
        else (_CONTENT, False, "ContentRemoved", "All content successfully removed"),
        (_FINALIZERS, True, "SomeFinalizersRemain", some)
        if held
        else (_FINALIZERS, False, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
    ]
    return [_condition(kind, holds, reason, message, now) for kind, holds, reason, message in rows]


def _condition(kind: str, holds: bool, reason: str, message: str, now: str) -> JsonObject:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
