"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from vcray.api import names
from vcray.api.jsonview import condition_of, dig_objects, dig_str, holds
from vcray.api.meta import JsonObject, to_json
from vcray.api.objects import KubeObject
from vcray.api.resources import ALL_RESOURCES, EVENTS, PODGROUPS, PODS, QUEUES, Resource
from vcray.client.queues import QueueInfo, queue_infos
from vcray.client.states import Outcome, State, outcome_of
from vcray.errors import InputError, Problem
from vcray.kube.auth import context_namespace, load
from vcray.kube.client import KubeClient, Propagation
from vcray.kube.errors import NotFound
from vcray.kube.watch import EventType, watch_objects

MANAGER: Final = "vcray-client"
_KNOWN: Final[Mapping[tuple[str, str], Resource]] = {
    (resource.api_version, resource.kind): resource for resource in ALL_RESOURCES
}


class Deadline(TimeoutError):
    """An object had not come as far as it was waited for; `last` is how far it had."""

    def __init__(self, submitted: Submitted, last: Outcome, seconds: float) -> None:
        super().__init__(f"{submitted} is {last.state} after {seconds:g} s")
        self.last = last


@dataclass(frozen=True, slots=True)
class Submitted:
    """An object that was handed in: enough to find it again."""

    resource: Resource
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


