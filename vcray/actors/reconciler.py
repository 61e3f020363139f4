"""The controller host: mirrors what its controllers watch, queues their requests, drives their generators.

Requests with one key are handled one after the other, different keys side by side. A turn that fails comes back after
5 ms * 2^n; a controller that gave up says what happens then. A request has one retry at a time: the earliest of those that
were due, which a success takes back. Nothing is reconciled before every mirror is full.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass

from vcray.actors.controllerseries import ControllerSeries
from vcray.actors.effects import EffectRunner
from vcray.actors.keys import MakeKeyPair, make_here
from vcray.actors.messages import Message, ObjectChanges, Synced
from vcray.actors.objects import ObjectMirrors, place_of
from vcray.actors.runtime import Time
from vcray.actors.underway import UnderWay
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, Resource
from vcray.controllers.base import Change, Controller, Effects, Outcome, ReconcileError, Request, Seen
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("controllers")

FIRST_DELAY_S = 0.005
LONGEST_DELAY_S = 1000.0
LONGEST_UNCOUNTED_S = 30.0


class ControllerHost:
    """One actor for all controllers. `workers` bounds the requests handled at once, `make_keys` answers MakeKeys.

    `only`: resources of which these objects alone are watched, by namespace and name, each by a watch of its own; answers of
    writes to others of them are not mirrored, since nobody would tell of their end. `keeps`: of these resources only objects that
    pass the test are mirrored. `counts`: the controllers' series are kept here."""

    def __init__(
        self,
        controllers: Sequence[Controller],
        client: KubeClient,
        events: EventRecorder,
        time: Time,
        metrics: Metrics,
        workers: int = 16,
        make_keys: MakeKeyPair = make_here,
        only: Mapping[Resource, Collection[tuple[str, str]]] | None = None,
        keeps: Mapping[Resource, Callable[[JsonObject], bool]] | None = None,
        counts: bool = True,
    ) -> None:
        self._only = dict(only or {})
        self._keeps = dict(keeps or {})
        self._controllers = tuple(controllers)
        self._watched = tuple({resource: None for each in controllers for resource in each.watches})
        self._by_name: dict[str, list[Resource]] = {}
        for each in self._watched:
            self._by_name.setdefault(each.full_name, []).append(each)
        self._mirrors = ObjectMirrors(self._watched)
        self._time = time
        self._metrics = metrics
        self._series = ControllerSeries(metrics) if counts else None
        self._workers = workers
        self._make_keys = make_keys
        self._events = events
        self._client = client
        self._unsynced = Counter[str]()
        for each in self._watched:
            self._unsynced[each.full_name] += len(self._only.get(each, ("",)))
        self._unsynced = +self._unsynced
        self._full = asyncio.Event()
        if not self._unsynced:
            self._full.set()
        self._queue = _Queue()
        self._tries: dict[tuple[str, Request], _Tries] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way = UnderWay()
        self._wake = asyncio.Event()

    @property
    def watched(self) -> tuple[Resource, ...]:
        """All resources that some controller watches."""
        return self._watched

    @property
    def seen(self) -> Seen:
        """All mirrors, for work beside the controllers in this process."""
        return self._mirrors

    async def wait_full(self) -> None:
        """Until every mirror is full."""
        await self._full.wait()

    async def start(self) -> None:
        for index in range(self._workers):
            self._spawn(self._work(), f"controller worker {index}")

    async def stop(self) -> None:
        """Begin nothing more; a write that is under way is waited for."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._under_way.finish()

    async def receive(self, message: Message) -> Message | None:
        match message:
            case ObjectChanges(resource=name, changes=changes):
                for each in changes:
                    resource = self._resource(name, each.object)
                    gone = each.type == "DELETED" or not self._wants(resource, each.object)
                    take = self._mirrors.remove if gone else self._mirrors.put
                    self._note(take(resource, each.object))
            case Synced(resource=name):
                self._unsynced.subtract([name])
                self._unsynced = +self._unsynced
                if not self._unsynced:
                    self._full.set()
                self._wake.set()
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _resource(self, name: str, obj: JsonObject) -> Resource:
        """The resource of that name; of several versions of it, the object's."""
        found = self._by_name[name]
        version = obj.get("apiVersion")
        return next((each for each in found if each.api_version == version), found[0])

    def _wants(self, resource: Resource, obj: JsonObject) -> bool:
        keeps = self._keeps.get(resource)
        return keeps is None or keeps(obj)

    def _note(self, change: Change | None) -> None:
        if change is None:
            return
        if self._series is not None:
            self._series.follow(change)
        for controller in self._controllers:
            if change.resource in controller.watches:
                for request in controller.requests(change, self._mirrors):
                    self._queue.add(controller, request)
        self._wake.set()

    def _learned(self, resource: Resource, obj: JsonObject, only_if_held: bool) -> None:
        if not self._mirrors.mirrors(resource) or not self._wants(resource, obj):
            return
        if resource not in self._only or place_of(obj) in self._only[resource]:
            self._note(self._mirrors.put(resource, obj, only_if_held))

    def _made(self, resource: Resource, obj: JsonObject) -> None:
        if self._series is not None and self._mirrors.mirrors(JOBS):
            self._series.made(resource, obj, self._mirrors)

    async def _work(self) -> None:
        while True:
            item = None if self._unsynced else self._queue.take()
            if item is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            controller, request = item
            try:
                await self._turn(controller, request)
            finally:
                self._queue.done(controller, request)
                self._wake.set()

    async def _turn(self, controller: Controller, request: Request) -> None:
        name = controller.name
        try:
            await self._drive(controller, controller.reconcile(request, self._mirrors, self._time.now()))
        except ReconcileError as error:
            await self._failed(controller, request, error)
        except Exception:  # the fence: a fault in one controller must not stop the others
            log.exception("reconcile crashed", controller=name, request=request)
            await self._failed(controller, request, ReconcileError("internal error"))
        else:
            tries = self._tries.pop((name, request), None)
            if tries is not None:
                tries.take_back()
            self._metrics.reconciles.labels(controller=name, result="ok").inc()

    async def _failed(self, controller: Controller, request: Request, error: ReconcileError) -> None:
        key = (controller.name, request)
        tries = self._tries.setdefault(key, _Tries())
        count = tries.counted if error.counts else tries.uncounted
        log.info(
            "reconcile failed", controller=controller.name, request=request, why=str(error), tries=count + 1
        )
        if error.counts and 0 <= controller.max_requeue <= count:
            tries.take_back()
            if controller.starts_anew:
                del self._tries[key]
            self._metrics.reconciles.labels(controller=controller.name, result="gave_up").inc()
            try:
                await self._drive(controller, controller.gave_up(request, self._mirrors, self._time.now()))
            except ReconcileError as last:
                log.warning("gave up", controller=controller.name, request=request, why=str(last))
            except Exception:  # the fence, as in a turn: what crashed it may well crash this
                log.exception("giving up crashed", controller=controller.name, request=request)
            return
        tries.count(error.counts)
        self._metrics.reconciles.labels(controller=controller.name, result="retried").inc()
        longest = LONGEST_DELAY_S if error.counts else LONGEST_UNCOUNTED_S
        after_s = min(longest, FIRST_DELAY_S * 2 ** min(count, 30))
        due = self._time.now() + after_s
        if tries.waits_no_longer_than(due):
            return
        tries.take_back()
        tries.retry, tries.due = self._later(controller, after_s, request), due

    async def _drive(self, controller: Controller, effects: Effects) -> None:
        runner = EffectRunner(
            self._client,
            self._events,
            self._learned,
            lambda after_s, request: self._again(controller, after_s, request),
            make_keys=self._make_keys,
            made=self._made,
        )
        outcome: Outcome | None = None
        with contextlib.closing(effects):
            try:
                effect = next(effects)
                while True:
                    outcome = await self._under_way.to_its_end(runner.run(effect))
                    effect = effects.send(outcome)
            except StopIteration:
                return

    def _again(self, controller: Controller, after_s: float, request: Request) -> None:
        if after_s > 0:
            self._later(controller, after_s, request)
        else:
            self._queue.add(controller, request)
            self._wake.set()

    def _later(self, controller: Controller, after_s: float, request: Request) -> asyncio.Task[None]:
        async def wait() -> None:
            await self._time.sleep(after_s)
            self._queue.add(controller, request)
            self._wake.set()

        return self._spawn(wait(), f"{controller.name} timer")

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


