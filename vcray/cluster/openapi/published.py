"""A definition's schema as the server publishes it, under the name of its kind.

Clients of version 2 cannot read alternatives, nulls, or fields below a place where anything goes, so those parts are left
out for them, as kube-apiserver does.
"""

from __future__ import annotations

from vcray.api.jsonview import dig_list, dig_object
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.structural import structural_faults
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.openapi.schemas import V2_ROOT, V3_ROOT, walked

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_INT_OR_STRING: list[JsonValue] = [{"type": "integer"}, {"type": "string"}]
_KEEPS, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_NOT_IN_V2 = ("allOf", "anyOf", "default", "not", "oneOf")
_ABOUT_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_ABOUT_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_ABOUT_METADATA = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def model_name(group: str, version: str, kind: str) -> str:
    """The name of a custom kind's schema: its group backwards, its version, its kind."""
    return ".".join((*reversed(group.split(".")), version, kind))


def custom_schemas(kind: Kind, v3: bool) -> dict[str, JsonObject]:
    """The schemas of a custom kind and of its list, by their names."""
    resource, version = kind.resource, kind.version
    list_kind = version.list_kind if version else resource.list_kind
    name = model_name(resource.group, resource.version, resource.kind)
    selectable: list[JsonValue] = [{"fieldPath": path} for path in (version.selectable if version else ())]
    object_schema, list_schema = _object(kind, v3), _list(kind, name, list_kind, v3)
    if selectable:
        for schema in (object_schema, list_schema):
            schema["x-kubernetes-selectable-fields"] = selectable
    return {name: object_schema, model_name(resource.group, resource.version, list_kind): list_schema}


def _gvk(kind: Kind, name: str) -> list[JsonValue]:
    return [{"group": kind.resource.group, "kind": name, "version": kind.resource.version}]


def _meta(name: str, about: str, v3: bool) -> JsonObject:
    reference: JsonObject = {"$ref": f"{V3_ROOT if v3 else V2_ROOT}{_META}{name}"}
    return {"description": about, "allOf": [reference]} if v3 else {"description": about, **reference}


def _type_fields() -> JsonObject:
    return {
        "apiVersion": {"description": _ABOUT_API_VERSION, "type": "string"},
        "kind": {"description": _ABOUT_KIND, "type": "string"},
    }


def _object(kind: Kind, v3: bool) -> JsonObject:
    schema = kind.schema or {}
    loose = bool(schema.get(_KEEPS)) or bool(kind.version and kind.version.keeps_unknown)
    result: JsonObject = {"type": "object"}
    if not structural_faults(schema, "") and (v3 or not loose):
        result = walked(schema, _unfolded if v3 else _v2)
        properties: JsonObject = {**dig_object(result, "properties"), **_type_fields()}
        properties["metadata"] = _meta("ObjectMeta", _ABOUT_METADATA, v3)
        result["properties"] = properties
        _embedded_fields(result, v3)
    result["x-kubernetes-group-version-kind"] = _gvk(kind, kind.resource.kind)
    return result


def _list(kind: Kind, name: str, list_kind: str, v3: bool) -> JsonObject:
    item: JsonObject = {"$ref": f"{V3_ROOT if v3 else V2_ROOT}{name}"}
    about = (
        f"List of {kind.resource.plural}. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
    )
    return {
        "description": f"{list_kind} is a list of {kind.resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_fields(),
            "items": {"description": about, "type": "array", "items": item},
            "metadata": _meta("ListMeta", _ABOUT_METADATA.replace("object's", "list"), v3),
        },
        "x-kubernetes-group-version-kind": _gvk(kind, list_kind),
    }


def _unfolded(schema: JsonObject) -> JsonObject:
    """An int-or-string says so in words that validators know."""
    if not schema.get("x-kubernetes-int-or-string"):
        return schema
    choice = dig_list(schema, "anyOf")
    every = dig_list(schema, "allOf")
    if choice == _INT_OR_STRING or any(dig_list(item, "anyOf") == _INT_OR_STRING for item in every[:1]):
        return schema
    if not choice:
        return {**schema, "anyOf": _INT_OR_STRING}
    return {**schema, "allOf": [{"anyOf": _INT_OR_STRING}, *every]}


def _v2(schema: JsonObject) -> JsonObject:
    """One level of a schema without what version 2 has no words for."""
    plain = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    gone: set[str] = set()
    if plain.pop("nullable", None):
        gone |= {"type", "items", "properties"}
    if plain.get(_KEEPS):
        gone |= {"items", "properties"}
        if plain.get("type") == "object":
            gone.add("type")
    if plain.get("type") == "array" and ("items" not in plain or "items" in gone):
        gone.add("type")
    plain = {key: value for key, value in plain.items() if key not in gone}
    _drop_nullable_requirements(plain)
    return plain


def _drop_nullable_requirements(schema: JsonObject) -> None:
    properties = dig_object(schema, "properties")
    extra = schema.get("additionalProperties")
    left: list[JsonValue] = [
        name for name in dig_list(schema, "required") if not dig_object(properties, str(name)).get("nullable")
    ]
    if isinstance(extra, dict) and extra.get("nullable"):
        left = []
    schema.pop("required", None)
    if left:
        schema["required"] = left


def _embedded_fields(schema: JsonObject, v3: bool) -> None:
    """Give embedded objects the fields that every object has, in place."""
    for field in dig_object(schema, "properties").values():
        if isinstance(field, dict):
            _embedded_fields(field, v3)
    for key in ("items", "additionalProperties"):
        below = schema.get(key)
        if isinstance(below, dict):
            _embedded_fields(below, v3)
    if not schema.get(_EMBEDDED) or (schema.get(_KEEPS) and not v3):
        return
    metadata = _meta("ObjectMeta", _ABOUT_METADATA, v3)
    schema["properties"] = {
        **dig_object(schema, "properties"),
        **_type_fields(),
        "metadata": metadata,
    }
    required = dig_list(schema, "required")
    schema["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
