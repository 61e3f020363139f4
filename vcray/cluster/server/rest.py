"""The API server's paths and verbs on a `Store`: one request in, one response out, no I/O.

The in-process transport calls it directly, the HTTPS server of the embedded cluster will stand on the same function.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import yaml

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, Resource
from vcray.cluster.objects import placing, refusals
from vcray.cluster.objects.deletion import DeleteOptions, read_options
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.store import ListPage, Selection, Store, Write
from vcray.kube.client import PatchType
from vcray.kube.errors import ApiError, BadRequest, Invalid, MethodNotAllowed, status_response
from vcray.kube.transport import Query, Response

VERSION: JsonObject = {"major": "1", "minor": "36", "gitVersion": "v1.36.1", "platform": "vcray/embedded"}
_JSON_HEADERS = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at; an empty name means the whole collection."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


def parse(store: Store, path: str) -> Target:
    """The target of a resource path. ResourceMissing for any other path."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise refusals.no_such_resource()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = store.catalog.at(group, version, rest[0]).resource
    if len(rest) > 3 or (namespace and not resource.namespaced):
        raise refusals.no_such_resource()
    name, subresource = (*rest[1:], "", "")[:2]
    if name and resource.namespaced and not namespace:
        raise refusals.no_such_resource()
    return Target(resource, namespace, name, subresource)


def selection(target: Target, query: Query) -> Selection:
    """What a list or watch query asks for."""
    version = query.get("resourceVersion", "")
    fields = query.get("fieldSelector", "")
    if target.name:
        fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    return Selection(
        namespace=target.namespace,
        labels=query.get("labelSelector", ""),
        fields=fields,
        limit=_number(query, "limit") or 0,
        token=query.get("continue", ""),
        version=int(version) if version.isdigit() and query.get("resourceVersionMatch") == "Exact" else None,
    )


def _number(query: Query, name: str) -> int | None:
    value = query.get(name, "")
    if value and not value.isdigit():
        raise BadRequest(f'strconv.ParseUint: parsing "{value}": invalid syntax')
    return int(value) if value else None


def handle(
    store: Store, method: str, path: str, query: Query, body: bytes | None, content_type: str, user_agent: str
) -> Response:
    """Answer one request; refusals become Status answers."""
    try:
        return _dispatch(store, method, path, query, body, content_type, user_agent)
    except ApiError as error:
        return status_response(error)


def _dispatch(
    store: Store, method: str, path: str, query: Query, body: bytes | None, content_type: str, user_agent: str
) -> Response:
    if method == "GET" and path in ("/readyz", "/livez", "/healthz"):
        return Response(200, b"ok", {"content-type": "text/plain"})
    if method == "GET" and path == "/version":
        return _answer(200, VERSION)
    target = parse(store, path)
    write = _write(query, target, user_agent)
    match method:
        case "GET" if target.name:
            return _raw(200, store.read(target.resource, target.namespace, target.name))
        case "GET":
            page = store.list(target.resource, selection(target, query))
            return Response(200, _list_body(target.resource, page), _JSON_HEADERS)
        case "POST":
            return _post(store, target, _decode(body, content_type), write)
        case "PUT" if target.name:
            wanted = _decode(body, content_type)
            return _raw(200, store.update(target.resource, target.namespace, target.name, wanted, write))
        case "PATCH" if target.name:
            return _patch(store, target, body, content_type, write, query)
        case "DELETE":
            return _delete(store, target, query, _decode(body, content_type) if body else {})
    raise MethodNotAllowed("the server does not allow this method on the requested resource")


def _write(query: Query, target: Target, user_agent: str) -> Write:
    return Write(
        manager=query.get("fieldManager") or user_agent,
        dry_run=query.get("dryRun") == "All",
        force=query.get("force") == "true",
        subresource=target.subresource,
    )


def _post(store: Store, target: Target, obj: JsonObject, write: Write) -> Response:
    if not target.name:
        return _raw(201, store.create(target.resource, target.namespace, obj, write))
    if target.resource == PODS and target.subresource == "binding":
        placing.bind(store, target.namespace, target.name, obj, write)
        return _answer(201, _success(201))
    if target.resource == PODS and target.subresource == "eviction":
        placing.evict(store, target.namespace, target.name, obj)
        return _answer(201, _success(201))
    raise MethodNotAllowed("the server does not allow this method on the requested resource")


def _patch(
    store: Store, target: Target, body: bytes | None, content_type: str, write: Write, query: Query
) -> Response:
    how = content_type.partition(";")[0].strip()
    if how == PatchType.APPLY and not query.get("fieldManager"):
        raise Invalid(
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
        )
    patch = _decode_any(body, how)
    new = how == PatchType.APPLY and store.storage.get(target.resource, target.namespace, target.name) is None
    record = store.patch(target.resource, target.namespace, target.name, patch, how, write)
    return _raw(201 if new else 200, record)


def _delete(store: Store, target: Target, query: Query, body: JsonObject) -> Response:
    options = read_options(body, query.get("gracePeriodSeconds", ""), query.get("propagationPolicy", ""))
    if not target.name:
        return _delete_collection(store, target, query, options)
    last, gone = store.delete(target.resource, target.namespace, target.name, options)
    if not gone or target.resource == PODS:
        return _raw(200, last)
    details: JsonObject = {"name": target.name, "kind": target.resource.plural, "uid": last.uid}
    if target.resource.group:
        details["group"] = target.resource.group
    return _answer(200, {**_success(0), "details": details})


def _delete_collection(store: Store, target: Target, query: Query, options: DeleteOptions) -> Response:
    page = store.list(target.resource, selection(target, query))
    for record in page.records:
        present = store.storage.get(record.resource, record.namespace, record.name)
        if present is not None and present.uid == record.uid:
            store.delete(record.resource, record.namespace, record.name, options)
    return Response(200, _list_body(target.resource, page), _JSON_HEADERS)


def _success(code: int) -> JsonObject:
    status: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**status, "code": code} if code else status


def _decode_any(body: bytes | None, content_type: str) -> JsonValue:
    try:
        if "yaml" in content_type:
            loaded: JsonValue = yaml.safe_load(body or b"")
            return loaded
        decoded: JsonValue = msgspec.json.decode(body or b"")
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise BadRequest(f"the object provided is unrecognized: {error}") from error
    return decoded


def _decode(body: bytes | None, content_type: str) -> JsonObject:
    decoded = _decode_any(body, content_type)
    if not isinstance(decoded, dict):
        raise BadRequest("the object provided is unrecognized (must be of type object)")
    return decoded


def _answer(status: int, body: JsonObject) -> Response:
    return Response(status, msgspec.json.encode(body), _JSON_HEADERS)


def _raw(status: int, record: Record) -> Response:
    return Response(status, record.body, _JSON_HEADERS)


def _list_body(resource: Resource, page: ListPage) -> bytes:
    metadata: dict[str, JsonValue] = {"resourceVersion": str(page.version)}
    if page.token:
        metadata |= {"continue": page.token, "remainingItemCount": page.remaining}
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
    items = b",".join(record.body for record in page.records)
    return msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}"