class AsyncClient:
    """One API server. Methods raise `vcray.errors.VcrayError`: an ApiError when the server refuses, a ServerError when it cannot
    be used. Use it as an asynchronous context manager, or `close` it."""

    def __init__(self, client: KubeClient, namespace: str = "default") -> None:
        self._client = client
        self.namespace = namespace

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        await self._client.close()

    # -- work -----------------------------------------------------------------------------------------------------------

    async def submit(
        self, work: JsonObject | KubeObject, *, queue: str = "", namespace: str = ""
    ) -> Submitted:
        """Create an object: a vcjob, a RayJob, a PyTorchJob, … `queue` is written where its kind has a place for it: `spec.queue`
        of a vcjob, an annotation of any other. InputError VC0202 for what is no object of a kind that the server has."""
        body = _body(work)
        resource = await self._resource(body)
        metadata = body.get("metadata")
        head = {**metadata} if isinstance(metadata, dict) else {}
        space = namespace or dig_str(head, "namespace") or self.namespace
        if queue:
            _send_to(body, head, queue)
        body["metadata"] = {**head, "namespace": space} if resource.namespaced else head
        made = await self._client.create(resource, space if resource.namespaced else None, body)
        name, uid = dig_str(made, "metadata", "name"), dig_str(made, "metadata", "uid")
        return Submitted(resource, space if resource.namespaced else "", name, uid)

    async def get(self, submitted: Submitted) -> JsonObject:
        """The object as it is now. NotFound when it is gone, or another has its name."""
        found = await self._client.get(submitted.resource, submitted.namespace or None, submitted.name)
        if dig_str(found, "metadata", "uid") != submitted.uid:
            raise NotFound(f"{submitted} is another object by now")
        return found

    async def outcome(self, submitted: Submitted) -> Outcome:
        """How far it has come; while it waits, the message says why, in the scheduler's words."""
        found = outcome_of(submitted.resource, await self.get(submitted))
        if found.state is State.WAITING and not found.message:
            return Outcome(found.state, found.phase, await self._why(submitted))
        return found

    async def wait(
        self, submitted: Submitted, until: State | None = None, timeout_s: float | None = None
    ) -> Outcome:
        """Wait until it has ended; with `until` RUNNING, until it runs or has ended. Deadline after `timeout_s` seconds,
        NotFound when the object goes away meanwhile."""
        last = Outcome(State.WAITING)
        try:
            async with asyncio.timeout(timeout_s), aclosing(self.follow(submitted)) as changes:
                async for last in changes:
                    if last.ended or last.state is until:
                        return last
        except TimeoutError:
            raise Deadline(submitted, last, timeout_s or 0.0) from None
        raise NotFound(f"{submitted} is gone")

    async def follow(self, submitted: Submitted) -> AsyncGenerator[Outcome, None]:
        """Each step that it takes, from now on; ends when the object goes away."""
        await self.get(submitted)
        watch = watch_objects(
            self._client,
            submitted.resource,
            namespace=submitted.namespace or None,
            field_selector=f"metadata.name={submitted.name}",
        )
        last: Outcome | None = None
        async with aclosing(watch.events()) as events:
            async for event in events:
                if event.object is None or dig_str(event.object, "metadata", "uid") != submitted.uid:
                    continue
                if event.type is EventType.DELETED:
                    return
                now = outcome_of(submitted.resource, event.object)
                if now != last:
                    last = now
                    yield now

    async def delete(self, submitted: Submitted) -> None:
        """Delete it and what it owns; nothing happens when it is gone already."""
        try:
            await self._client.delete(
                submitted.resource,
                submitted.namespace or None,
                submitted.name,
                propagation=Propagation.BACKGROUND,
                uid=submitted.uid,
            )
        except NotFound:
            return

    async def pods(self, submitted: Submitted) -> list[JsonObject]:
        """The pods of its groups."""
        groups = {dig_str(each, "metadata", "name") for each in await self._groups(submitted)}
        found = (await self._client.list(PODS, submitted.namespace)).items
        return [
            each for each in found if dig_str(each, "metadata", "annotations", names.GROUP_NAME) in groups
        ]

    # -- queues ---------------------------------------------------------------------------------------------------------

    async def queues(self) -> list[QueueInfo]:
        """All queues by name."""
        return await self._infos((await self._client.list(QUEUES)).items)

    async def queue(self, name: str) -> QueueInfo:
        """One queue. NotFound when there is none."""
        return (await self._infos([await self._client.get(QUEUES, None, name)]))[0]

    async def _infos(self, queues: list[JsonObject]) -> list[QueueInfo]:
        return queue_infos(queues, (await self._client.list(PODGROUPS)).items)

    # -- parts ----------------------------------------------------------------------------------------------------------

    async def _resource(self, body: JsonObject) -> Resource:
        version, kind = dig_str(body, "apiVersion"), dig_str(body, "kind")
        if not version or not kind:
            raise InputError(Problem("VC0202", "", "apiVersion and kind must be given"))
        known = _KNOWN.get((version, kind))
        return known if known is not None else await self._discovered(version, kind)

    async def _discovered(self, version: str, kind: str) -> Resource:
        from vcray.api.wire import decode_object

        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            served = decode_object(await self._client.request("GET", path))
        except NotFound:
            served = {}
        for each in dig_objects(served, "resources"):
            if each.get("kind") == kind and "/" not in dig_str(each, "name"):
                group, _, bare = version.rpartition("/")
                return Resource(group, bare, kind, dig_str(each, "name"), each.get("namespaced") is True)
        raise InputError(Problem("VC0202", f"{version} {kind}", "the server has no such kind"))

    async def _groups(self, submitted: Submitted) -> list[JsonObject]:
        groups = (await self._client.list(PODGROUPS, submitted.namespace)).items
        return [
            each
            for each in groups
            if any(
                owner.get("uid") == submitted.uid
                for owner in dig_objects(each, "metadata", "ownerReferences")
            )
        ]

    async def _why(self, submitted: Submitted) -> str:
        """What the scheduler says of its groups: a condition, or an event while a group waits to be let in."""
        groups = await self._groups(submitted)
        for group in groups:
            if holds(group, "Unschedulable"):
                return dig_str(condition_of(group, "Unschedulable"), "message")
        for group in groups:
            about = f"involvedObject.uid={dig_str(group, 'metadata', 'uid')}"
            told = (await self._client.list(EVENTS, submitted.namespace, field_selector=about)).items
            said = [each for each in told if dig_str(each, "reason") == "Unschedulable"]
            if said:
                return dig_str(max(said, key=lambda each: dig_str(each, "lastTimestamp")), "message")
        return ""


def _body(work: JsonObject | KubeObject) -> JsonObject:
    if not isinstance(work, KubeObject):
        return {**work}
    resource = work.resource
    return {**to_json(work), "apiVersion": resource.api_version, "kind": resource.kind}


def _send_to(body: JsonObject, head: JsonObject, queue: str) -> None:
    if dig_str(body, "apiVersion").startswith(names.BATCH_GROUP):
        spec = body.get("spec")
        body["spec"] = {**(spec if isinstance(spec, dict) else {}), "queue": queue}
        return
    annotations = head.get("annotations")
    head["annotations"] = {
        **(annotations if isinstance(annotations, dict) else {}),
        names.POD_QUEUE_NAME: queue,
    }


@asynccontextmanager
async def connect_async(
    kubeconfig: Path | None = None, context: str | None = None, namespace: str = ""
) -> AsyncIterator[AsyncClient]:
    """A client of the cluster that the kubeconfig names: that given, those in KUBECONFIG, ~/.kube/config, or the pod's service
    account. `namespace` is that of objects which name none, by default the context's. ServerError VC0403."""
    transport = await load(kubeconfig, context)
    async with AsyncClient(
        KubeClient(transport, MANAGER), namespace or context_namespace(kubeconfig, context)
    ) as client:
        yield client
