"""The verbs on resource paths: one request in, a generator of reviews, one response out, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_JOBS
from vcray.cluster.objects import refusals
from vcray.cluster.objects.lists import Selection
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.review import Steps
from vcray.cluster.objects.selectors import required_field
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.cluster.schema.duplicates import check_applied, note_repeated
from vcray.cluster.server.answers import success, warning_header
from vcray.cluster.server.bodies import YAML, media_type, read_body, read_object
from vcray.cluster.server.forms import PARTIAL, PARTIAL_LIST, TABLE, form_of
from vcray.cluster.server.options import (
    check_list_options,
    check_version,
    delete_options,
    told_delete,
    write_of,
)
from vcray.cluster.server.paths import Target
from vcray.cluster.server.rendering import Rendering
from vcray.cluster.server.requests import Request, number
from vcray.kube.client import PatchType
from vcray.kube.errors import (
    ApiError,
    BadRequest,
    MethodNotAllowed,
    NotFound,
    ResourceMissing,
    UnsupportedMediaType,
)
from vcray.kube.transport import Response

Answer: TypeAlias = Steps[Response]
Subresource: TypeAlias = Callable[[Store, Target, Request], Answer]

_KEEPS_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_PATCHES = (PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY)
_CREATED_BY_UPDATE = frozenset(
    {
        "runtimeclasses.node.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "leases.coordination.k8s.io",
        "limitranges",
        "events",
        "events.events.k8s.io",
        "services",
        "endpoints",
    }
)
"""Resources that a PUT creates where there is nothing to replace."""

_RETURNED_WHEN_DELETED = frozenset(
    {
        "pods",
        "namespaces",
        "services",
        "serviceaccounts",
        "persistentvolumes",
        "persistentvolumeclaims",
        "podtemplates",
        "resourcequotas",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
    }
)
"""Resources whose delete answers with the object, not with a Status."""


def encoded(obj: JsonObject) -> bytes:
    """JSON."""
    return msgspec.json.encode(obj)


def no_such_subresource() -> ResourceMissing:
    """404 within a group that is served."""
    return refusals.no_such_resource()


def not_allowed() -> MethodNotAllowed:
    """405."""
    return MethodNotAllowed("the server does not allow this method on the requested resource")


def answer(store: Store, target: Target, request: Request) -> Answer:
    """Answer a request for a resource. Raises ApiError."""
    name = target.name
    if target.resource.namespaced and not target.namespace and request.method != "GET":
        raise not_allowed()
    as_kinds = (TABLE, PARTIAL) if name or request.method == "POST" else (TABLE, PARTIAL_LIST)
    look = Rendering(request, target.kind, form_of(request, target.kind, as_kinds), store.clock)
    match request.method:
        case "GET" if name:
            return _get(store, target, look)
        case "GET":
            return _list(store, target, look)
        case "POST" if not name:
            return _create(store, target, look)
        case "PUT" if name:
            return _update(store, target, look)
        case "PATCH" if name:
            return _patch(store, target, look)
        case "DELETE" if name and not target.subresource:
            return _delete(store, target, look)
        case "DELETE" if not name:
            return _delete_collection(store, target, look)
        case "PUT" | "PATCH" if target.kind.custom:
            raise BadRequest("name must be provided")
    raise not_allowed()


def verb_of(request: Request, target: Target) -> str:
    """The verb of a request in the words of discovery and of authorization."""
    match request.method:
        case "GET" | "HEAD":
            return "get" if target.name else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if target.name else "deletecollection"
    return request.method.lower()


# -- reading --------------------------------------------------------------------------------------------------


def _get(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    yield from ()
    asked = check_version(request.query.get("resourceVersion", ""))
    if asked is not None:
        check_reached(store, asked)
    record = store.read(target.resource, target.namespace, target.name)
    return of_record(look, 200, record)


def _list(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    yield from ()
    page = store.list(target.resource, list_selection(store, target, request))
    return look.of_page(page)


def check_reached(store: Store, version: int) -> None:
    """Refuse (504) a version that is still to come, as a server does that waited for it in vain."""
    if version > store.storage.version:
        message = f"Too large resource version: {version}, current: {store.storage.version}"
        causes: JsonObject = {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        }
        raise ApiError(f"Timeout: {message}", code=504, reason="Timeout", details=causes, retry_after=1)


def list_selection(store: Store, target: Target, request: Request) -> Selection:
    """What a list asks for. Raises BadRequest, Invalid, and 504 for a version that is still to come."""
    query = request.query
    check_list_options(query, watch=False)
    token, limit = query.get("continue", ""), number(query, "limit") or 0
    asked, version = check_version(query.get("resourceVersion", "")), None
    if asked is not None:
        if token:
            raise BadRequest("specifying resource version is not allowed when using continue")
        check_reached(store, asked)
        if query.get("resourceVersionMatch") == "Exact" or (limit and not query.get("resourceVersionMatch")):
            version = asked
    return replace(selectors_of(target, request), limit=limit, token=token, version=version)


def selectors_of(target: Target, request: Request) -> Selection:
    """Namespace and selectors of a list or a watch; a path with a name narrows it to that name."""
    fields = request.query.get("fieldSelector", "")
    if target.name:
        named = required_field(fields, "metadata.name")
        if named and named != target.name:
            raise BadRequest("field selector and name do not match")
        fields = fields if named else ",".join(filter(None, (fields, f"metadata.name={target.name}")))
    return Selection(target.namespace, request.query.get("labelSelector", ""), fields)


# -- writing --------------------------------------------------------------------------------------------------


def _create(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    write = write_of(request, "CreateOptions", "")
    obj = read_object(request.body, request.content_type, target.kind)
    note_repeated(write, request.body or b"", obj, media_type(request.content_type))
    record = yield from store.verbs.create(target.resource, target.namespace, obj, write)
    return of_record(look, 201, record, write)


def _update(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    write = write_of(request, "UpdateOptions", target.subresource)
    obj = read_object(request.body, request.content_type, target.kind)
    note_repeated(write, request.body or b"", obj, media_type(request.content_type))
    resource, namespace, name = target.resource, target.namespace, target.name
    try:
        record = yield from store.verbs.update(resource, namespace, name, obj, write)
    except NotFound:
        present = store.storage.get(target.kind.stored, namespace, name)
        if present is not None or target.subresource or resource.full_name not in _CREATED_BY_UPDATE:
            raise
        record = yield from store.verbs.create(resource, namespace, obj, write)
        return of_record(look, 201, record, write)
    return of_record(look, 200, record, write)


def _patch(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    how = media_type(request.content_type)
    if not target.kind.custom and how not in _PATCHES:
        raise UnsupportedMediaType("415: Unsupported Media Type")
    write = write_of(request, "PatchOptions", target.subresource, how)
    patch = read_body(request.body, YAML if how == PatchType.APPLY else "", target.resource.kind)
    note_repeated(write, request.body or b"", patch, how)
    if how == PatchType.APPLY:
        check_applied(write, request.body or b"")
    present = store.storage.get(target.kind.stored, target.namespace, target.name)
    new = how == PatchType.APPLY and present is None
    verb = store.verbs.patch(target.resource, target.namespace, target.name, patch, how, write)
    record = yield from verb
    return of_record(look, 201 if new else 200, record, write)


def of_record(look: Rendering, status: int, record: Record, write: Write | None = None) -> Response:
    """The answer with one object, with the warnings that came up."""
    response = look.of_record(status, record)
    warnings = [*write.warnings] if write is not None else []
    if look.kind.version is not None and look.kind.version.warning:
        warnings.insert(0, look.kind.version.warning)
    return with_warnings(response, warnings)


def with_warnings(response: Response, warnings: list[str]) -> Response:
    """The same answer with a Warning header, if there is anything to tell."""
    if not warnings:
        return response
    told = ", ".join(filter(None, (warning_header(warnings), response.headers.get("warning", ""))))
    return Response(response.status, response.body, {**response.headers, "warning": told})


# -- deleting -------------------------------------------------------------------------------------------------


def _delete_body(request: Request) -> JsonObject:
    if not request.body:
        return {}
    decoded = read_body(request.body, request.content_type, "DeleteOptions")
    return decoded if isinstance(decoded, dict) else {}


def _delete(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    body = _delete_body(request)
    options = delete_options(request, body)
    write = told_delete(body, options, request.user)
    resource = target.resource
    if resource == KUBERNETES_JOBS and not options.propagation:
        write.warnings.append(_KEEPS_PODS)
    verb = store.verbs.delete(resource, target.namespace, target.name, options, write)
    last, gone = yield from verb
    if not gone or resource.full_name in _RETURNED_WHEN_DELETED:
        status = 202 if not gone and body.get("orphanDependents") is False else 200
        return with_warnings(look.of_record(status, last), write.warnings)
    details: JsonObject = {"name": target.name}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": last.uid}
    return with_warnings(look.status(200, success(details=details)), write.warnings)


def _delete_collection(store: Store, target: Target, look: Rendering) -> Answer:
    request = look.request
    body = _delete_body(request)
    options = delete_options(request, body)
    write = told_delete(body, options, request.user)
    page = store.list(target.resource, list_selection(store, target, request))
    for record in page.records:
        present = store.storage.get(record.resource, record.namespace, record.name)
        if present is not None and present.uid == record.uid:
            verb = store.verbs.delete(target.resource, record.namespace, record.name, options, write)
            yield from verb
    return with_warnings(look.of_page(page), write.warnings)
