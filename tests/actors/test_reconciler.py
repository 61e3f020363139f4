"""The controller host: serial by key, patient with failures, true to its promises; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from vcray.actors.messages import ObjectChange, ObjectChanges, Round, Synced
from vcray.actors.reconciler import ControllerHost
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, EVENTS, QUEUES, SERVICES, Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers.base import (
    Again,
    All,
    Change,
    Create,
    Delete,
    Effects,
    Emit,
    Outcome,
    Patch,
    Read,
    ReconcileError,
    Request,
    Seen,
)
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder
from vcray.kube.transport import Response
from vcray.metrics import Metrics


@dataclass(frozen=True)
class Ask:
    """A request of tests: `part` tells requests of one key apart."""

    name: str
    part: str = ""

    @property
    def key(self) -> str:
        return self.name


Work = Callable[[Ask, Seen], Effects]


class Scripted:
    """A controller whose reconciler is a function of the test; each ConfigMap that changes asks for its name."""

    name: ClassVar[str] = "scripted"
    watches: ClassVar[tuple[Resource, ...]] = (CONFIGMAPS,)

    def __init__(self, work: Work, max_requeue: int = 3, starts_anew: bool = True) -> None:
        self.max_requeue = max_requeue
        self.starts_anew = starts_anew
        self._work = work
        self.changes: list[Change] = []
        self.given_up: list[Request] = []

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        self.changes.append(change)
        metadata = change.object["metadata"]
        assert isinstance(metadata, dict)
        yield Ask(str(metadata["name"]))

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        assert isinstance(request, Ask)
        return self._work(request, seen)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        self.given_up.append(request)
        yield from ()


class Bench:
    """A host on a store; what the store is told, the host only hears when a test says so."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.start_time = self.time.now()
        self.store = Store(clock=self.time)
        self.client = KubeClient(InProcessTransport(self.store), "host", sleep=self.time.sleep)
        self.metrics = Metrics()
        self.host: ControllerHost

    async def start(self, *controllers: Scripted, synced: bool = True, workers: int = 16) -> None:
        events = EventRecorder(self.client, "tests", self.time)
        self.host = ControllerHost(controllers, self.client, events, self.time, self.metrics, workers)
        await self.host.start()
        if synced:
            await self.host.receive(Synced(CONFIGMAPS.full_name))

    async def hear(self, *names: str, version: int = 1, kind: str = "ADDED") -> None:
        objects = tuple(ObjectChange(kind, config_map(name, version)) for name in names)
        await self.host.receive(ObjectChanges(CONFIGMAPS.full_name, objects))

    async def rest(self) -> None:
        for _ in range(60):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        await self.rest()
        await self.time.advance(seconds, self.rest)

    def at(self) -> float:
        return round(self.time.now() - self.start_time, 3)

    def counted(self, result: str) -> float:
        labels = {"controller": "scripted", "result": result}
        return self.metrics.registry.get_sample_value("vcray_reconciles_total", labels) or 0.0


