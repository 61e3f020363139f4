"""CustomResourceDefinitions that clients create: established at once, their kinds served from then on."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.versions import serve
from vcray.cluster.objects.record import dig, entries

__all__ = ["established", "serve"]


def established(definition: JsonObject, now: str) -> JsonObject:
    """The status of a definition whose names are accepted and whose kinds are served."""
    names = dig(definition, "spec", "names")
    conditions: list[JsonValue] = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    stored: list[JsonValue] = [
        version.get("name")
        for version in entries(dig(definition, "spec", "versions"))
        if version.get("storage")
    ]
    return {"acceptedNames": names, "conditions": conditions, "storedVersions": stored}
