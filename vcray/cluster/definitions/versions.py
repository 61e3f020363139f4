"""From a definition to the kinds that the catalog serves, one a served version."""

from __future__ import annotations

import sys
from dataclasses import replace

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str, holds
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cluster.definitions.served import accepted_names, read_version
from vcray.cluster.objects.catalog import Catalog, Kind, custom_kind


def kinds_of(definition: JsonObject) -> list[Kind]:
    """The kinds of a definition, one for each served version; all keep their objects in the storage version's table."""
    found = []
    storage = next((v for v in dig_objects(definition, "spec", "versions") if v.get("storage")), None)
    table = _resource(definition, storage) if storage else None
    for version in dig_objects(definition, "spec", "versions"):
        schema = dig(version, "schema", "openAPIV3Schema")
        if version.get("served"):
            anything: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}
            rules = schema if isinstance(schema, dict) else anything
            resource = _resource(definition, version)
            found.append(custom_kind(resource, rules, table, read_version(definition, version)))
    return found


def _resource(definition: JsonObject, version: JsonObject) -> Resource:
    names, subresources = accepted_names(definition), dig_object(version, "subresources")
    return Resource(
        group=dig_str(definition, "spec", "group"),
        version=dig_str(version, "name"),
        kind=dig_str(names, "kind"),
        plural=dig_str(names, "plural"),
        namespaced=dig_str(definition, "spec", "scope") != "Cluster",
        short_names=tuple(str(word) for word in dig_list(names, "shortNames")),
        subresources=tuple(name for name in ("status", "scale") if name in subresources),
    )


def serve(catalog: Catalog, definition: JsonObject) -> None:
    """Serve what a definition describes now, instead of what it described before. Its objects stay where they are."""
    present = {kind.resource.version: kind for kind in withdraw(catalog, definition)}
    kinds = kinds_of(definition)
    table = next(iter(present.values())).stored if present else None
    now = int(dig_str(definition, "metadata", "resourceVersion") or 0)
    changed = dig_int(definition, "metadata", "generation") > 1
    for kind in kinds:
        kept = kind if table is None else replace(kind, stored=table)
        catalog.add(_since(kept, present.get(kind.resource.version), kinds, now, changed))


def _since(kind: Kind, before: Kind | None, kinds: list[Kind], now: int, changed: bool) -> Kind:
    """The kind with the version from which on stored objects fit its schema."""
    version = kind.version
    if version is None:
        return kind
    if any(other.schema != kind.schema for other in kinds):
        since = sys.maxsize  # what was written through another version never went through this schema
    elif before is not None and before.schema == kind.schema and before.version is not None:
        since = before.version.since
    else:
        since = now if before is not None or changed else 0
    return replace(kind, version=replace(version, since=since))


def restore(catalog: Catalog, definition: JsonObject) -> None:
    """Serve a definition of an earlier run, if it was served then."""
    if holds(definition, "Established"):
        serve(catalog, definition)


def withdraw(catalog: Catalog, definition: JsonObject) -> list[Kind]:
    """Serve the kinds of a definition no more; returns those that were served."""
    name = dig_str(definition, "metadata", "name")
    present = [kind for kind in catalog.kinds() if kind.definition == name]
    for kind in present:
        catalog.remove(kind.resource)
    return present
