"""Carries out decisions: binds, evicts, writes statuses and events. It never chooses a node.

A job's bindings go out only while its PodGroup still says what the decision was made on: the group is read afresh
first, since its watch event may be late (volcano-sh/volcano#6010). Each binding carries the pod's uid, so that it is done
at most once, and its outcome goes back to the coordinator. Statuses are written last; a PodGroup that changed in between is
left to the next round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from vcray.actors.messages import Execute, Executed, GangLimits, Message, Outcome
from vcray.actors.prebind import PreBind
from vcray.actors.prebind_commits import PreparedCommits
from vcray.actors.runtime import Time
from vcray.actors.status_writer import StatusWriter
from vcray.actors.underway import UnderWay
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.minimum import min_member
from vcray.api.names import QUEUE_ALLOCATION_GATE
from vcray.api.resources import PODGROUPS, PODS
from vcray.core.decisions import Bind, Commit, Evict, Lift
from vcray.errors import VcrayError
from vcray.kube.backoff import Backoff
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import ApiError, Conflict, NotFound, TooManyRequests
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("binder")

T = TypeVar("T")

ATTEMPTS = 6
"""Tries of one write while the server cannot be reached or says it is busy: with back-off about 12 s in all."""


class Binder:
    """The only writer of bindings and evictions. `parallel` bounds the requests under way at once, `lifting` those that
    remove scheduling gates."""

    def __init__(
        self,
        client: KubeClient,
        writer: StatusWriter,
        time: Time,
        metrics: Metrics,
        parallel: int = 32,
        lifting: int = 5,
    ) -> None:
        self._client = client
        self._writer = writer
        self._time = time
        self._metrics = metrics
        self._slots = asyncio.Semaphore(parallel)
        self._lifting = asyncio.Semaphore(lifting)
        self._prepared = PreparedCommits(PreBind(client, time, self._retried), writer, self._bind)
        self._created: dict[str, int] = {}
        self._under_way = UnderWay()

    async def start(self) -> None:
        """Nothing to prepare."""

    async def stop(self) -> None:
        """Wait for the requests that are under way: whoever decides next must find their result in the API server."""
        await self._under_way.finish()

    async def receive(self, message: Message) -> Message | None:
        if not isinstance(message, Execute):
            raise TypeError(type(message).__name__)
        decisions = message.decisions
        self._created |= message.created
        limits = {limit.job: limit for limit in message.limits}
        outcomes = await self._all(
            self._commit(commit, limits.get(commit.job), message) for commit in decisions.commits
        )
        evictions = await self._all(self._evict(evict) for evict in decisions.evictions)
        await asyncio.gather(*(self._lift(lift) for lift in decisions.lifts))
        refused = {
            outcome.job: outcome.message
            for each in outcomes
            for outcome in each
            if outcome.result == "refused"
        }
        for each in outcomes:
            for outcome in each:
                if outcome.result != "waiting":
                    self._created.pop(outcome.uid, None)
        unwritten = await self._writer.write(decisions, refused)
        await self._writer.shards(message.shards)
        return Executed(
            decisions.generation,
            tuple(outcome for each in outcomes for outcome in each),
            tuple(outcome for each in evictions for outcome in each),
            unwritten,
        )

    async def _all(self, work: Iterable[Awaitable[tuple[Outcome, ...]]]) -> list[tuple[Outcome, ...]]:
        return list(await asyncio.gather(*work))

    async def _commit(self, commit: Commit, limits: GangLimits | None, order: Execute) -> tuple[Outcome, ...]:
        stale = await self._stale(limits) if limits is not None else ""
        if stale:
            log.info("decision is out of date", job=commit.job, why=stale)
            if order.later:
                await self._prepared.take_back(commit)
            return tuple(Outcome(commit.job, bind.task, bind.uid, "stale", stale) for bind in commit.binds)
        if any(bind.before is not None for bind in commit.binds):
            return await self._prepared.carry_out(commit, order.later, order.last)
        return tuple(await asyncio.gather(*(self._bind(commit.job, bind) for bind in commit.binds)))

    async def _stale(self, limits: GangLimits) -> str:
        """Why the PodGroup is no longer the one that the decision was made on; empty when it is."""
        namespace, _, name = limits.job.partition("/")
        try:
            group = await self._retried(lambda: self._client.get(PODGROUPS, namespace, name))
        except NotFound:
            return "its PodGroup is gone"
        except VcrayError as error:
            return f"its PodGroup cannot be read: {error}"
        spec = dig_object(group, "spec")
        if min_member(group) != limits.min_member:
            return f"its minMember is {min_member(group)} now, was {limits.min_member}"
        if (spec.get("minTaskMember") or {}) != limits.min_task_member:
            return "its minTaskMember changed"
        return ""

    async def _bind(self, job: str, bind: Bind) -> Outcome:
        namespace, _, name = bind.task.partition("/")
        created = self._created.pop(bind.uid, None)
        try:
            started = self._time.now()
            self._reached("PreBound", created)
            await self._retried(
                lambda: self._client.bind(namespace, name, bind.node, bind.uid, dict(bind.notes))
            )
            outcome = Outcome(job, bind.task, bind.uid, "bound")
        except NotFound:
            outcome = Outcome(job, bind.task, bind.uid, "gone")
        except Conflict as error:
            outcome = await self._after_conflict(job, bind, str(error.message))
        except VcrayError as error:
            outcome = Outcome(job, bind.task, bind.uid, "refused", str(error))
        self._metrics.bindings.labels(result=outcome.result).inc()
        if outcome.result == "bound":
            self._reached("Bound", created)
            self._metrics.stage_duration.labels("Bind").observe((self._time.now() - started) * 1000)
            await self._writer.assigned(bind)
        elif outcome.result == "refused":
            log.warning("binding refused", pod=bind.task, node=bind.node, message=outcome.message)
            await self._writer.refused(bind, outcome.message)
        return outcome

    def _reached(self, stage: str, created: int | None) -> None:
        """Take the age of a pod at a stage of its scheduling."""
        if created is not None:
            self._metrics.task_latency.labels(stage).observe(max(0.0, self._time.now() - created) * 1000)

    async def _after_conflict(self, job: str, bind: Bind, message: str) -> Outcome:
        """A conflict means bound already, perhaps by our own earlier try, or another pod of that name."""
        namespace, _, name = bind.task.partition("/")
        try:
            pod = await self._retried(lambda: self._client.get(PODS, namespace, name))
        except NotFound:
            return Outcome(job, bind.task, bind.uid, "gone")
        except VcrayError as error:
            return Outcome(job, bind.task, bind.uid, "refused", str(error))
        if dig_str(pod, "metadata", "uid") != bind.uid:
            return Outcome(job, bind.task, bind.uid, "gone")
        if dig_str(pod, "spec", "nodeName") == bind.node:
            return Outcome(job, bind.task, bind.uid, "bound")
        return Outcome(job, bind.task, bind.uid, "refused", message)

    async def _evict(self, evict: Evict) -> tuple[Outcome, ...]:
        """Event, conditions, then the delete, as Volcano does; a pod that is gone needs nothing more."""
        namespace, _, name = evict.task.partition("/")
        conditions = self._writer.eviction_conditions(evict)
        try:
            await self._writer.evicted(evict)
            await self._retried(
                lambda: self._client.patch(
                    PODS,
                    namespace,
                    name,
                    {"metadata": {"uid": evict.uid}, "status": {"conditions": conditions}},
                    PatchType.STRATEGIC,
                    "status",
                )
            )
            await self._retried(lambda: self._client.delete(PODS, namespace, name, uid=evict.uid))
        except (NotFound, Conflict):
            return (Outcome(evict.job, evict.task, evict.uid, "gone"),)
        except VcrayError as error:
            log.warning("eviction refused", pod=evict.task, message=str(error))
            return (Outcome(evict.job, evict.task, evict.uid, "refused", str(error)),)
        return (Outcome(evict.job, evict.task, evict.uid, "evicted"),)

    async def _lift(self, lift: Lift) -> None:
        """Remove the gate of queue admission; left to a later round when it cannot be."""
        namespace, _, name = lift.task.partition("/")
        gate: JsonObject = {"name": QUEUE_ALLOCATION_GATE, "$patch": "delete"}
        patch: JsonObject = {"metadata": {"uid": lift.uid}, "spec": {"schedulingGates": [gate]}}
        async with self._lifting:
            for last in (False, False, True):
                try:
                    await self._retried(
                        lambda: self._client.patch(PODS, namespace, name, patch, PatchType.STRATEGIC)
                    )
                except Conflict as error:  # somebody wrote the pod at the same moment, or it is another
                    if last:
                        log.debug("gate left to a later round", pod=lift.task, why=str(error))
                except NotFound:
                    return
                except VcrayError as error:
                    log.warning("gate not removed", pod=lift.task, why=str(error))
                    return
                else:
                    return

    async def _retried(self, call: Callable[[], Awaitable[T]]) -> T:
        backoff = Backoff(0.2, 5.0)
        for attempt in range(ATTEMPTS):
            try:
                async with self._slots:
                    return await self._under_way.to_its_end(call())
            except ApiError as error:
                if attempt == ATTEMPTS - 1 or not (isinstance(error, TooManyRequests) or error.code >= 500):
                    raise
            except VcrayError:
                if attempt == ATTEMPTS - 1:
                    raise
            await self._time.sleep(backoff.following())
        raise AssertionError("unreachable")
