"""The operations on one served kind, as path items of OpenAPI 2 and 3: what kubectl looks parameters up in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import type_name
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.openapi.published import model_name
from vcray.cluster.openapi.schemas import V2_ROOT, V3_ROOT

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_WRITE = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_LIST = (
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
)
_DELETE = (
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)
_PARAMETERS: dict[str, tuple[tuple[str, str], ...]] = {
    "get": (),
    "list": _LIST,
    "create": _WRITE,
    "update": _WRITE,
    "patch": (*_WRITE, ("force", "boolean")),
    "delete": _DELETE,
    "deletecollection": (*_DELETE, *_LIST[1:-1]),
}
_METHODS = {
    "get": "get",
    "list": "get",
    "create": "post",
    "update": "put",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "delete",
}
_WORDS = {"get": "read", "update": "replace", "deletecollection": "deleteCollection"}
_ACTIONS = {"create": "post", "update": "put"}
_CODES: dict[str, dict[str, str]] = {
    "create": {"200": "OK", "201": "Created", "202": "Accepted"},
    "update": {"200": "OK", "201": "Created"},
    "patch": {"200": "OK", "201": "Created"},
    "delete": {"200": "OK", "202": "Accepted"},
}
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_STREAMS = ("attach", "exec", "log", "portforward", "proxy")
"""Subresources that answer with no object; the documents pass over them."""
_CUSTOM_PATCHES = (_PATCHES[0], _PATCHES[1], _PATCHES[3])


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One path of a kind: its name pieces, the type that is written and the type of a list (empty: no list)."""

    path: str
    subresource: str
    body: str
    collection: str
    gvk: JsonObject


def path_items(kind: Kind, v3: bool) -> JsonObject:
    """All paths of a kind with their operations, in one version of OpenAPI."""
    items: JsonObject = {}
    resource = kind.resource
    root = resource.path()
    scoped = f"{root.removesuffix(resource.plural)}namespaces/{{namespace}}/{resource.plural}"
    base = scoped if resource.namespaced else root
    body, listed = _model(kind, resource.kind), _model(kind, _list_kind(kind))
    gvk: JsonObject = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    whole = _Endpoint(base, "", body, listed, gvk)
    verbs = [verb for verb in kind.verbs if verb in _METHODS]
    if resource.namespaced and "list" in verbs:
        everywhere = _Endpoint(root, "", body, listed, gvk)
        items[root] = _item(kind, everywhere, ["list"], v3, suffix="ForAllNamespaces")
    items[base] = _item(
        kind, whole, [verb for verb in verbs if verb in ("list", "create", "deletecollection")], v3
    )
    one = _Endpoint(f"{base}/{{name}}", "", body, "", gvk)
    items[one.path] = _item(
        kind, one, [verb for verb in verbs if verb in ("get", "update", "patch", "delete")], v3
    )
    for name, verbs_below, below in _subresources(kind):
        endpoint = _Endpoint(f"{base}/{{name}}/{name}", name, _below_model(kind, below), "", below or gvk)
        items[endpoint.path] = _item(kind, endpoint, verbs_below, v3)
    return {path: item for path, item in items.items() if len(item) > 1}  # type: ignore[arg-type]


def _list_kind(kind: Kind) -> str:
    return kind.version.list_kind if kind.version else kind.resource.list_kind


def _model(kind: Kind, name: str) -> str:
    if kind.custom:
        return model_name(kind.resource.group, kind.resource.version, name)
    return type_name(kind.resource.api_version, name) or ""


def _subresources(kind: Kind) -> list[tuple[str, list[str], JsonObject]]:
    """Name, verbs, and group, version and kind of each subresource."""
    found = []
    if kind.custom:
        verbs = ["get", "patch", "update"]
        scale: JsonObject = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        return [
            (name, verbs, scale if name == "scale" else JsonObject()) for name in kind.resource.subresources
        ]
    for name, row in kind.subkinds.items():
        below: JsonObject = {
            "group": dig_str(row, "group") if row.get("version") else kind.resource.group,
            "kind": dig_str(row, "kind"),
            "version": dig_str(row, "version") or kind.resource.version,
        }
        wanted = [str(verb) for verb in dig_list(row, "verbs") if verb in _METHODS]
        if name not in _STREAMS:
            found.append((name, wanted, below))
    return found


def _below_model(kind: Kind, below: JsonObject) -> str:
    if not below:
        return _model(kind, kind.resource.kind)
    group, version = dig_str(below, "group"), dig_str(below, "version")
    api_version = f"{group}/{version}" if group else version
    return type_name(api_version, dig_str(below, "kind")) or ""


