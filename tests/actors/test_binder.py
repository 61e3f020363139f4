"""The binder: at most one binding a pod, stale decisions dropped, patience with a busy server; in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import pytest

from tests.builders import gang, node
from vcray.actors.binder import ATTEMPTS, Binder
from vcray.actors.messages import Execute, Executed, GangLimits, Outcome, Round
from vcray.actors.status_writer import StatusWriter
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, NODES, PODGROUPS, PODS
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.core.decisions import Bind, Commit, Decisions, Evict, GroupUpdate
from vcray.core.tables import GroupStatus, Phase
from vcray.errors import Problem, Unreachable
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import NotFound
from vcray.kube.events import EventRecorder
from vcray.kube.transport import JSON, Query, Response
from vcray.metrics import Metrics

T = TypeVar("T")


def status(code: int, reason: str, message: str) -> Response:
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return Response(code, json.dumps(body).encode())


BUSY = status(429, "TooManyRequests", "too many requests")
BROKEN = status(503, "ServiceUnavailable", "etcd is away")


class Scripted:
    """A transport that answers requests whose `METHOD path` contains a word from a script, and the rest from a store.

    A script's item is a response in place of the server's, an error to raise, or a call made before the server answers.
    """

    def __init__(self, store: Store) -> None:
        self._inner = InProcessTransport(store)
        self.scripts: dict[str, list[Response | Exception | Callable[[], None]]] = {}
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return self._inner.address

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        line = f"{method} {path}"
        self.asked.append(line)
        for word, script in self.scripts.items():
            if word in line and script:
                step = script.pop(0)
                if isinstance(step, Response):
                    return step
                if isinstance(step, Exception):
                    raise step
                step()
        return await self._inner.request(method, path, query, body, content_type)

    def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError

    async def close(self) -> None:
        await self._inner.close()


class Bench:
    """A binder on a store with one node `n1` and a gang `train` of two pods."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.started = self.time.now()
        store = Store(clock=self.time)
        self.transport = Scripted(store)
        self.client = KubeClient(self.transport, "binder", sleep=self.time.sleep)
        self.plain = KubeClient(InProcessTransport(store), "test")
        self.metrics = Metrics()
        recorder = EventRecorder(self.client, "volcano", self.time)
        self.writer = StatusWriter(self.client, recorder, self.time, "volcano")
        self.binder = Binder(self.client, self.writer, self.time, self.metrics)
        self.uids: dict[str, str] = {}

    async def prepare(self) -> None:
        await self.plain.create(NODES, None, node("n1", gpu=8))
        group, *pods = gang("train", 2, gpu=1)
        await self.plain.create(PODGROUPS, "default", group)
        for each in pods:
            made = await self.plain.create(PODS, "default", each)
            self.uids[self.key(made)] = str(self.head(made)["uid"])

    @staticmethod
    def head(obj: JsonObject) -> JsonObject:
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        return metadata

    @classmethod
    def key(cls, obj: JsonObject) -> str:
        return f"{cls.head(obj)['namespace']}/{cls.head(obj)['name']}"

    def commit(self, *names: str, whole: bool = True) -> Commit:
        wanted = names or tuple(sorted(self.uids))
        return Commit(
            "default/train", tuple(Bind(name, self.uids[name], "n1") for name in wanted), whole=whole
        )

    async def run(self, work: Awaitable[T]) -> T:
        """Await something while virtual time runs as far as it must."""
        task = asyncio.ensure_future(work)
        for _ in range(200):
            for _ in range(50):
                await asyncio.sleep(0)
            if task.done():
                break
            await self.time.advance(0.5, lambda: asyncio.sleep(0))
        return await asyncio.wait_for(task, 1)

    async def execute(self, decisions: Decisions, *limits: GangLimits) -> tuple[Outcome, ...]:
        answer = await self.run(self.binder.receive(Execute(decisions, limits)))
        assert isinstance(answer, Executed)
        assert answer.generation == decisions.generation
        return answer.outcomes

    async def node_of(self, name: str) -> object:
        spec = (await self.plain.get(PODS, "default", name.partition("/")[2]))["spec"]
        assert isinstance(spec, dict)
        return spec.get("nodeName")

    async def events(self) -> list[tuple[object, object, object]]:
        found = []
        for event in (await self.plain.list(EVENTS)).items:
            about = event["involvedObject"]
            assert isinstance(about, dict)
            found.append((about["name"], event["type"], event["reason"]))
        return sorted(found, key=str)

    def waited(self) -> float:
        return self.time.now() - self.started

    def counted(self, result: str) -> float:
        return self.metrics.registry.get_sample_value("vcray_bindings_total", {"result": result}) or 0.0


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.prepare()
    return made


