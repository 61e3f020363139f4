"""From a metrics source into decisions: busy nodes are avoided, a source that fails stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from vcray.actors.messages import Measured, Message
from vcray.actors.nodemetrics import NodeMetrics, interval_of
from vcray.actors.timekeeping import VirtualTime
from vcray.api.resources import JOBS, NODES, PODS
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.core.usage import NodeLoad, UsageTable
from vcray.kube.client import KubeClient
from vcray.kube.nodemetrics import Measurement, MetricsSource, SourceError
from vcray.kube.transport import Transport
from vcray.metrics import Metrics
from vcray.sim import shorthand

CONF = """\
actions: allocate
tiers:
- plugins: [{{name: gang}}, {{name: predicates}}, {{name: usage}}]
metrics: {{type: prometheus, address: "{address}", interval: {interval}}}
"""


class Source:
    """Answers what it is given, in turn; an exception is raised."""

    def __init__(self, *answers: Measurement | Exception) -> None:
        self.answers = list(answers)
        self.closed = False

    async def measure(self, now: float) -> Measurement:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        self.closed = True


class Heard:
    """A handle that keeps what it is sent."""

    name = "coordinator"

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    async def ask(self, message: Message) -> Message | None:
        raise NotImplementedError

    def statistics(self) -> object:
        raise NotImplementedError


class Bench:
    """A feed in virtual time; `opened` are the sections for which a source was made."""

    def __init__(self, *sources: Source) -> None:
        self.time = VirtualTime()
        self.heard, self.metrics = Heard(), Metrics()
        self.opened: list[Mapping[str, str]] = []
        self._sources = list(sources)
        self.feed = NodeMetrics(None, lambda: self.heard, self.time, self.metrics, self._open)

    def _open(self, conf: Mapping[str, str], _: Transport) -> MetricsSource | None:
        if not conf:
            return None
        self.opened.append(conf)
        return self._sources.pop(0)

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float) -> None:
        await self.time.advance(seconds, self.settle)

    def count(self, result: str) -> float:
        return self.metrics.node_metrics_refreshes.labels(result=result)._value.get()


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    task = asyncio.create_task(bench.feed.run())
    await bench.settle()
    try:
        yield bench
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def load(cpu: float) -> Measurement:
    return Measurement((NodeLoad("n1", cpu, 0.0, 1.0),), 1.0)


async def test_it_measures_at_once_and_then_every_interval() -> None:
    bench = Bench(Source(load(1), load(2), load(3)))
    bench.feed.follow(CONF.format(address="http://x", interval="10s"))
    async with running(bench):
        await bench.pass_time(19)
    assert bench.heard.messages == [
        Measured(UsageTable(load(1).loads, 10.0, 1.0)),
        Measured(UsageTable(load(2).loads, 10.0, 1.0)),
    ]


async def test_a_source_that_fails_is_counted_and_asked_again() -> None:
    bench = Bench(Source(load(1), SourceError("no answer"), load(3)))
    bench.feed.follow(CONF.format(address="http://x", interval="10s"))
    async with running(bench):
        await bench.pass_time(21)
    assert [message.usage.loads[0].cpu for message in bench.heard.messages] == [1, 3]
    assert (bench.count("ok"), bench.count("failed")) == (2, 1)


async def test_a_changed_section_takes_effect_at_once_and_the_old_source_is_closed() -> None:
    first, second = Source(load(1)), Source(load(2))
    bench = Bench(first, second)
    bench.feed.follow(CONF.format(address="http://x", interval="10m"))
    async with running(bench):
        bench.feed.follow(CONF.format(address="http://x", interval="10m"))
        await bench.settle()
        assert not first.closed, "nothing changed"
        bench.feed.follow(CONF.format(address="http://y", interval="10m"))
        await bench.settle()
        assert first.closed
        bench.feed.follow("actions: allocate")
        await bench.settle()
    assert second.closed
    assert [conf["address"] for conf in bench.opened] == ["http://x", "http://y"]


@pytest.mark.parametrize(("text", "seconds"), [("10s", 10), ("", 30), ("soon", 30), ("-1s", 30)])
def test_the_interval_is_half_a_minute_unless_said_otherwise(text: str, seconds: float) -> None:
    assert interval_of({"interval": text}) == seconds


# ---- the whole control plane ----


async def busy_first(request: web.Request) -> web.Response:
    """Prometheus of a cluster in which n1 is busy."""
    rows = [
        {"metric": {"instance": name}, "value": [0, value]}
        for name, value in ({"n1": "95", "n2": "10"} if "cpu" in request.query["query"] else {}).items()
    ]
    return web.json_response({"status": "success", "data": {"resultType": "vector", "result": rows}})


async def refuse(_: web.Request) -> web.Response:
    return web.Response(status=503)


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(300):
        if await what():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true")


@pytest.mark.parametrize(("answer", "result"), [(busy_first, "ok"), (refuse, "failed")])
async def test_pods_keep_off_the_node_that_prometheus_calls_busy_and_a_failing_one_stops_nothing(
    answer: Callable[[web.Request], Awaitable[web.Response]], result: str
) -> None:
    app = web.Application()
    app.router.add_get("/api/v1/query", answer)
    store = Store()
    client = KubeClient(InProcessTransport(store))
    async with TestServer(app) as server:
        conf = CONF.format(address=f"http://{server.host}:{server.port}", interval="1h")
        plane = ControlPlane(InProcessTransport(store), scheduler_conf=conf)
        for name in ("n1", "n2"):
            await client.create(NODES, None, shorthand.node(name, "64c", name))
        await plane.start()
        try:
            counter = plane.metrics.node_metrics_refreshes.labels(result=result)
            await until(lambda: completed(counter._value.get() == 1))
            await client.create(JOBS, "default", shorthand.job("train", "8 x 1c", "train"))

            async def placed() -> bool:
                pods = (await client.list(PODS)).items
                return len(pods) == 8 and all(pod["spec"].get("nodeName") for pod in pods)

            await until(placed)
            nodes = {pod["spec"]["nodeName"] for pod in (await client.list(PODS)).items}
        finally:
            await plane.stop()
    assert "n1" in nodes if result == "failed" else nodes == {"n2"}


async def completed(value: bool) -> bool:
    return value
