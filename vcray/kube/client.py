"""Typed verbs on a transport: what every part of vcray uses to read and write Kubernetes objects.

Objects are plain JSON here. Pods and nodes can be listed as raw bytes or as structs of `vcray.api.wire`, which skips
building the JSON. Every write says who made it through its field manager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from vcray.api import wire
from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.resources import PODS, Resource
from vcray.kube.backoff import Backoff, Jitter, Sleep
from vcray.kube.errors import Conflict, Gone, error_of
from vcray.kube.transport import JSON, Query, Transport

T = TypeVar("T")
Raw = msgspec.Raw

PAGE_SIZE = 500
MODIFY_ATTEMPTS = 8
THROTTLE_ATTEMPTS = 4
LONGEST_THROTTLE = 10.0


class PatchType(StrEnum):
    """How the body of a PATCH is to be read."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """What a delete does to the objects that the deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A whole list (all its pages) and the resource version to watch from."""

    items: list[T]
    resource_version: str


def _set(**values: str | int | None) -> dict[str, str]:
    return {key: str(value) for key, value in values.items() if value not in (None, "")}


class KubeClient:
    """Reads and writes objects of one API server.

    `namespace` is None for cluster-scoped resources, and in lists for all namespaces. Methods raise `ApiError`
    (see `vcray.kube.errors`) when the server refuses, `Unreachable` and `Unauthorized` when it cannot be used.
    """

    def __init__(
        self,
        transport: Transport,
        field_manager: str = "vcray",
        sleep: Sleep = asyncio.sleep,
        jitter: Jitter | None = None,
    ) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.sleep = sleep
        self.jitter = jitter
        self.reachable = True  # what the watches on this client last said about the server

    async def close(self) -> None:
        """Close the transport."""
        await self.transport.close()

    # -- reading ----------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: JsonValue = None,
        content_type: str = JSON,
    ) -> bytes:
        """Send one request and return the body of its 2xx answer. A throttled one waits as told and tries again."""
        data = None if body is None else msgspec.json.encode(body)
        response = await self.transport.request(method, path, query, data, content_type)
        for _ in range(THROTTLE_ATTEMPTS):
            if response.status != 429 or not response.headers.get("retry-after", "").isdigit():
                break
            await self.sleep(min(float(response.headers["retry-after"]), LONGEST_THROTTLE))
            response = await self.transport.request(method, path, query, data, content_type)
        if not response.ok:
            raise error_of(method, path, self.transport.address, response)
        return response.body

    async def version(self) -> JsonObject:
        """The server's version: the cheapest request that shows whether it is there."""
        return wire.decode_object(await self.request("GET", "/version"))

    async def get_raw(self, resource: Resource, namespace: str | None, name: str) -> bytes:
        """One object as the server sent it."""
        return await self.request("GET", resource.path(namespace, name))

    async def get(
        self, resource: Resource, namespace: str | None, name: str, subresource: str | None = None
    ) -> JsonObject:
        """One object."""
        return wire.decode_object(await self.request("GET", resource.path(namespace, name, subresource)))

    async def list_raw(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = PAGE_SIZE,
    ) -> Page[Raw]:
        """All objects, page by page, undecoded. A page token that expires makes the list start over, once whole."""
        query = _set(labelSelector=label_selector, fieldSelector=field_selector, limit=page_size or None)
        path = resource.path(namespace)
        items: list[Raw] = []
        while True:
            try:
                answer = wire.decode_list(await self.request("GET", path, query))
            except Gone:
                if "continue" not in query:
                    raise
                items = []
                query = {key: value for key, value in query.items() if key not in ("continue", "limit")}
                continue
            items += answer.items
            if not answer.metadata.continue_token:
                return Page(items, answer.metadata.resource_version)
            query = {**query, "continue": answer.metadata.continue_token}

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = PAGE_SIZE,
    ) -> Page[JsonObject]:
        """All objects. Each carries its apiVersion and kind, which list answers of built-in kinds leave out."""
        page = await self.list_raw(resource, namespace, label_selector, field_selector, page_size)
        head: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind}
        return Page([head | wire.decode_object(item) for item in page.items], page.resource_version)

    # -- writing ----------------------------------------------------------------------------------------------

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, dry_run: bool = False
    ) -> JsonObject:
        """Create an object (with `metadata.generateName` the server completes the name); returns it as stored."""
        query = _set(fieldManager=self.field_manager, dryRun="All" if dry_run else None)
        document = _typed(resource, body)
        return wire.decode_object(await self.request("POST", resource.path(namespace), query, document))

    async def update(
        self, resource: Resource, body: JsonObject, subresource: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        """Replace an object; with `metadata.resourceVersion` set it is refused (Conflict) if it changed since."""
        namespace, name = _names(body)
        query = _set(fieldManager=self.field_manager, dryRun="All" if dry_run else None)
        path = resource.path(namespace, name, subresource)
        return wire.decode_object(await self.request("PUT", path, query, _typed(resource, body)))

    async def update_status(self, resource: Resource, body: JsonObject) -> JsonObject:
        """Replace an object's status, nothing else."""
        return await self.update(resource, body, "status")

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: JsonValue,
        kind: PatchType = PatchType.MERGE,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Change an object by a patch: a JSON object, or for `PatchType.JSON` a list of operations."""
        query = _set(fieldManager=self.field_manager, dryRun="All" if dry_run else None)
        path = resource.path(namespace, name, subresource)
        return wire.decode_object(await self.request("PATCH", path, query, patch, kind))

    async def apply(
        self,
        resource: Resource,
        body: JsonObject,
        force: bool = False,
        subresource: str | None = None,
        field_manager: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Server-side apply: own exactly the fields in `body`. Conflict if another manager holds one, unless `force`."""
        namespace, name = _names(body)
        query = _set(
            fieldManager=field_manager or self.field_manager,
            force="true" if force else None,
            dryRun="All" if dry_run else None,
        )
        path = resource.path(namespace, name, subresource)
        document = _typed(resource, body)
        return wire.decode_object(await self.request("PATCH", path, query, document, PatchType.APPLY))

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> JsonObject:
        """Delete an object. With `uid` or `resource_version` only if it is still that one (else Conflict).

        Returns the server's answer: the object while it terminates, or a Status once it is gone."""
        body = delete_options(grace_seconds, propagation, uid, resource_version)
        answer = await self.request("DELETE", resource.path(namespace, name), None, body or None)
        return wire.decode_object(answer)

    async def bind(
        self,
        namespace: str,
        name: str,
        node: str,
        uid: str | None = None,
        annotations: dict[str, str] | None = None,
    ) -> None:
        """Assign a pod to a node. Conflict if it is bound already, or is not the pod with this `uid` any more."""
        metadata: JsonObject = {"name": name, "namespace": namespace}
        if uid:
            metadata["uid"] = uid
        if annotations:
            metadata["annotations"] = dict(annotations)
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.request("POST", PODS.path(namespace, name, "binding"), self._manager(), body)

    async def evict(
        self, namespace: str, name: str, grace_seconds: int | None = None, uid: str | None = None
    ) -> None:
        """Ask for a pod to go, honouring disruption budgets (TooManyRequests when one forbids it now)."""
        body: JsonObject = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        }
        options = delete_options(grace_seconds, None, uid)
        if options:
            body["deleteOptions"] = options
        await self.request("POST", PODS.path(namespace, name, "eviction"), None, body)

    async def modify(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        change: Callable[[JsonObject], JsonObject | None],
        subresource: str | None = None,
    ) -> JsonObject:
        """Read, change, write back; over again when somebody was faster, with jittered back-off.

        `change` gets a copy it may alter and returns the object to write, or None when nothing is to be done (the
        object is then returned as read). Raises the last Conflict after eight attempts.
        """
        backoff = Backoff(0.01, 1.0, jitter=self.jitter)
        for attempt in range(MODIFY_ATTEMPTS):
            raw = await self.get_raw(resource, namespace, name)
            wanted = change(wire.decode_object(raw))
            if wanted is None:
                return wire.decode_object(raw)
            try:
                return await self.update(resource, wanted, subresource)
            except Conflict:
                if attempt == MODIFY_ATTEMPTS - 1:
                    raise
            await self.sleep(backoff.following())
        raise AssertionError("unreachable")

    def _manager(self) -> dict[str, str]:
        return {"fieldManager": self.field_manager}


def delete_options(
    grace_seconds: int | None = None,
    propagation: Propagation | None = None,
    uid: str | None = None,
    resource_version: str | None = None,
) -> JsonObject:
    """The body of a delete; empty when nothing is asked for."""
    body: JsonObject = {}
    if grace_seconds is not None:
        body["gracePeriodSeconds"] = grace_seconds
    if propagation is not None:
        body["propagationPolicy"] = str(propagation)
    preconditions: JsonObject = {**_set(uid=uid, resourceVersion=resource_version)}
    if preconditions:
        body["preconditions"] = preconditions
    return {"apiVersion": "v1", "kind": "DeleteOptions", **body} if body else {}


def _typed(resource: Resource, body: JsonObject) -> JsonObject:
    """The object with the apiVersion and kind of its resource, which a caller may leave out."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def _names(body: JsonObject) -> tuple[str | None, str]:
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("the object has no metadata")
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("the object has no metadata.name")
    return (namespace if isinstance(namespace, str) and namespace else None), name