LIMITS = GangLimits("default/train", 2, {})


async def test_a_gang_is_bound_and_each_pod_says_so_in_an_event(bench: Bench) -> None:
    outcomes = await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)

    names = sorted(bench.uids)
    assert [(o.task, o.result) for o in outcomes] == [(name, "bound") for name in names]
    assert [await bench.node_of(name) for name in names] == ["n1", "n1"]
    assert await bench.events() == [(name.partition("/")[2], "Normal", "Scheduled") for name in names]
    assert bench.counted("bound") == 2


async def test_a_conflict_after_our_own_binding_counts_as_bound(bench: Bench) -> None:
    """The first answer was lost: the server bound the pod, we try again and are told that it is bound."""
    name = min(bench.uids)

    def bind_before() -> None:
        coroutine = bench.plain.bind("default", name.partition("/")[2], "n1", uid=bench.uids[name])
        with pytest.raises(StopIteration):
            coroutine.send(None)  # the in-process transport answers without waiting

    bench.transport.scripts[f"{name.partition('/')[2]}/binding"] = [bind_before]

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["bound"]


async def test_a_lost_answer_is_asked_again_and_the_pod_is_bound_once(bench: Bench) -> None:
    name = min(bench.uids)
    lost = Unreachable(Problem("VC0401", "server", "the API server closed the connection"))
    bench.transport.scripts["/binding"] = [lost]

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["bound"]
    assert sum("/binding" in line for line in bench.transport.asked) == 2


async def test_a_pod_bound_elsewhere_by_others_is_refused_with_the_servers_sentence(bench: Bench) -> None:
    name = min(bench.uids)
    await bench.plain.create(NODES, None, node("n2", gpu=8))
    await bench.plain.bind("default", name.partition("/")[2], "n2")

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["refused"]
    assert "already assigned to node" in outcomes[0].message
    assert await bench.node_of(name) == "n2"
    assert bench.counted("refused") == 1


async def test_a_successor_of_the_same_name_is_not_bound_in_its_place(bench: Bench) -> None:
    """The pod was deleted and made anew after the decision: the uid tells them apart."""
    name = min(bench.uids)
    _, first, _ = gang("train", 2, gpu=1)
    await bench.plain.delete(PODS, "default", name.partition("/")[2], grace_seconds=0)
    await bench.plain.create(PODS, "default", first)

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["gone"]
    assert await bench.node_of(name) is None


async def test_a_pod_that_is_no_more_is_gone(bench: Bench) -> None:
    name = min(bench.uids)
    await bench.plain.delete(PODS, "default", name.partition("/")[2], grace_seconds=0)

    outcomes = await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)

    assert [o.result for o in outcomes] == ["gone", "bound"]
    assert bench.counted("gone") == 1


@pytest.mark.parametrize("answer", [BUSY, BROKEN], ids=["429", "503"])
async def test_a_busy_server_is_asked_again_after_a_while(bench: Bench, answer: Response) -> None:
    name = min(bench.uids)
    bench.transport.scripts["/binding"] = [answer, answer]

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["bound"]
    assert bench.waited() >= 0.3  # 0.1 to 0.2 s, then twice that


async def test_a_server_that_stays_busy_makes_the_binding_refused(bench: Bench) -> None:
    name = min(bench.uids)
    bench.transport.scripts["/binding"] = [BROKEN] * 100

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [(o.result, "etcd is away" in o.message) for o in outcomes] == [("refused", True)]
    assert sum("/binding" in line for line in bench.transport.asked) == ATTEMPTS
    assert bench.waited() < 30


async def test_a_refusal_for_good_is_not_tried_again(bench: Bench) -> None:
    name = min(bench.uids)
    bench.transport.scripts["/binding"] = [status(403, "Forbidden", "pods/binding is forbidden")]

    outcomes = await bench.execute(Decisions(1, (bench.commit(name),)), LIMITS)

    assert [o.result for o in outcomes] == ["refused"]
    assert bench.waited() == 0
    pod = await bench.plain.get(PODS, "default", name.partition("/")[2])
    state = pod["status"]
    assert isinstance(state, dict)
    assert isinstance(state["conditions"], list)
    assert "failed to bind to node n1" in json.dumps(state["conditions"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"minMember": 3}, "its minMember is 3 now, was 2"),
        ({"minTaskMember": {"worker": 1}}, "its minTaskMember changed"),
    ],
)
async def test_a_decision_on_a_podgroup_that_changed_is_not_carried_out(
    bench: Bench, change: JsonObject, why: str
) -> None:
    await bench.plain.patch(PODGROUPS, "default", "train", {"spec": change})

    outcomes = await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)

    assert [(o.result, o.message) for o in outcomes] == [("stale", why)] * 2
    assert [await bench.node_of(name) for name in bench.uids] == [None, None]


