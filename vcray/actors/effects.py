"""Carries out the effects that controllers yield, and words every refusal as an outcome."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable

from vcray.actors.keys import MakeKeyPair, make_here
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.controllers.base import (
    Again,
    All,
    Create,
    Delete,
    Effect,
    Emit,
    Fetch,
    MakeKeys,
    Outcome,
    Patch,
    Read,
    Request,
    Update,
    UpdateStatus,
)
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient, PatchType, Propagation
from vcray.kube.errors import ApiError
from vcray.kube.events import EventRecorder, involved_of
from vcray.kube.fetching import fetch

_PATCHES = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}


class EffectRunner:
    """Turns effects into requests. `learned(resource, object, only_if_held)` is told of each write's answer, `made(resource,
    object)` of each Create's before, `again(after_s, request)` of each promise; `make_keys` has the dice."""

    def __init__(
        self,
        client: KubeClient,
        events: EventRecorder,
        learned: Callable[[Resource, JsonObject, bool], None],
        again: Callable[[float, Request], None],
        parallel: int = 50,
        make_keys: MakeKeyPair = make_here,
        made: Callable[[Resource, JsonObject], None] = lambda resource, obj: None,
    ) -> None:
        self._made = made
        self._client = client
        self._events = events
        self._learned = learned
        self._again = again
        self._slots = asyncio.Semaphore(parallel)
        self._make_keys = make_keys

    async def run(self, effect: Effect) -> Outcome:
        """Carry out one effect; never raises for a refusal."""
        if isinstance(effect, All):
            parts = await asyncio.gather(*(self.run(part) for part in effect.effects))
            return Outcome(ok=all(part.ok for part in parts), parts=tuple(parts))
        if isinstance(effect, Again):
            self._again(effect.after_s, effect.request)
            return Outcome()
        if isinstance(effect, MakeKeys):
            return Outcome(keys=await self._make_keys())
        async with self._slots:
            try:
                if isinstance(effect, Fetch):
                    return await _fetched(effect)
                return Outcome(object=await self._request(effect))
            except ApiError as error:
                return Outcome(False, None, error.code, error.reason, error.message)
            except VcrayError as error:
                return Outcome(False, None, 0, "Unreachable", str(error))

    async def _request(
        self, effect: Read | Create | Update | UpdateStatus | Patch | Delete | Emit
    ) -> JsonObject | None:
        client = self._client
        match effect:
            case Read(resource, namespace, name):
                return await client.get(resource, namespace or None, name)
            case Create(resource, body):
                answer = await client.create(resource, dig_str(body, "metadata", "namespace") or None, body)
                self._made(resource, answer)
            case Update(resource, body):
                answer = await client.update(resource, body)
            case UpdateStatus(resource, body):
                answer = await client.update_status(resource, body)
            case Patch():
                resource = effect.resource
                answer = await self._patch(effect)
            case Delete():
                propagation = Propagation(effect.propagation) if effect.propagation else None
                answer = await client.delete(
                    effect.resource,
                    effect.namespace or None,
                    effect.name,
                    grace_seconds=effect.grace_s,
                    propagation=propagation,
                    uid=effect.uid or None,
                )
                if answer.get("kind") != "Status":
                    self._learned(effect.resource, answer, True)
                return None
            case Emit():
                await self._emit(effect)
                return None
        self._learned(resource, answer, False)
        return answer

    async def _patch(self, effect: Patch) -> JsonObject:
        namespace, subresource = effect.namespace or None, effect.subresource or None
        if effect.kind == "apply":
            assert isinstance(effect.patch, dict)
            body: JsonObject = {**effect.patch}
            body["metadata"] = {
                **dig_object(body, "metadata"),
                "name": effect.name,
                **({"namespace": effect.namespace} if effect.namespace else {}),
            }
            return await self._client.apply(
                effect.resource, body, effect.force, subresource, effect.field_manager or None
            )
        return await self._client.patch(
            effect.resource, namespace, effect.name, effect.patch, _PATCHES[effect.kind], subresource
        )

    async def _emit(self, effect: Emit) -> None:
        head = {"apiVersion": effect.resource.api_version, "kind": effect.resource.kind}
        try:
            about = involved_of({**head, **effect.object})
            await self._events.record(about, effect.type, effect.reason, effect.message)
        except VcrayError:
            return  # an event is a courtesy: losing one changes nothing


async def _fetched(effect: Fetch) -> Outcome:
    """The page. Raises Unreachable."""
    headers: dict[str, str] = {}
    if effect.user:
        pair = f"{effect.user}:{effect.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    elif effect.token:
        headers["Authorization"] = f"Bearer {effect.token}"
    answer = await fetch(effect.url, headers, effect.verify, effect.timeout_s)
    message = "" if answer.status == 200 else f"{effect.url} answered with status {answer.status}"
    return Outcome(answer.status == 200, None, answer.status, message=message, body=answer.body)
