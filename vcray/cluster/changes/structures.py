"""How lists and maps of an object merge: which lists are sets, which are keyed, which are replaced whole.

Written as the fragments of an OpenAPI schema that server-side apply and strategic merge read
(`x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`). Custom kinds bring theirs in their
CRD, built-in kinds have theirs in the data file. A list that nothing is said about is replaced whole, a map is merged.
"""

from __future__ import annotations

from functools import cache

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.cluster.kinds.data import kinds_data, type_name

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PARTS = ("items", "additionalProperties")


@cache
def type_structure(name: str) -> JsonObject:
    """The schema of a built-in type with the types that it refers to in their places; one that contains itself is cut."""
    return _resolved(kinds_data().types[name], (name,))


def _resolved(schema: JsonObject, inside: tuple[str, ...]) -> JsonObject:
    reference = schema.get("$ref")
    result = {key: value for key, value in schema.items() if key != "$ref"}
    if isinstance(reference, str):
        if reference in inside:
            return result
        below = (
            type_structure(reference)
            if len(inside) == 1
            else _resolved(kinds_data().types[reference], (*inside, reference))
        )
        result = {**below, **result}
    for key in _PARTS:
        part = result.get(key)
        if isinstance(part, dict):
            result[key] = _resolved(part, inside)
    properties = result.get("properties")
    if isinstance(properties, dict):
        result["properties"] = {
            field: _resolved(part, inside) for field, part in properties.items() if isinstance(part, dict)
        }
    return result


def structure_of(resource: Resource, schema: JsonObject | None = None) -> JsonObject:
    """The merge structure of a kind; for a custom kind that of its `schema`, with the metadata every object has."""
    metadata: JsonValue = type_structure(_META)
    if schema is None:
        name = type_name(resource.api_version, resource.kind)
        return {} if name is None else type_structure(name)
    properties = schema.get("properties")
    return {
        **schema,
        "properties": {**(properties if isinstance(properties, dict) else {}), "metadata": metadata},
    }