def _item(kind: Kind, endpoint: _Endpoint, verbs: list[str], v3: bool, suffix: str = "") -> JsonObject:
    item: JsonObject = {}
    for verb in verbs:
        item[_METHODS[verb]] = _operation(kind, endpoint, verb, v3, suffix)
    places = [name for name in ("name", "namespace") if f"{{{name}}}" in endpoint.path]
    shared: list[JsonValue] = [_parameter(name, "string", "path", v3) for name in places]
    item["parameters"] = [*shared, _parameter("pretty", "string", "query", v3)]
    return item


def _parameter(name: str, kind: str, place: str, v3: bool) -> JsonObject:
    parameter: JsonObject = {"name": name, "in": place}
    if place == "path":
        parameter["required"] = True
    schema: JsonObject = {"type": kind, "uniqueItems": True}
    return {**parameter, "schema": schema} if v3 else {**parameter, **schema}


def tag(group: str, version: str) -> str:
    """The tag of a group version: `scheduling_v1`."""
    return f"{_camel(group)[:1].lower()}{_camel(group)[1:]}_{version}"


def _camel(group: str) -> str:
    words = re.split(r"[.-]", group.removesuffix(".k8s.io") or "core")
    return "".join(word[:1].upper() + word[1:] for word in words)


def _operation(kind: Kind, endpoint: _Endpoint, verb: str, v3: bool, suffix: str) -> JsonObject:
    resource = kind.resource
    scope = "Namespaced" if "{namespace}" in endpoint.path else ""
    place = f"{_camel(resource.group)}{resource.version[:1].upper()}{resource.version[1:]}"
    word = _WORDS.get(verb, verb)
    if word == "deleteCollection":
        name = f"delete{place}Collection{scope}{resource.kind}"
    else:
        sub = endpoint.subresource[:1].upper() + endpoint.subresource[1:]
        name = f"{word}{place}{scope}{resource.kind}{sub}{suffix}"
    operation: JsonObject = {"tags": [tag(resource.group, resource.version)], "operationId": name}
    answered = endpoint.collection if verb == "list" else endpoint.body
    if verb in ("delete", "deletecollection"):
        answered = f"{_META}Status"
    parameters: list[JsonValue] = [_parameter(n, k, "query", v3) for n, k in _PARAMETERS[verb]]
    _bodies(operation, kind, endpoint, verb, parameters, v3)
    if parameters:
        operation["parameters"] = parameters
    codes = _CODES.get(verb, {"200": "OK"})
    operation["responses"] = {
        **{code: _response(told, answered, kind, v3) for code, told in codes.items()},
        "401": {"description": "Unauthorized"},
    }
    operation["x-kubernetes-action"] = _ACTIONS.get(verb, verb)
    operation["x-kubernetes-group-version-kind"] = endpoint.gvk
    return operation


def _produced(kind: Kind) -> tuple[str, ...]:
    both = ("application/json", "application/yaml")
    return both if kind.custom else (*both, "application/vnd.kubernetes.protobuf")


def _response(told: str, model: str, kind: Kind, v3: bool) -> JsonObject:
    if not model:
        return {"description": told}
    if not v3:
        return {"description": told, "schema": {"$ref": f"{V2_ROOT}{model}"}}
    schema: JsonObject = {"schema": {"$ref": f"{V3_ROOT}{model}"}}
    return {"description": told, "content": dict.fromkeys(_produced(kind), schema)}


def _bodies(
    operation: JsonObject,
    kind: Kind,
    endpoint: _Endpoint,
    verb: str,
    parameters: list[JsonValue],
    v3: bool,
) -> None:
    """The body that an operation takes, in place."""
    patches = _CUSTOM_PATCHES if kind.custom else _PATCHES
    model = f"{_META}DeleteOptions" if verb.startswith("delete") else f"{_META}Patch"
    if verb in ("create", "update"):
        model = endpoint.body
    takes = verb not in ("get", "list") and bool(model)
    accepted = patches if verb == "patch" else ("*/*",)
    if not v3:
        operation |= {
            "consumes": list(accepted),
            "produces": list(_produced(kind)),
            "schemes": ["https"],
        }
        if takes:
            body: JsonObject = {"name": "body", "in": "body", "schema": {"$ref": f"{V2_ROOT}{model}"}}
            parameters.insert(0, body if verb.startswith("delete") else {**body, "required": True})
        return
    if takes:
        schema: JsonObject = {"schema": {"$ref": f"{V3_ROOT}{model}"}}
        request: JsonObject = {"content": dict.fromkeys(accepted, schema)}
        operation["requestBody"] = request if verb.startswith("delete") else {**request, "required": True}
