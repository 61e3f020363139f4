"""Measured load of nodes from the sources that Volcano knows: Prometheus, its adaptor, Elasticsearch.

One refresh asks for all nodes at once: two queries, whatever the size of the cluster. A source raises `SourceError` or
`Unreachable` when it has no answer; then what was measured before stays until it is too old.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Final, Protocol

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, thousandths
from vcray.core.usage import NodeLoad
from vcray.errors import Problem, Unreachable
from vcray.kube.http import HttpTransport, lenient_tls
from vcray.kube.transport import Query, Transport

PERIOD: Final = "10m"
PROMETHEUS_CPU: Final = f'avg_over_time((100 - (avg by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[5m])) * 100))[{PERIOD}:30s])'
PROMETHEUS_MEMORY: Final = (
    f"100 * avg_over_time((1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)[{PERIOD}:30s])"
)
ADAPTOR_CPU: Final = "node_cpu_usage_avg"
ADAPTOR_MEMORY: Final = "node_memory_usage_avg"
ELASTIC_CPU: Final = "host.cpu.usage"
ELASTIC_MEMORY: Final = "system.memory.actual.used.pct"
MOST_NODES: Final = 65_536
"""Nodes that one Elasticsearch query may tell of: its own limit of buckets."""


class SourceError(Exception):
    """A metrics source answered, and not as it should."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """`others_at`: as of when nodes that are not named use nothing; None: nothing is known of them."""

    loads: tuple[NodeLoad, ...]
    others_at: float | None = None


class MetricsSource(Protocol):
    """Where measurements come from."""

    async def measure(self, now: float) -> Measurement:
        """Load of all nodes. Raises SourceError, Unreachable."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Prometheus:
    """Series of node_exporter through the HTTP API; label `instance` is the node's name."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    async def measure(self, now: float) -> Measurement:
        """Two instant queries at this moment."""
        cpu = await self._query(PROMETHEUS_CPU, now)
        memory = await self._query(PROMETHEUS_MEMORY, now)
        return Measurement(_joined(cpu, memory, now), now)

    async def _query(self, query: str, now: float) -> dict[str, float]:
        answer = await _ask(self._transport, "GET", "/api/v1/query", {"query": query, "time": f"{now:.3f}"})
        data = answer.get("data")
        if answer.get("status") != "success" or not isinstance(data, dict):
            raise SourceError(f"Prometheus refused a query: {answer.get('error') or answer.get('status')}")
        rows = data.get("result") if data.get("resultType") == "vector" else []
        found: dict[str, float] = {}
        for row in rows if isinstance(rows, list) else ():
            metric, sample = (row.get("metric"), row.get("value")) if isinstance(row, dict) else (None, None)
            if isinstance(metric, dict) and isinstance(sample, list) and len(sample) == 2:
                found.setdefault(str(metric.get("instance", "")), _float(sample[1]))
        return found

    async def close(self) -> None:
        await self._transport.close()


class PrometheusAdaptor:
    """The custom metrics API of the cluster; values are shares of 1."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def measure(self, now: float) -> Measurement:
        """Both metrics of all nodes; each has the time that the adaptor gives it."""
        cpu, memory = await self._list(ADAPTOR_CPU), await self._list(ADAPTOR_MEMORY)
        loads = []
        for node in sorted(cpu.keys() | memory.keys()):
            (of_cpu, cpu_at), (of_memory, memory_at) = cpu.get(node, (0.0, 0.0)), memory.get(node, (0.0, 0.0))
            loads.append(NodeLoad(node, of_cpu * 100, of_memory * 100, memory_at or cpu_at or now))
        return Measurement(tuple(loads))

    async def _list(self, metric: str) -> dict[str, tuple[float, float]]:
        for version in ("v1beta2", "v1beta1"):
            path = f"/apis/custom.metrics.k8s.io/{version}/nodes/*/{metric}"
            response = await self._transport.request("GET", path)
            if response.status == 404 and version == "v1beta2":
                continue
            items = _json(response.status, response.body, "the custom metrics API").get("items")
            return dict(filter(None, map(_custom_metric, items if isinstance(items, list) else ())))
        raise SourceError(
            "the cluster has no custom metrics API; install a metrics adaptor, or set another metrics.type"
        )

    async def close(self) -> None:
        """The connection is the scheduler's own."""


