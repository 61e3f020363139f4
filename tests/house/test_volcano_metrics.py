"""A real /metrics against Volcano's names, types, labels and buckets (volcano_metrics.yaml)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from prometheus_client import Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from vcray.actors.metrics_server import MetricsServer
from vcray.metrics import Metrics, merged

CONTRACT = yaml.safe_load((Path(__file__).parent / "volcano_metrics.yaml").read_text(encoding="utf-8"))


def touched(metrics: Metrics) -> None:
    """Give every family of Volcano's one series, so that its labels show."""
    for collector in list(metrics.registry._collector_to_names):
        names = collector._labelnames
        series = collector.labels(*names) if names else collector
        if isinstance(collector, Histogram):
            series.observe(1)
        elif isinstance(collector, Gauge):
            series.set(1)
        else:
            series.inc()


async def scraped(metrics: Metrics) -> str:
    server = MetricsServer(lambda: merged([metrics.expose()]), lambda: None, lambda: "")
    await server.start("127.0.0.1", 0)
    try:
        address = f"http://127.0.0.1:{server.port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            return await answer.text()
    finally:
        await server.stop()


@pytest.fixture
async def families() -> dict[str, Metric]:
    """Family by the name in its TYPE line."""
    metrics = Metrics()
    touched(metrics)
    text = await scraped(metrics)
    types = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE volcano_"))
    found = {}
    for family in text_string_to_metric_families(text):
        for name in (family.name, f"{family.name}_total"):
            if name in types:
                family.type = types[name]
                found[name.removeprefix("volcano_")] = family
    return found


def labels(family: Metric) -> Iterator[tuple[str, ...]]:
    for sample in family.samples:
        yield tuple(sorted(name for name in sample.labels if name != "le"))


async def test_volcanos_families_are_there_and_no_others_under_its_prefix(families):
    assert set(families) == {*CONTRACT["histograms"], *CONTRACT["gauges"], *CONTRACT["counters"]}


async def test_each_family_has_volcanos_type_and_labels(families):
    for kind in ("gauges", "counters"):
        for name, names in CONTRACT[kind].items():
            assert families[name].type == kind.removesuffix("s"), name
            assert set(labels(families[name])) == {tuple(sorted(names))}, name
    for name, shape in CONTRACT["histograms"].items():
        assert families[name].type == "histogram", name
        assert set(labels(families[name])) == {tuple(sorted(shape["labels"]))}, name


async def test_series_bear_volcanos_names_to_the_letter():
    metrics = Metrics()
    touched(metrics)

    names = {line.partition("{")[0].partition(" ")[0] for line in (await scraped(metrics)).splitlines()}

    for name in (*CONTRACT["gauges"], *CONTRACT["counters"]):
        assert f"volcano_{name}" in names


async def test_each_histogram_has_volcanos_buckets(families):
    for name, shape in CONTRACT["histograms"].items():
        low, high, count = shape["buckets"]
        bounds = [
            float(sample.labels["le"]) for sample in families[name].samples if sample.name.endswith("_bucket")
        ]

        assert bounds[-1] == math.inf
        ratio = (high / low) ** (1 / (count - 1))
        assert bounds[:-1] == pytest.approx([low * ratio**index for index in range(count)]), name


async def test_no_creation_times_stand_beside_volcanos_families(families):
    for name, family in families.items():
        assert not [sample.name for sample in family.samples if sample.name.endswith("_created")], name
