"""The parameters of a policy's binding: objects of the policy's `paramKind`, by name or by labels."""

from __future__ import annotations

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.objects.storage import Storage


class ConfigurationError(Exception):
    """The policy or its binding cannot be used for a request; its failure policy decides."""


def parameters(
    storage: Storage, catalog: Catalog, kind: JsonObject, reference: JsonObject, namespace: str
) -> list[JsonObject | None]:
    """What the policy is to be evaluated with, one after the other; None for "without". Raises ConfigurationError."""
    if not kind or not reference:
        return [None]
    served = catalog.named(dig_str(kind, "apiVersion"), dig_str(kind, "kind"))
    if served is None:
        shown = f"{dig_str(kind, 'apiVersion')}, Kind={dig_str(kind, 'kind')}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
    named = dig_str(reference, "namespace")
    if named and not served.resource.namespaced:
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    place = (named or namespace) if served.resource.namespaced else ""
    if served.resource.namespaced and not place:
        raise ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    found: list[JsonObject | None] = []
    name, selector = dig_str(reference, "name"), reference.get("selector")
    if name:
        record = storage.get(served.stored, place, name)
        found = [record.decode()] if record is not None else []
    elif selector is not None:
        for record in storage.scan(served.stored, place):
            if selector_matches(selector, record.labels):
                found.append(record.decode())
    else:
        raise ConfigurationError("one of name or selector must be provided")
    if not found and dig_str(reference, "parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found
