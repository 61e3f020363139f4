"""Every metric, Volcano's names where Volcano has them, on a registry of its own.

A registry of our own (not prometheus-client's global one) lets several control planes live in one process, as tests and
simulations do. `docs/metrics.md` lists all of them; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from vcray.metrics.volcano import VolcanoMetrics, as_volcano_writes, geometric

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics(VolcanoMetrics):
    """All metrics of one control plane."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        super().__init__(registry)
        self.decide_latency = Histogram(
            "vcray_decide_duration_milliseconds",
            "The pure decision of a round: all actions over the snapshot.",
            registry=registry,
            buckets=geometric(0.1, 10000, 20),
        )
        self.write_latency = Histogram(
            "vcray_write_duration_milliseconds",
            "Carrying out a round: all its bindings, evictions and statuses.",
            registry=registry,
            buckets=geometric(1, 60000, 20),
        )
        self.rounds = Counter("vcray_rounds", "Scheduling rounds run.", registry=registry)
        self.failed_rounds = Counter(
            "vcray_failed_rounds", "Rounds that ended in a fault.", registry=registry
        )
        self.fanned_out = Counter(
            "vcray_fanned_out_rounds", "Rounds that node pools' processes scored.", registry=registry
        )
        self.host_process = Gauge(
            "vcray_host_process",
            "Process number of each host of a layout on Ray.",
            ["host"],
            registry=registry,
        )
        self.host_openings = Gauge(
            "vcray_host_openings",
            "How often each host of a layout on Ray has been opened.",
            ["host"],
            registry=registry,
        )
        self.bindings = Counter(
            "vcray_bindings", "Bindings by result: bound, refused, gone.", ["result"], registry=registry
        )
        self.recoveries = Counter(
            "vcray_recovered_gangs",
            "Gangs found bound in part, by what was done: completed, evicted.",
            ["result"],
            registry=registry,
        )
        self.config_reload_success = Gauge(
            "vcray_config_last_reload_success",
            "Was the last reading of the scheduler configuration put in force: 1, or 0 when the last good one stays.",
            registry=registry,
        )
        self.plugin_failures = Counter(
            "vcray_plugin_failures",
            "Rounds that left out a hook of a user's plugin, since it failed or took too long.",
            ["plugin", "hook"],
            registry=registry,
        )
        self.node_metrics_refreshes = Counter(
            "vcray_node_metrics_refreshes",
            "Looks at the metrics source of nodes, by result: ok, failed.",
            ["result"],
            registry=registry,
        )
        self.ray_dashboard_refreshes = Counter(
            "vcray_ray_dashboard_refreshes",
            "Questions to dashboards of RayClusters, by result: ok, failed.",
            ["result"],
            registry=registry,
        )
        self.ray_dashboards_silent = Gauge(
            "vcray_ray_dashboards_silent",
            "RayClusters whose dashboard gave no answer when it was asked last.",
            registry=registry,
        )
        self.config_problems = Counter(
            "vcray_config_problems",
            "Faults found in a scheduler configuration, by code.",
            ["code"],
            registry=registry,
        )
        self.watch_relists = Counter(
            "vcray_watch_relists", "Lists done again, by resource.", ["resource"], registry=registry
        )
        self.actor_failures = Gauge(
            "vcray_actor_failures",
            "Messages that an actor failed on, by actor.",
            ["actor"],
            registry=registry,
        )
        self.admission_latency = Histogram(
            "vcray_admission_duration_milliseconds",
            "Answering one admission review, by webhook.",
            ["webhook"],
            registry=registry,
            buckets=geometric(0.1, 1000, 20),
        )
        self.admission_reviews = Counter(
            "vcray_admission_reviews",
            "Admission reviews answered, by webhook and result: allowed, denied.",
            ["webhook", "result"],
            registry=registry,
        )
        self.reconciles = Counter(
            "vcray_reconciles",
            "Requests handled by a controller, by result: ok, retried, gave_up.",
            ["controller", "result"],
            registry=registry,
        )

    def expose(self) -> bytes:
        """The Prometheus text of all metrics."""
        return as_volcano_writes(generate_latest(self.registry).decode()).encode()


def merged(expositions: Iterable[bytes]) -> bytes:
    """The expositions of several processes as one: samples of the same series are summed, since one process writes each;
    a creation time is the earliest."""
    notes: dict[str, list[str]] = {}
    samples: dict[str, dict[str, float]] = {}
    for exposition in expositions:
        family = ""
        for line in exposition.decode().splitlines():
            if line.startswith("#"):
                family = line.split(" ", 3)[2]
                known = notes.setdefault(family, [])
                if line not in known:
                    known.append(line)
                continue
            series, _, text = line.rpartition(" ")
            value, of_family = float(text), samples.setdefault(family, {})
            created = series.partition("{")[0].endswith("_created")
            before = of_family.get(series)
            if before is None:
                of_family[series] = value
            else:
                of_family[series] = min(before, value) if created else before + value
    lines = [
        line
        for family, told in notes.items()
        for line in (*told, *(f"{name} {value!r}" for name, value in samples.get(family, {}).items()))
    ]
    return ("\n".join(lines) + "\n").encode()