@dataclass(slots=True)
class _Tries:
    """How often a request failed, and its retry: the timer and when it is due."""

    counted: int = 0
    uncounted: int = 0
    retry: asyncio.Task[None] | None = None
    due: float = 0.0

    def count(self, counts: bool) -> None:
        self.counted += counts
        self.uncounted += not counts

    def waits_no_longer_than(self, due: float) -> bool:
        return self.retry is not None and not self.retry.done() and self.due <= due

    def take_back(self) -> None:
        if self.retry is not None:
            self.retry.cancel()
            self.retry = None


class _Queue:
    """Requests by controller and key, equal ones once; a key being handled waits."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], dict[Request, None]] = {}
        self._ready: deque[tuple[Controller, str]] = deque()
        self._busy: set[tuple[str, str]] = set()

    def add(self, controller: Controller, request: Request) -> None:
        key = (controller.name, request.key)
        waiting = self._waiting.setdefault(key, {})
        if not waiting and key not in self._busy:
            self._ready.append((controller, request.key))
        waiting.setdefault(request)

    def take(self) -> tuple[Controller, Request] | None:
        if not self._ready:
            return None
        controller, name = self._ready.popleft()
        key = (controller.name, name)
        request = next(iter(self._waiting[key]))
        del self._waiting[key][request]
        self._busy.add(key)
        return controller, request

    def done(self, controller: Controller, request: Request) -> None:
        key = (controller.name, request.key)
        self._busy.discard(key)
        if self._waiting.get(key):
            self._ready.append((controller, request.key))
        else:
            self._waiting.pop(key, None)
