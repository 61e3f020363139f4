"""Subresources with rules of their own: binding and eviction of pods."""

from __future__ import annotations

from vcray.cluster.objects import placing
from vcray.cluster.objects.record import dig, text
from vcray.cluster.objects.store import Store
from vcray.cluster.server.answers import json_answer, success
from vcray.cluster.server.bodies import read_body
from vcray.cluster.server.options import write_of
from vcray.cluster.server.paths import Target
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import Answer, Subresource, not_allowed
from vcray.kube.errors import BadRequest


def _bind(store: Store, target: Target, request: Request) -> Answer:
    if request.method != "POST":
        raise not_allowed()
    write = write_of(request, "CreateOptions", "binding")
    body = read_body(request.body, request.content_type, "Binding")
    if not isinstance(body, dict):
        raise BadRequest("the object provided is unrecognized (must be of type Binding)")
    name = target.name or text(dig(body, "metadata", "name"))
    yield from placing.bind(store, target.namespace, name, body, write)
    return json_answer(request, 201, success(201))


def _evict(store: Store, target: Target, request: Request) -> Answer:
    if request.method != "POST":
        raise not_allowed()
    write = write_of(request, "CreateOptions", "eviction")
    body = read_body(request.body, request.content_type, "Eviction")
    if not isinstance(body, dict):
        raise BadRequest("the object provided is unrecognized (must be of type Eviction)")
    yield from placing.evict(store, target.namespace, target.name, body, write)
    return json_answer(request, 201, success(201))


SUBRESOURCES: dict[tuple[str, str], Subresource] = {
    ("pods", "binding"): _bind,
    ("bindings", ""): _bind,
    ("pods", "eviction"): _evict,
}
"""By the resource's full name and the subresource."""