def config_map(name: str, version: int = 0, uid: str = "") -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default"}
    if version:
        metadata |= {"resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.host.stop()


async def test_requests_of_one_key_are_handled_one_after_the_other_and_in_order(bench: Bench) -> None:
    log: list[str] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        if not ask.part:
            yield All((Again(0, Ask(ask.name, "first")), Again(0, Ask(ask.name, "second"))))
            return
        log.append(f"{ask.part} begins")
        yield Read(CONFIGMAPS, "default", "nothing")
        yield Read(CONFIGMAPS, "default", "nothing")
        log.append(f"{ask.part} ends")

    await bench.start(Scripted(work))
    await bench.hear("a")
    await bench.rest()

    assert log == ["first begins", "first ends", "second begins", "second ends"]


async def test_different_keys_are_handled_side_by_side(bench: Bench) -> None:
    inside: set[str] = set()
    most = 0

    def work(ask: Ask, seen: Seen) -> Effects:
        nonlocal most
        inside.add(ask.name)
        most = max(most, len(inside))
        yield All((Read(CONFIGMAPS, "default", "x"), Read(CONFIGMAPS, "default", "y")))
        inside.discard(ask.name)

    await bench.start(Scripted(work), workers=3)
    await bench.hear(*"abcdefgh")
    await bench.rest()

    assert (most, bench.counted("ok")) == (3, 8)


async def test_equal_requests_that_wait_are_handled_once(bench: Bench) -> None:
    handled: list[str] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        handled.append(ask.name)
        yield from ()

    await bench.start(Scripted(work), synced=False)
    for version in range(1, 6):
        await bench.hear("a", version=version)
    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.rest()

    assert handled == ["a"]


async def test_a_request_that_comes_while_its_equal_is_handled_is_handled_again(bench: Bench) -> None:
    handled: list[str] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        found = seen.get(CONFIGMAPS, "default", "a")
        assert found is not None
        metadata = found["metadata"]
        assert isinstance(metadata, dict)
        handled.append(str(metadata["resourceVersion"]))
        yield Read(CONFIGMAPS, "default", "a")

    await bench.start(Scripted(work))
    await bench.hear("a", version=1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await bench.hear("a", version=2)
    await bench.rest()

    assert handled == ["1", "2"]


async def test_nothing_is_handled_before_every_mirror_is_full(bench: Bench) -> None:
    def work(ask: Ask, seen: Seen) -> Effects:
        yield from ()

    await bench.start(Scripted(work), synced=False)
    await bench.hear("a")
    await bench.rest()
    assert bench.counted("ok") == 0

    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.rest()
    assert bench.counted("ok") == 1


async def test_a_failure_comes_back_ever_later_until_the_controller_gives_up(bench: Bench) -> None:
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        raise ReconcileError("not today")

    controller = Scripted(work, max_requeue=3)
    await bench.start(controller)
    await bench.hear("a")
    await bench.rest()
    await bench.advance(60)

    assert tries == pytest.approx([0, 0.005, 0.015, 0.035], abs=0.002)
    assert controller.given_up == [Ask("a")]
    assert (bench.counted("retried"), bench.counted("gave_up")) == (3, 1)


async def test_success_forgets_earlier_failures(bench: Bench) -> None:
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        if len(tries) % 3:
            raise ReconcileError("not yet")

    controller = Scripted(work, max_requeue=3)
    await bench.start(controller)
    for version in (1, 2, 3):
        await bench.hear("a", version=version)
        await bench.advance(1)

    assert tries == pytest.approx([0, 0.005, 0.015, 1, 1.005, 1.015, 2, 2.005, 2.015], abs=0.002)
    assert controller.given_up == []


@pytest.mark.parametrize(
    ("starts_anew", "expected"), [(False, [0, 0.005, 5]), (True, [0, 0.005, 5, 5.005])], ids=["kept", "anew"]
)
async def test_after_giving_up_a_new_event_has_the_tries_that_its_controller_gives_it(
    bench: Bench, starts_anew: bool, expected: list[float]
) -> None:
    """Volcano resets the rate limiter then for queues and JobFlows, and does not for vcjobs."""
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        raise ReconcileError("never")

    controller = Scripted(work, max_requeue=1, starts_anew=starts_anew)
    await bench.start(controller)
    await bench.hear("a", version=1)
    await bench.advance(5)
    await bench.hear("a", version=2)
    await bench.advance(5)

    assert tries == pytest.approx(expected, abs=0.002)
    assert controller.given_up == [Ask("a"), Ask("a")]


async def test_only_errors_that_count_bring_giving_up_nearer(bench: Bench) -> None:
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        raise ReconcileError("the queue is missing, then a conflict", counts=len(tries) > 12)

    controller = Scripted(work, max_requeue=2)
    await bench.start(controller)
    await bench.hear("a")
    await bench.advance(60)

    assert controller.given_up == [Ask("a")]
    assert len(tries) == 12 + 3
    assert [tries[13] - tries[12], tries[14] - tries[13]] == pytest.approx([0.005, 0.01], abs=0.002)


async def test_a_request_that_fails_again_before_its_retry_has_one_retry(bench: Bench) -> None:
    """As in client-go's delaying queue: of the times that an equal request may come back, the earliest stays."""
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        raise ReconcileError("no", counts=False)

    await bench.start(Scripted(work))
    await bench.hear("a", version=1)
    await bench.advance(1)
    before = len(tries)
    for version in range(2, 6):
        await bench.hear("a", version=version)
        await bench.rest()
    at_once = len(tries)
    await bench.advance(30)

    assert at_once - before == 4
    assert len(tries) - at_once <= 2


async def test_success_takes_back_the_retry_that_waits(bench: Bench) -> None:
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        if len(tries) < 8:
            raise ReconcileError("no")

    await bench.start(Scripted(work, max_requeue=-1))
    await bench.hear("a", version=1)
    await bench.advance(0.4)
    assert len(tries) == 7
    await bench.hear("a", version=2)
    await bench.advance(10)

    assert len(tries) == 8


async def test_an_error_that_does_not_count_is_tried_for_ever_and_at_least_each_30_s(bench: Bench) -> None:
    tries: list[float] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(bench.at())
        yield from ()
        raise ReconcileError("the queue is missing", counts=False)

    controller = Scripted(work, max_requeue=3)
    await bench.start(controller)
    await bench.hear("a")
    await bench.advance(300)

    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert controller.given_up == []
    assert len(tries) > 15
    assert max(gaps) == pytest.approx(30, abs=0.01)


async def test_a_fault_in_a_controller_is_fenced_and_tried_again(bench: Bench) -> None:
    tries: list[str] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        tries.append(ask.name)
        yield from ()
        if ask.name == "bad" and len(tries) < 3:
            raise ZeroDivisionError

    await bench.start(Scripted(work))
    await bench.hear("bad", "good")
    await bench.advance(1)

    assert sorted(tries) == ["bad", "bad", "good"]


async def test_a_fault_in_giving_up_is_fenced_and_its_worker_goes_on(bench: Bench) -> None:
    class Faulty(Scripted):
        def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
            yield from super().gave_up(request, seen, now)
            raise ZeroDivisionError

    done: list[str] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        yield from ()
        if ask.name != "good":
            raise ZeroDivisionError
        done.append(ask.name)

    controller = Faulty(work, max_requeue=0)
    await bench.start(controller, workers=2)
    await bench.hear("a", "b", "c")
    await bench.rest()
    await bench.hear("good")
    await bench.rest()

    assert (controller.given_up, done) == ([Ask("a"), Ask("b"), Ask("c")], ["good"])


async def test_again_keeps_its_promise_at_its_time_and_once(bench: Bench) -> None:
    heard: list[tuple[str, float]] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        heard.append((ask.part, bench.at()))
        if not ask.part:
            yield Again(10, Ask(ask.name, "later"))
            yield Again(0, Ask(ask.name, "at once"))

    await bench.start(Scripted(work))
    await bench.hear("a")
    await bench.advance(9)
    assert heard == [("", 0), ("at once", 0)]

    await bench.advance(100)
    assert heard[2:] == [("later", 10)]


async def test_the_answer_of_a_write_counts_as_the_event_that_follows(bench: Bench) -> None:
    made: list[JsonObject] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        if ask.name == "a" and not made:
            outcome = yield Create(CONFIGMAPS, config_map("child"))
            assert outcome.object is not None
            made.append(outcome.object)
            assert seen.get(CONFIGMAPS, "default", "child") == outcome.object

    controller = Scripted(work)
    await bench.start(controller)
    await bench.hear("a")
    await bench.rest()
    assert [change.object["metadata"]["name"] for change in controller.changes] == ["a", "child"]  # type: ignore[index,call-overload]

    await bench.host.receive(ObjectChanges(CONFIGMAPS.full_name, (ObjectChange("ADDED", made[0]),)))
    await bench.rest()
    assert len(controller.changes) == 2
    assert bench.counted("ok") == 2


async def test_a_refusal_is_an_outcome_not_an_error(bench: Bench) -> None:
    outcomes: list[Outcome] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        outcomes.append((yield Read(CONFIGMAPS, "default", "missing")))
        yield Create(CONFIGMAPS, config_map("twice"))
        outcomes.append((yield Create(CONFIGMAPS, config_map("twice"))))
        outcomes.append(
            (
                yield All(
                    (
                        Patch(CONFIGMAPS, "default", "twice", {"data": {"a": "1"}}),
                        Delete(CONFIGMAPS, "default", "missing"),
                    )
                )
            )
        )
        outcomes.append((yield Delete(CONFIGMAPS, "default", "twice", uid="another")))

    await bench.start(Scripted(lambda ask, seen: work(ask, seen) if ask.name == "a" else iter(())))  # type: ignore[arg-type,return-value]
    await bench.hear("a")
    await bench.rest()

    missing, twice, both, other = outcomes
    assert missing.not_found
    assert twice.already_exists
    assert not twice.conflict
    assert [part.ok for part in both.parts] == [True, False]
    assert not both.ok
    assert other.conflict


async def test_an_unreachable_server_is_an_outcome_without_an_answer(bench: Bench) -> None:
    outcomes: list[Outcome] = []

    def work(ask: Ask, seen: Seen) -> Effects:
        outcomes.append((yield Read(CONFIGMAPS, "default", "a")))

    transport = bench.client.transport
    assert isinstance(transport, InProcessTransport)
    await bench.start(Scripted(work))
    transport.available = False
    await bench.hear("a")
    await bench.rest()

    assert [(o.ok, o.status, o.reason) for o in outcomes] == [(False, 0, "Unreachable")]


async def test_an_event_is_recorded_about_the_object_and_never_fails(bench: Bench) -> None:
    outcomes: list[Outcome] = []
    about: JsonObject = {"metadata": {"name": "q", "uid": "u"}}

    def work(ask: Ask, seen: Seen) -> Effects:
        outcomes.append((yield Emit(QUEUES, about, "Warning", "CloseQueue", "no")))

    await bench.start(Scripted(work))
    await bench.hear("a")
    await bench.rest()

    (event,) = (await bench.client.list(EVENTS)).items
    involved = event["involvedObject"]
    assert isinstance(involved, dict)
    assert (involved["kind"], involved["name"], event["reason"]) == ("Queue", "q", "CloseQueue")
    assert outcomes[0].ok


async def test_a_deletion_is_a_change_with_the_last_object(bench: Bench) -> None:
    def work(ask: Ask, seen: Seen) -> Effects:
        yield from ()

    controller = Scripted(work)
    await bench.start(controller)
    await bench.hear("a", version=1)
    await bench.hear("a", version=2, kind="DELETED")

    assert [(change.old is None, change.new is None) for change in controller.changes] == [
        (True, False),
        (False, True),
    ]


async def test_stopping_the_host_ends_its_timers(bench: Bench) -> None:
    def work(ask: Ask, seen: Seen) -> Effects:
        yield Again(10, Ask(ask.name, "later"))

    await bench.start(Scripted(work))
    await bench.hear("a")
    await bench.rest()
    await bench.host.stop()
    await bench.advance(20)

    assert bench.counted("ok") == 1


async def test_the_host_refuses_messages_that_are_not_its_own(bench: Bench) -> None:
    await bench.start(Scripted(lambda ask, seen: iter(())))  # type: ignore[arg-type,return-value]

    with pytest.raises(TypeError, match="Round"):
        await bench.host.receive(Round())
    assert bench.host.watched == (CONFIGMAPS,)
    assert SERVICES not in bench.host.watched


async def test_of_a_resource_with_one_watched_object_no_other_is_mirrored(bench: Bench) -> None:
    def work(ask: Ask, seen: Seen) -> Effects:
        if ask.name == "a":
            yield All(
                (Create(CONFIGMAPS, config_map("b")), Patch(CONFIGMAPS, "default", "a", {"data": {"x": "y"}}))
            )

    controller = Scripted(work)
    await bench.client.create(CONFIGMAPS, "default", config_map("a"))
    events = EventRecorder(bench.client, "tests", bench.time)
    bench.host = ControllerHost(
        [controller], bench.client, events, bench.time, bench.metrics, only={CONFIGMAPS: [("default", "a")]}
    )
    await bench.host.start()
    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.hear("a")
    await bench.rest()

    told = [dig_str(change.object, "metadata", "name") for change in controller.changes]
    assert set(told) == {"a"}
    assert any(dig_str(change.new or {}, "data", "x") == "y" for change in controller.changes)
    assert len((await bench.client.list(CONFIGMAPS, "default")).items) == 2


async def test_nothing_is_handled_before_every_one_of_several_watched_objects_was_looked_for(
    bench: Bench,
) -> None:
    def work(ask: Ask, seen: Seen) -> Effects:
        yield from ()

    events = EventRecorder(bench.client, "tests", bench.time)
    places = [("default", "a"), ("default", "b")]
    bench.host = ControllerHost(
        [Scripted(work)], bench.client, events, bench.time, bench.metrics, only={CONFIGMAPS: places}
    )
    await bench.host.start()
    await bench.hear("a")
    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.rest()
    assert bench.counted("ok") == 0

    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.host.receive(Synced(CONFIGMAPS.full_name))
    await bench.rest()
    assert bench.counted("ok") == 1


async def test_a_write_that_is_under_way_is_done_when_the_host_has_stopped(bench: Bench) -> None:
    class Slow(InProcessTransport):
        async def request(self, method: str, *more: Any, **further: Any) -> Response:
            if method == "POST":
                begun.set()
                await may_go_on.wait()
            return await super().request(method, *more, **further)

    def work(ask: Ask, seen: Seen) -> Effects:
        yield Create(CONFIGMAPS, config_map("first"))
        yield Create(CONFIGMAPS, config_map("second"))

    begun, may_go_on = asyncio.Event(), asyncio.Event()
    bench.client = KubeClient(Slow(bench.store), "host", sleep=bench.time.sleep)
    await bench.start(Scripted(work))
    await bench.hear("a")
    await begun.wait()

    stopping = asyncio.create_task(bench.host.stop())
    await bench.rest()
    waited = not stopping.done()
    may_go_on.set()
    await stopping

    assert waited
    found = await KubeClient(InProcessTransport(bench.store)).list(CONFIGMAPS, "default")
    assert [dig_str(each, "metadata", "name") for each in found.items] == ["first"]
