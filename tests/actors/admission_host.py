"""An admission actor on a cluster within the test's process, and a client that asks it as an API server would."""

from __future__ import annotations

import base64
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from vcray.actors.admission import AdmissionActor, AdmissionOptions
from vcray.actors.admission_registration import MUTATING
from vcray.actors.messages import ObjectChange, ObjectChanges, Synced
from vcray.actors.room_asking import AskRoom
from vcray.actors.runtime import Time
from vcray.actors.timekeeping import WallTime
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.integrations import growing
from vcray.integrations.known import built_in
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.metrics import Metrics
from vcray.webhooks.services import ALL_SERVICES


@dataclass
class Host:
    """The actor with its cluster."""

    actor: AdmissionActor
    client: KubeClient
    transport: InProcessTransport
    metrics: Metrics

    async def configuration(self, path: str, resource: Resource = MUTATING) -> JsonObject | None:
        """The registration of a webhook, None when there is none."""
        try:
            return await self.client.get(resource, None, "volcano-admission-service" + path.replace("/", "-"))
        except NotFound:
            return None

    async def see(self, resource: Resource, kind: str, obj: JsonObject) -> None:
        """Tell the actor of a change as a watch would."""
        await self.actor.receive(ObjectChanges(resource.full_name, (ObjectChange(kind, obj),)))

    async def synced(self) -> None:
        """Tell the actor that it knows everything, and wait until it is registered."""
        for resource in self.actor.watched:
            await self.actor.receive(Synced(resource.full_name))
        await self.actor.registered.wait()

    async def post(self, path: str, body: bytes, content_type: str = "application/json") -> tuple[int, bytes]:
        """Status and body of one request, over TLS trusting what is registered."""
        context = ssl.create_default_context(cadata=self.actor._credentials.bundle.decode())
        url = f"https://127.0.0.1:{self.actor.port}{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                url, data=io.BytesIO(body), headers={"Content-Type": content_type}, ssl=context
            ) as answer,
        ):
            return answer.status, await answer.read()

    async def review(self, path: str, operation: str, obj: JsonObject | None, **request: Any) -> JsonObject:
        """The `response` to a question about an object."""
        status, body = await self.post(path, question(path, operation, obj, **request))
        assert status == 200
        review = json.loads(body)
        assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
        response: JsonObject = review["response"]
        return response


def question(path: str, operation: str, obj: JsonObject | None, **request: Any) -> bytes:
    """An AdmissionReview about an object."""
    known = (*ALL_SERVICES, *growing.services(built_in()))
    resource = next(service.resource for service in known if service.path == path)
    asked = {
        "uid": "u-1",
        "resource": {
            "group": resource.group,
            "version": resource.version,
            "resource": resource.plural,
        },
        "operation": operation,
        "namespace": "default",
        "object": obj,
        **request,
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": asked}
    return json.dumps(review).encode()


def patch_of(response: JsonObject) -> Any:
    """The decoded JSON patch of a response."""
    text = response["patch"]
    assert isinstance(text, str)
    return json.loads(base64.b64decode(text))


@asynccontextmanager
async def admission_host(
    options: AdmissionOptions | None = None, time: Time | None = None, ask_room: AskRoom | None = None
) -> AsyncIterator[Host]:
    """A started actor that has heard nothing yet."""
    transport = InProcessTransport(Store())
    client, metrics = KubeClient(transport), Metrics()
    actor = AdmissionActor(
        client,
        replace(options or AdmissionOptions(), port=0, linger_s=0.0),
        time or WallTime(),
        metrics,
        ask_room,
    )
    await actor.start()
    try:
        yield Host(actor, client, transport, metrics)
    finally:
        await actor.stop()
        await transport.close()


def namespace(name: str, **annotations: str) -> JsonObject:
    """A namespace as a watch tells of it."""
    return {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": name, "uid": name, "resourceVersion": "9", "annotations": annotations},
    }
