"""CustomResourceDefinitions that clients create: established at once, their kinds served from then on."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.cluster.objects.catalog import Catalog, Kind, custom_kind
from vcray.cluster.objects.record import dig, entries, text


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


def kinds_of(definition: JsonObject) -> list[Kind]:
    """The kinds that a definition serves, one for each served version."""
    group, names = text(dig(definition, "spec", "group")), dig(definition, "spec", "names")
    short = dig(names, "shortNames")
    found = []
    for version in entries(dig(definition, "spec", "versions")):
        schema = dig(version, "schema", "openAPIV3Schema")
        if not version.get("served") or not isinstance(schema, dict):
            continue
        subresources = version.get("subresources")
        resource = Resource(
            group=group,
            version=text(version.get("name")),
            kind=text(dig(names, "kind")),
            plural=text(dig(names, "plural")),
            namespaced=dig(definition, "spec", "scope") != "Cluster",
            short_names=tuple(text(word) for word in short) if isinstance(short, list) else (),
            subresources=("status",) if isinstance(subresources, dict) and "status" in subresources else (),
        )
        found.append(custom_kind(resource, schema))
    return found


def serve(catalog: Catalog, definition: JsonObject) -> None:
    """Serve what a definition describes; kinds that are served already stay as they are."""
    for kind in kinds_of(definition):
        if catalog.named(kind.resource.api_version, kind.resource.kind) is None:
            catalog.add(kind)
