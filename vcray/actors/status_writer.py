"""How decisions look on the wire: PodGroup status, pod conditions, events, queue usage.

Each write touches only the fields that the scheduler owns: a PodGroup (whose CRD has no status subresource) is changed by a
merge patch of `status` with the resourceVersion that was read, so its spec can never be wiped (volcano-sh/volcano#1725);
a queue's `status.allocated` is server-side applied under a field manager of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from vcray.actors.runtime import Time
from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import resource_list
from vcray.api.resources import NODESHARDS, PODGROUPS, PODS, QUEUES, Resource
from vcray.clock import rfc3339
from vcray.core.decisions import Bind, Decisions, Event, Evict, GroupUpdate, PodCondition, QueueUpdate
from vcray.core.nodeshards import NodeShard
from vcray.core.tables import PHASE_NAMES
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import Conflict, NotFound
from vcray.kube.events import EventRecorder, Involved
from vcray.log import get_logger

log = get_logger("binder")

T = TypeVar("T")

Statement: TypeAlias = tuple[str, ...]
"""Names what was to be written: a kind of statement and whom it is about."""

QUEUE_MANAGER = "vcray-scheduler"
"""Field manager of a queue's status.allocated."""

DOUBTS_S = 60.0
"""For so long after a start a pod is read before it is written: what an earlier process said is not said again."""

_KINDS: dict[str, Resource] = {"Pod": PODS, "PodGroup": PODGROUPS, "Queue": QUEUES}


