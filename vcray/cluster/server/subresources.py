"""Subresources with rules of their own: binding and eviction of pods, scale, and what only a kubelet could answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.cluster.objects import placing, refusals
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.verbs import CONNECT
from vcray.cluster.objects.write import Write
from vcray.cluster.server.answers import success, text_answer
from vcray.cluster.server.bodies import read_body
from vcray.cluster.server.options import write_of
from vcray.cluster.server.paths import Target
from vcray.cluster.server.rendering import whole
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import Answer, Subresource, not_allowed, with_warnings
from vcray.cluster.server.scale import scale
from vcray.kube.errors import BadRequest

LogReader = Callable[[str, str, str, Mapping[str, str]], bytes | None]
"""The log of a container: namespace, pod, container, options of the query; None if there is none (yet)."""


def handlers(read_log: LogReader | None = None) -> dict[tuple[str, str], Subresource]:
    """By the resource's full name (empty for any) and the subresource."""
    found: dict[tuple[str, str], Subresource] = {
        ("pods", "binding"): _bind,
        ("bindings", ""): _bind,
        ("pods", "eviction"): _evict,
        ("", "scale"): scale,
        ("pods", "log"): lambda store, target, request: _log(store, target, request, read_log),
    }
    for name in ("exec", "attach", "portforward", "proxy"):
        found["pods", name] = _connect
    for plural in ("nodes", "services"):
        found[plural, "proxy"] = _connect
    return found


def _body_of(request: Request, kind: str) -> JsonObject:
    body = read_body(request.body, request.content_type, kind)
    if not isinstance(body, dict):
        raise BadRequest(f"the object provided is unrecognized (must be of type {kind})")
    return body


def _bind(store: Store, target: Target, request: Request) -> Answer:
    if request.method != "POST":
        raise not_allowed()
    write = write_of(request, "CreateOptions", "binding")
    body = _body_of(request, "Binding")
    name = target.name or dig_str(body, "metadata", "name")
    yield from placing.bind(store, target.namespace, name, body, write)
    return with_warnings(whole(request, target.kind, 201, success(201)), write.warnings)


def _evict(store: Store, target: Target, request: Request) -> Answer:
    if request.method != "POST":
        raise not_allowed()
    write = write_of(request, "CreateOptions", "eviction")
    yield from placing.evict(store, target.namespace, target.name, _body_of(request, "Eviction"), write)
    return with_warnings(whole(request, target.kind, 201, success(201)), write.warnings)


def _connect(store: Store, target: Target, request: Request) -> Answer:
    """Streams into a container or through a node: asked of admission as always, but there is nobody to connect to."""
    store.read(target.resource, target.namespace, target.name)
    options: JsonObject = {
        "apiVersion": "v1",
        "kind": f"{target.resource.kind}{_OPTIONS[target.subresource]}",
    }
    options |= dict(request.query)
    write = Write(subresource=target.subresource, user=request.user)
    review: Review = store.verbs.asked(
        CONNECT, target.resource, target.namespace, target.name, options, write
    )
    yield from store.verbs.mutated(review)
    yield from store.verbs.validated(review)
    what = f"{target.resource.plural}/{target.subresource}"
    raise BadRequest(f'"{what}" cannot be answered for "{target.name}": {refusals.SIMULATED}')


_OPTIONS = {
    "exec": "ExecOptions",
    "attach": "AttachOptions",
    "portforward": "PortForwardOptions",
    "proxy": "ProxyOptions",
}


def _log(store: Store, target: Target, request: Request, read_log: LogReader | None) -> Answer:
    if request.method != "GET":
        raise not_allowed()
    yield from ()
    pod = store.read(PODS, target.namespace, target.name).decode()
    names = [
        dig_str(each, "name")
        for group in ("initContainers", "containers", "ephemeralContainers")
        for each in dig_objects(pod, "spec", group)
    ]
    container = request.query.get("container", "")
    if not container:
        running = [dig_str(each, "name") for each in dig_objects(pod, "spec", "containers")]
        if len(names) > 1:
            raise BadRequest(
                f"a container name must be specified for pod {target.name}, choose one of: [{' '.join(names)}]"
            )
        container = running[0] if running else ""
    elif container not in names:
        raise BadRequest(f"container {container} is not valid for pod {target.name}")
    text = read_log(target.namespace, target.name, container, request.query) if read_log else None
    if text is None:
        why = f'container "{container}" in pod "{target.name}" is waiting to start: ContainerCreating'
        raise BadRequest(why if read_log else f"no log: {refusals.SIMULATED}")
    return text_answer(200, text.decode(errors="replace"))
