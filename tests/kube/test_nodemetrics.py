"""Node metrics over real HTTP: servers on loopback that answer as Prometheus, its adaptor and Elasticsearch do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import encode_basic_auth, web
from aiohttp.test_utils import TestServer

from vcray.core.usage import NodeLoad
from vcray.errors import Unreachable
from vcray.kube.http import HttpTransport
from vcray.kube.nodemetrics import SourceError, source_of

NOW = 1_700_000_000.0
Answer = Callable[[web.Request], Awaitable[web.Response]]


class Served:
    """A server, and what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[web.Request] = []
        self.bodies: list[str] = []
        self._answer = answer
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self.server = TestServer(app)

    async def _serve(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        self.bodies.append(await request.text())
        return await self._answer(request)

    @property
    def address(self) -> str:
        return f"http://{self.server.host}:{self.server.port}"


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Served]:
    made = Served(answer)
    await made.server.start_server()
    try:
        yield made
    finally:
        await made.server.close()


# ---- Prometheus ----


def vector(samples: dict[str, str]) -> web.Response:
    """An instant vector as Prometheus' HTTP API answers it."""
    rows = [{"metric": {"instance": name}, "value": [NOW, value]} for name, value in samples.items()]
    return web.json_response({"status": "success", "data": {"resultType": "vector", "result": rows}})


def prometheus(cpu: dict[str, str], memory: dict[str, str]) -> Answer:
    """Answers by the series that a query names, as the real one would."""

    async def answer(request: web.Request) -> web.Response:
        assert (request.method, request.path) == ("GET", "/prom/api/v1/query")
        assert float(request.query["time"]) == NOW
        query = request.query["query"]
        assert query.endswith("[10m:30s])")
        if "node_cpu_seconds_total" in query:
            assert 'mode="idle"' in query
            return vector(cpu)
        assert "node_memory_MemAvailable_bytes" in query
        return vector(memory)

    return answer


async def measure(server: Served, path: str = "", **conf: str) -> tuple[tuple[NodeLoad, ...], float | None]:
    cluster = HttpTransport(server.address)
    section = {key.replace("__", "."): value for key, value in conf.items()}
    source = source_of({"address": server.address + path, **section}, cluster)
    assert source is not None
    try:
        found = await source.measure(NOW)
    finally:
        await source.close()
        await cluster.close()
    return found.loads, found.others_at


async def test_prometheus_tells_of_all_nodes_in_two_queries() -> None:
    async with served(prometheus({"n1": "40.5", "n2": "7"}, {"n1": "20", "n3": "1"})) as server:
        loads, others = await measure(server, "/prom/", type="prometheus")
    assert loads == (
        NodeLoad("n1", 40.5, 20.0, NOW),
        NodeLoad("n2", 7.0, 0.0, NOW),
        NodeLoad("n3", 0.0, 1.0, NOW),
    )
    assert others == NOW, "a node that it does not know counts as idle"
    assert len(server.asked) == 2


async def test_values_that_are_no_numbers_count_as_nothing() -> None:
    async with served(prometheus({"n1": "NaN", "n2": "x"}, {})) as server:
        loads, _ = await measure(server, "/prom", type="prometheus")
    assert [load.cpu for load in loads] == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["prometheus", "elasticsearch", "prometheus_adaptor"])
@pytest.mark.parametrize(
    ("status", "body"), [(500, "{}"), (200, "<html>"), (200, "[]"), (401, "{}"), (404, "{}")]
)
async def test_a_source_that_answers_with_a_fault_has_no_measurement(
    kind: str, status: int, body: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    async with served(answer) as server:
        with pytest.raises(SourceError):
            await measure(server, type=kind)


async def test_a_query_that_prometheus_refuses_is_a_fault() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"status": "error", "errorType": "bad_data", "error": "parse error"})

    async with served(answer) as server:
        with pytest.raises(SourceError, match="parse error"):
            await measure(server, type="prometheus")


async def test_a_source_that_is_not_there_is_unreachable() -> None:
    source = source_of(
        {"type": "prometheus", "address": "http://127.0.0.1:9"}, HttpTransport("http://127.0.0.1:9")
    )
    assert source is not None
    with pytest.raises(Unreachable):
        await source.measure(NOW)
    await source.close()


# ---- the adaptor ----


def custom(values: dict[str, str]) -> web.Response:
    items = [
        {
            "describedObject": {"kind": "Node", "name": name},
            "timestamp": "2023-11-14T22:13:20Z",
            "value": value,
        }
        for name, value in values.items()
    ]
    return web.json_response({"kind": "MetricValueList", "items": items})


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_the_adaptor_tells_shares_through_the_custom_metrics_api(version: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        head = f"/apis/custom.metrics.k8s.io/{version}/nodes/*/"
        if request.path == head + "node_cpu_usage_avg":
            return custom({"n1": "405m"})
        if request.path == head + "node_memory_usage_avg":
            return custom({"n1": "200m", "n2": "1"})
        return web.Response(status=404)

    async with served(answer) as server:
        loads, others = await measure(server, type="prometheus_adaptor")
    assert loads == (
        NodeLoad("n1", pytest.approx(40.5), pytest.approx(20.0), NOW),
        NodeLoad("n2", 0.0, 100.0, NOW),
    )
    assert others is None, "nothing is known of other nodes"


# ---- Elasticsearch ----


async def test_elasticsearch_averages_metricbeats_documents_by_host() -> None:
    async def answer(request: web.Request) -> web.Response:
        buckets = [
            {"key": "n1", "doc_count": 3, "cpu": {"value": 0.405}, "mem": {"value": 0.2}},
            {"key": "n2", "doc_count": 1, "cpu": {"value": None}, "mem": {"value": 0.5}},
        ]
        return web.json_response({"aggregations": {"hosts": {"buckets": buckets}}})

    login = {"elasticsearch__username": "reader", "elasticsearch__password": "secret"}
    async with served(answer) as server:
        loads, others = await measure(server, type="elasticsearch", **login)
    assert [(load.node, load.memory) for load in loads] == [("n1", 20.0), ("n2", 50.0)]
    assert [load.cpu for load in loads] == pytest.approx([40.5, 0.0])
    assert others == NOW
    (request,), (body,) = server.asked, server.bodies
    assert (request.method, request.path) == ("POST", "/metricbeat-*/_search")
    assert request.headers["Authorization"] == encode_basic_auth("reader", "secret")
    query = json.loads(body)
    assert query["size"] == 0
    assert query["aggs"]["hosts"]["terms"]["field"] == "host.hostname"
    assert query["query"]["bool"]["filter"][0]["range"]["@timestamp"]["gte"] == "now-10m"


async def test_index_and_host_field_are_those_of_the_configuration() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"aggregations": {"hosts": {"buckets": []}}})

    conf = {"elasticsearch__index": "beats-1", "elasticsearch__hostnameFieldName": "node"}
    async with served(answer) as server:
        assert await measure(server, type="elasticsearch", **conf) == ((), NOW)
    assert server.asked[0].path == "/beats-1/_search"
    assert "Authorization" not in server.asked[0].headers
    assert json.loads(server.bodies[0])["aggs"]["hosts"]["terms"]["field"] == "node"


# ---- the section `metrics` ----


def test_without_a_type_there_is_no_source_and_a_wrong_one_is_told() -> None:
    transport = HttpTransport("http://127.0.0.1:9")
    assert source_of({}, transport) is None
    with pytest.raises(SourceError, match="none of"):
        source_of({"type": "influx", "address": "x"}, transport)
    with pytest.raises(SourceError, match="address is empty"):
        source_of({"type": "prometheus"}, transport)
