"""What the scheduler has to say about objects that grow by themselves, for servers on which nobody serves its webhooks.

The same rule, on our side of the wire: a write of such an object is judged before it goes out, and goes out with the numbers for which
there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import jsonpatch
import msgspec

from vcray.actors.admission_view import Glance, Known
from vcray.actors.room_asking import AskRoom
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.patches import json_patch, merge
from vcray.errors import VcrayError
from vcray.integrations.growing import services
from vcray.integrations.known import built_in
from vcray.kube.client import PatchType
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport
from vcray.sim.requestpath import target_of
from vcray.webhooks.base import Patch, Request, Rules
from vcray.webhooks.services import Service

_RULES: Final = Rules()
_SERVICES: Final = {each.resource.path(): each for each in services(built_in())}


class GrowingTransport(PassingTransport):
    """A transport that has updates of such objects judged; `ask` asks the scheduler."""

    def __init__(self, transport: Transport, ask: AskRoom) -> None:
        super().__init__(transport)
        self._ask = ask

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        target = target_of(path) if method in ("PUT", "PATCH") and body is not None else None
        service = None if target is None or target.subresource else _SERVICES.get(target.collection)
        if service is not None and target is not None and body is not None:
            found = await self._transport.request("GET", path)
            if found.ok:
                old: JsonObject = msgspec.json.decode(found.body)
                written: JsonValue = msgspec.json.decode(body)
                new = _changed(old, written, content_type)
                patch = None if new is None else await self._judged(service, target.namespace, old, new)
                body = msgspec.json.encode(_with(written, patch)) if patch else body
        return await self._transport.request(method, path, query, body, content_type)

    async def _judged(
        self, service: Service, namespace: str, old: JsonObject, new: JsonObject
    ) -> Patch | None:
        places: Sequence[int | None] | None = None
        while True:
            glance = Glance(Known(lambda: 0.0), places)
            answer = service.admit(Request("UPDATE", namespace, "", new, old, glance, _RULES))
            if not glance.wanted or places is not None:
                return answer.patch
            places = await self._ask(glance.wanted)


def _changed(old: JsonObject, written: JsonValue, content_type: str) -> JsonObject | None:
    """The object that a write asks for; None where that cannot be told here."""
    try:
        match content_type:
            case PatchType.JSON:
                new = json_patch(old, written)
            case PatchType.MERGE:
                new = merge(old, written)
            case _:
                new = written if content_type == JSON else None
    except VcrayError:
        return None  # the server will say what is wrong with it
    return new if isinstance(new, dict) else None


def _with(written: JsonValue, patch: Patch) -> JsonValue:
    """The write with what admission adds: operations after others, or fields of an object."""
    if isinstance(written, list):
        return [*written, *patch]
    changed: JsonValue = jsonpatch.apply_patch(written, list(patch))
    return changed