async def test_a_decision_on_a_podgroup_that_is_gone_is_not_carried_out(bench: Bench) -> None:
    await bench.plain.delete(PODGROUPS, "default", "train")

    outcomes = await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)

    assert [(o.result, o.message) for o in outcomes] == [("stale", "its PodGroup is gone")] * 2


async def test_one_stale_gang_does_not_hold_up_another(bench: Bench) -> None:
    group, pod = gang("other", 1, gpu=1)
    await bench.plain.create(PODGROUPS, "default", group)
    made = await bench.plain.create(PODS, "default", pod)
    other = Commit("default/other", (Bind(bench.key(made), str(bench.head(made)["uid"]), "n1"),), whole=True)
    await bench.plain.patch(PODGROUPS, "default", "train", {"spec": {"minMember": 3}})

    outcomes = await bench.execute(
        Decisions(1, (bench.commit(), other)), LIMITS, GangLimits("default/other", 1, {})
    )

    assert [o.result for o in outcomes] == ["stale", "stale", "bound"]


async def test_the_status_of_a_gang_with_a_refused_binding_is_left_to_the_next_round(bench: Bench) -> None:
    group = await bench.plain.get(PODGROUPS, "default", "train")
    head = bench.head(group)
    running = GroupUpdate(
        "default/train",
        str(head["uid"]),
        str(head["resourceVersion"]),
        GroupStatus(Phase.RUNNING, 2, 0, 0, ()),
    )
    bench.transport.scripts["/binding"] = [status(403, "Forbidden", "no")]

    await bench.execute(Decisions(1, (bench.commit(),), groups=(running,)), LIMITS)

    after = await bench.plain.get(PODGROUPS, "default", "train")
    assert after.get("status", {}) == group.get("status", {})


async def test_an_eviction_says_why_and_deletes_the_pod_it_means(bench: Bench) -> None:
    first, second = sorted(bench.uids)
    await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)
    evictions = (
        Evict(first, bench.uids[first], "default/train", "a better gang"),
        Evict(second, "another-uid", "default/train", "a better gang"),
    )

    await bench.execute(Decisions(2, evictions=evictions))

    gone = await bench.plain.get(PODS, "default", first.partition("/")[2])
    assert bench.head(gone).get("deletionTimestamp")
    stays = await bench.plain.get(PODS, "default", second.partition("/")[2])
    assert not bench.head(stays).get("deletionTimestamp")
    assert (first.partition("/")[2], "Warning", "Evict") in await bench.events()


async def test_an_evicted_pod_tells_it_in_conditions_and_the_coordinator_in_outcomes(bench: Bench) -> None:
    first, second = sorted(bench.uids)
    await bench.execute(Decisions(1, (bench.commit(),)), LIMITS)
    evictions = (
        Evict(first, bench.uids[first], "default/train", "preempt"),
        Evict(second, "another-uid", "default/train", "preempt"),
    )

    answer = await bench.run(bench.binder.receive(Execute(Decisions(2, evictions=evictions))))

    assert isinstance(answer, Executed)
    assert [(each.task, each.result) for each in answer.evictions] == [(first, "evicted"), (second, "gone")]
    gone = await bench.plain.get(PODS, "default", first.partition("/")[2])
    status = gone["status"]
    assert isinstance(status, dict)
    told = {
        each["type"]: (each["status"], each.get("reason"), each.get("message"))
        for each in status["conditions"]  # type: ignore[union-attr]
        if isinstance(each, dict)
    }
    assert told["Ready"] == ("False", "Evict", "Pod is evicted, because of preempt")
    assert told["DisruptionTarget"] == (
        "True",
        "PreemptionByScheduler",
        "volcano: preempting to accommodate a higher priority pod",
    )
    assert ("train", "Normal", "Evict") in await bench.events()


async def test_an_eviction_is_carried_out_although_its_conditions_stand_already(bench: Bench) -> None:
    first, _ = sorted(bench.uids)
    evict = Evict(first, bench.uids[first], "default/train", "preempt")
    told: JsonObject = {"status": {"conditions": bench.writer.eviction_conditions(evict)}}
    await bench.plain.patch(PODS, "default", first.partition("/")[2], told, PatchType.STRATEGIC, "status")

    await bench.execute(Decisions(1, evictions=(evict,)))

    with pytest.raises(NotFound):
        await bench.node_of(first)


async def test_the_binder_refuses_messages_that_are_not_its_own(bench: Bench) -> None:
    with pytest.raises(TypeError, match="Round"):
        await bench.binder.receive(Round())