class Elasticsearch:
    """Metricbeat's documents, averaged by host; values are shares of 1."""

    def __init__(self, transport: HttpTransport, index: str, host_field: str) -> None:
        self._transport = transport
        self._index = index
        self._host_field = host_field

    async def measure(self, now: float) -> Measurement:
        """One search, a bucket for each host."""
        averages = {"cpu": {"avg": {"field": ELASTIC_CPU}}, "mem": {"avg": {"field": ELASTIC_MEMORY}}}
        body = {
            "size": 0,
            "query": {"bool": {"filter": [{"range": {"@timestamp": {"gte": f"now-{PERIOD}", "lt": "now"}}}]}},
            "aggs": {"hosts": {"terms": {"field": self._host_field, "size": MOST_NODES}, "aggs": averages}},
        }
        answer = await _ask(self._transport, "POST", f"/{self._index}/_search", {}, json.dumps(body).encode())
        hosts = _at(_at(answer, "aggregations"), "hosts").get("buckets")
        loads = [
            NodeLoad(str(each.get("key")), 100 * _average(each, "cpu"), 100 * _average(each, "mem"), now)
            for each in (hosts if isinstance(hosts, list) else ())
            if isinstance(each, dict)
        ]
        return Measurement(tuple(sorted(loads, key=lambda load: load.node)), now)

    async def close(self) -> None:
        await self._transport.close()


class BasicAuth:
    """A name and a password that never change."""

    def __init__(self, name: str, password: str) -> None:
        self._header = "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    async def authorization(self) -> str | None:
        return self._header

    async def renew(self) -> None:
        return None


def source_of(conf: Mapping[str, str], cluster: Transport) -> MetricsSource | None:
    """The source that the section `metrics` of a configuration names; None when it names none.

    Raises SourceError for a type that nobody knows, or one that lacks its address."""
    kind = conf.get("type", "")
    if not kind:
        return None
    if kind == "prometheus_adaptor":
        return PrometheusAdaptor(cluster)
    if kind not in ("prometheus", "elasticsearch"):
        raise SourceError(f"metrics.type '{kind}' is none of prometheus, prometheus_adaptor, elasticsearch")
    address = conf.get("address", "")
    if not address:
        raise SourceError("metrics.address is empty; set it to the URL of the source")
    tls = lenient_tls() if conf.get("tls.insecureSkipVerify") == "true" else None
    if kind == "prometheus":
        return Prometheus(HttpTransport(address, tls=tls))
    user = conf.get("elasticsearch.username", "")
    login = BasicAuth(user, conf.get("elasticsearch.password", "")) if user else None
    index = conf.get("elasticsearch.index") or "metricbeat-*"
    return Elasticsearch(
        HttpTransport(address, login, tls),
        index,
        conf.get("elasticsearch.hostnameFieldName") or "host.hostname",
    )


def _joined(cpu: Mapping[str, float], memory: Mapping[str, float], at: float) -> tuple[NodeLoad, ...]:
    """What a query says nothing of counts as 0."""
    names = sorted(cpu.keys() | memory.keys())
    return tuple(NodeLoad(name, cpu.get(name, 0.0), memory.get(name, 0.0), at) for name in names)


async def _ask(
    transport: Transport, method: str, path: str, query: Query, body: bytes | None = None
) -> JsonObject:
    try:
        response = await transport.request(method, path, query, body)
    except Unreachable as error:
        what = "the source of node metrics cannot be reached; check that it runs and that metrics.address is right"
        raise Unreachable(Problem("VC0401", transport.address, what)) from error
    return _json(response.status, response.body, f"{transport.address}{path}")


def _json(status: int, body: bytes, what: str) -> JsonObject:
    if status != 200:
        raise SourceError(f"{what} answered with status {status}")
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise SourceError(f"{what} answered with no JSON") from error
    if not isinstance(answer, dict):
        raise SourceError(f"{what} answered with JSON that is no object")
    return answer


def _custom_metric(item: JsonValue) -> tuple[str, tuple[float, float]] | None:
    """Node -> value and time of one entry."""
    if not isinstance(item, dict):
        return None
    name, value = _at(item, "describedObject").get("name"), item.get("value")
    try:
        share = thousandths(value) / 1000 if isinstance(value, str | int) else 0.0
        at = datetime.fromisoformat(str(item.get("timestamp")).replace("Z", "+00:00")).timestamp()
    except (QuantityError, ValueError):
        return None
    return (name, (share, at)) if isinstance(name, str) else None


def _at(value: JsonObject, key: str) -> JsonObject:
    item = value.get(key)
    return item if isinstance(item, dict) else {}


def _average(bucket: JsonObject, key: str) -> float:
    return _float(_at(bucket, key).get("value"))


def _float(value: JsonValue) -> float:
    """A finite number, 0 for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0
    return number if isfinite(number) else 0.0