class StatusWriter:
    """Writes what a round says, not what it does. A failed write is logged; who decides hears of it and says it again."""

    def __init__(self, client: KubeClient, events: EventRecorder, time: Time, scheduler_name: str) -> None:
        self._client = client
        self._events = events
        self._time = time
        self._scheduler = scheduler_name
        self._slots = asyncio.Semaphore(32)
        self._doubts_until = time.now() + DOUBTS_S

    async def write(self, decisions: Decisions, refused: Mapping[str, str]) -> tuple[Statement, ...]:
        """All statuses and events of a round; jobs with a refused binding keep their old status until the next one.

        Answers with what is still to be said: ("group", uid), ("pod", uid), ("queue", name), ("event", name)."""
        work: list[tuple[Statement, Awaitable[bool]]] = []
        left: list[Statement] = []
        for update in decisions.groups:
            about = ("group", update.uid)
            if update.job in refused:
                left.append(about)
            else:
                work.append((about, self._fenced(self._group, update)))
        for group in decisions.waiting:
            work += [(("pod", each.uid), self._fenced(self._waits, each)) for each in group.each()]
        work += [(("event", event.name), self._fenced(self._event, event)) for event in decisions.events]
        work += [(("queue", each.queue), self._fenced(self._queue, each)) for each in decisions.queues]
        done = await asyncio.gather(*(writing for _, writing in work))
        return (*left, *(about for (about, _), well in zip(work, done, strict=True) if not well))

    async def shards(self, shards: Iterable[NodeShard]) -> None:
        """The statuses of NodeShards."""
        await asyncio.gather(*(self._fenced(self._shard, shard) for shard in shards))

    async def assigned(self, bind: Bind) -> None:
        """The event of a binding that was done."""
        text = f"Successfully assigned {bind.task} to {bind.node}"
        await self._fenced(self._event, Event("Pod", bind.task, bind.uid, "Normal", "Scheduled", text))

    async def refused(self, bind: Bind, message: str) -> None:
        """The condition of a pod whose binding was refused."""
        text = f"failed to bind to node {bind.node}: {message}"
        await self._fenced(self._condition, PodCondition(bind.task, bind.uid, "SchedulerError", text))

    async def unprepared(self, bind: Bind, message: str) -> None:
        """The condition of a pod whose claims could not be made ready."""
        text = f"execute preBind for pod {bind.task} failed: {message}, resync the task"
        await self._fenced(self._condition, PodCondition(bind.task, bind.uid, "SchedulerError", text))

    async def evicted(self, evict: Evict) -> None:
        """The events of an eviction, on the pod and its PodGroup."""
        text = f"Pod is evicted, because of {evict.reason}"
        await self._fenced(self._event, Event("Pod", evict.task, evict.uid, "Warning", "Evict", text))
        if evict.job:
            await self._fenced(self._event, Event("PodGroup", evict.job, "", "Normal", "Evict", evict.reason))

    def eviction_conditions(self, evict: Evict) -> list[JsonValue]:
        """Conditions of a pod about to be deleted."""
        now = rfc3339(self._time.now())
        text = f"Pod is evicted, because of {evict.reason}"
        why = f"{self._scheduler}: preempting to accommodate a higher priority pod"
        return [
            _condition("Ready", "False", "Evict", text, now),
            _condition("DisruptionTarget", "True", "PreemptionByScheduler", why, now),
        ]

    async def _group(self, update: GroupUpdate) -> None:
        namespace, _, name = update.job.partition("/")
        status: JsonObject = {
            "phase": PHASE_NAMES[update.status.phase] or None,
            "running": update.status.running or None,
            "succeeded": update.status.succeeded or None,
            "failed": update.status.failed or None,
            "conditions": [
                {
                    "type": condition.type,
                    "status": condition.status,
                    "transitionID": condition.transition,
                    "lastTransitionTime": condition.since,
                    "reason": condition.reason,
                    "message": condition.message,
                }
                for condition in update.status.conditions
            ],
        }
        patch: JsonObject = {
            "metadata": {"uid": update.uid, "resourceVersion": update.resource_version},
            "status": status,
        }
        await self._client.patch(PODGROUPS, namespace, name, patch)

    async def _waits(self, condition: PodCondition) -> None:
        """The condition of a pod that waits, and the event that says the same; nothing when the pod says so already."""
        if self._time.now() < self._doubts_until and await self._says(condition):
            return
        about = Event("Pod", condition.task, condition.uid, "Warning", "FailedScheduling", condition.message)
        await asyncio.gather(self._condition(condition), self._event(about))

    async def _says(self, condition: PodCondition) -> bool:
        """Does the pod bear the condition? Asked after a start, when nobody remembers what was written before."""
        namespace, _, name = condition.task.partition("/")
        pod = await self._client.get(PODS, namespace, name)
        nominated = dig_str(pod, "status", "nominatedNodeName")
        return (not condition.nominated or condition.nominated == nominated) and any(
            dig_str(each, "type") == "PodScheduled"
            and dig_str(each, "status") == "False"
            and dig_str(each, "reason") == condition.reason
            and dig_str(each, "message") == condition.message
            for each in dig_list(pod, "status", "conditions")
        )

    async def _condition(self, condition: PodCondition) -> None:
        namespace, _, name = condition.task.partition("/")
        now = rfc3339(self._time.now())
        entry = _condition("PodScheduled", "False", condition.reason, condition.message, now)
        status: JsonObject = {"conditions": [entry]}
        if condition.nominated:
            status["nominatedNodeName"] = condition.nominated
        patch: JsonObject = {"metadata": {"uid": condition.uid}, "status": status}
        await self._client.patch(PODS, namespace, name, patch, PatchType.STRATEGIC, "status")

    async def _event(self, event: Event) -> None:
        namespace, _, name = event.name.rpartition("/")
        resource = _KINDS[event.kind]
        about = Involved(resource.api_version, resource.kind, namespace, name, event.uid)
        await self._events.record(about, event.type, event.reason, event.message)

    async def _queue(self, update: QueueUpdate) -> None:
        allocated: JsonObject = dict(resource_list(dict(update.allocated)))
        for name in ("cpu", "memory"):
            allocated.setdefault(name, "0")
        body: JsonObject = {"metadata": {"name": update.queue}, "status": {"allocated": allocated}}
        await self._client.apply(QUEUES, body, force=True, subresource="status", field_manager=QUEUE_MANAGER)

    async def _shard(self, shard: NodeShard) -> None:
        status: JsonObject = {
            "nodesInUse": list(shard.in_use),
            "nodesToAdd": list(shard.to_add),
            "nodesToRemove": list(shard.to_remove),
            "lastUpdateTime": rfc3339(self._time.now()),
        }
        patch: JsonObject = {"status": status}
        await self._client.patch(NODESHARDS, None, shard.name, patch, subresource="status")

    async def _fenced(self, write: Callable[[T], Awaitable[None]], what: T) -> bool:
        """Write once there is a slot; a stop before that leaves no coroutine behind that nobody awaits. False: try again.

        An object that changed meanwhile, or is gone, comes back as a watch event, and a round follows."""
        async with self._slots:
            try:
                await write(what)
            except (Conflict, NotFound) as error:
                log.debug("status left to the next round", why=str(error))
            except VcrayError as error:
                log.warning("status not written", why=str(error))
                return False
            return True


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> JsonObject:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
