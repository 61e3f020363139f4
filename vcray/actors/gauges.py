"""Metrics that follow a round. Series of jobs and queues that are gone are removed at once, not left behind
(volcano-sh/volcano#4705), and a queue whose last job went shows 0 (volcano-sh/volcano#2280).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from prometheus_client import Gauge

from vcray.actors.cardgauges import CardSeries
from vcray.api.names import EPHEMERAL_STORAGE, HUGEPAGES_PREFIX
from vcray.core.arrays import Float, Int
from vcray.core.decisions import Amounts
from vcray.core.meter import UNLIMITED, Meter, QueueFigures
from vcray.core.snapshot import Snapshot
from vcray.core.tables import JobTable
from vcray.metrics import Metrics
from vcray.metrics.volcano import AMOUNTS

Labels: TypeAlias = tuple[str, ...]
JobKey = tuple[str, str, str]
"""Name, queue, namespace: the labels of a job's times."""


class RoundGauges:
    """Remembers which jobs and queues have series."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._jobs = JobSeries(metrics)
        self._queues = QueueSeries(metrics)
        self._cards = CardSeries(metrics)

    def show(self, snapshot: Snapshot, meter: Meter) -> None:
        """All that one round says of itself. One that repeats the one before asked nobody and tried no job: all stays as it is."""
        if meter.repeats:
            return
        metrics = self._metrics
        for plugin, seconds in meter.opened:
            metrics.plugin_latency.labels(plugin, "OnSessionOpen").observe(seconds * 1000)
        for plugin, seconds in meter.closed:
            metrics.plugin_latency.labels(plugin, "OnSessionClose").observe(seconds * 1000)
        for action, seconds in meter.acted:
            metrics.action_latency.labels(action).observe(seconds * 1000)
        metrics.preemption_attempts.inc(meter.attempts)
        if meter.victims is not None:
            metrics.victims.set(meter.victims)
        for action, count in meter.transactions.items():
            metrics.eviction_transactions.labels(action).inc(count)
        assumed = metrics.task_latency.labels("Assumed")
        for created in meter.bound.values():
            assumed.observe(max(0.0, snapshot.now - created) * 1000)
        self._jobs.follow(snapshot.jobs)
        self._jobs.show(meter)
        self._jobs.placed(meter.placed, snapshot.now)
        self._queues.show(meter.queues)
        self._cards.show(meter.cards)


class JobSeries:
    """Series of jobs: those of one that is gone go with it. `job_id` is the PodGroup's name, as in Volcano: two of one name in
    two namespaces share a series, which shows their sum."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._seen: JobTable | None = None
        self._keys: dict[str, JobKey] = {}
        self._created: dict[str, int] = {}
        self._placed: set[JobKey] = set()
        self._ids: list[Labels] = []
        self._id_of: Int = np.zeros(0, np.int64)
        self._full_names: list[Labels] = []
        self._short = RowSeries(metrics.unscheduled_tasks)
        self._shares = RowSeries(metrics.job_share)
        self._retried: set[str] = set()

    def follow(self, jobs: JobTable) -> None:
        """Start and end series with the jobs."""
        if jobs is self._seen:
            return
        before, self._seen = self._seen, jobs
        if (
            before is not None
            and jobs.names == before.names
            and jobs.queue_names == before.queue_names
            and np.array_equal(jobs.created, before.created)
        ):
            return
        parts = [name.partition("/") for name in jobs.names]
        keys = {
            name: (short, queue, namespace)
            for name, (namespace, _, short), queue in zip(jobs.names, parts, jobs.queue_names, strict=True)
        }
        created = dict(zip(jobs.names, jobs.created.tolist(), strict=True))
        number: dict[str, int] = {}
        self._id_of = np.array([number.setdefault(short, len(number)) for _, _, short in parts], np.int64)
        self._ids = [(short,) for short in number]
        self._full_names = [(namespace, short) for namespace, _, short in parts]
        metrics = self._metrics
        for key in set(self._keys.values()) - set(keys.values()):
            metrics.job_start.remove(*key)
            if key in self._placed:
                metrics.job_duration.remove(*key)
                metrics.job_last.remove(*key)
                self._placed.discard(key)
        for name, key in keys.items():
            if self._keys.get(name) != key or self._created[name] != created[name]:
                metrics.job_start.labels(*key).set(created[name])
        for short in self._retried - number.keys():
            metrics.job_retries.remove(short)
        self._retried &= number.keys()
        self._keys, self._created = keys, created

    def show(self, meter: Meter) -> None:
        """What jobs lack, and their shares. `meter` is of the jobs that were followed last."""
        there = meter.short >= 0
        total = np.bincount(self._id_of[there], weights=meter.short[there], minlength=len(self._ids))
        seen = np.bincount(self._id_of[there], minlength=len(self._ids)) > 0
        self._short.show(self._ids, np.where(seen, total, np.nan))
        self._metrics.unscheduled_jobs.set(int((meter.short > 0).sum()))
        for row in (total > 0).nonzero()[0].tolist():
            (name,) = self._ids[row]
            self._metrics.job_retries.labels(name).inc()
            self._retried.add(name)
        shares = meter.shares
        self._shares.show(self._full_names, np.full(len(self._keys), np.nan) if shares is None else shares)

    def placed(self, jobs: Iterable[str], now: float) -> None:
        """Times of jobs of which a round placed or promised a pod."""
        metrics = self._metrics
        for job in jobs:
            key = self._keys.get(job)
            if key is None:
                continue
            passed = max(0.0, now - self._created[job]) * 1000
            metrics.job_duration.labels(*key).set(passed)
            metrics.job_last.labels(*key).set(int(now))
            metrics.job_latency.observe(passed)
            self._placed.add(key)


class RowSeries:
    """The series of a gauge with one for each row of a table: looked at anew only where a value changed."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._labels: list[Labels] = []
        self._values: Float = np.zeros(0)
        self._shown: set[Labels] = set()

    def show(self, labels: list[Labels], values: Float) -> None:
        """Labels and value of each row; NaN for no series."""
        if labels is self._labels and len(values) == len(self._values):
            changed = (values != self._values) & ~(np.isnan(values) & np.isnan(self._values))
            rows = changed.nonzero()[0].tolist()
        else:
            for gone in self._shown - set(labels):
                self._gauge.remove(*gone)
                self._shown.discard(gone)
            rows = list(range(len(labels)))
        self._labels, self._values = labels, values
        for row, value in zip(rows, values[rows].tolist(), strict=True):
            if value == value:
                self._gauge.labels(*labels[row]).set(value)
                self._shown.add(labels[row])
            elif labels[row] in self._shown:
                self._gauge.remove(*labels[row])
                self._shown.discard(labels[row])


class QueueSeries:
    """Series of queues. A resource that a queue has once named keeps a series in every family, at 0 where it has none,
    until the queue is gone."""

    def __init__(self, metrics: Metrics) -> None:
        self._families = [(family, metrics.queue_amounts[family]) for family in AMOUNTS]
        self._cpu = {family: Shown(gauges.cpu) for family, gauges in self._families}
        self._memory = {family: Shown(gauges.memory) for family, gauges in self._families}
        self._scalars = {family: Shown(gauges.scalars) for family, gauges in self._families}
        self._share = Shown(metrics.queue_share)
        self._weight = Shown(metrics.queue_weight)
        self._overused = Shown(metrics.queue_overused)
        self._named: dict[str, set[str]] = {}
        self._last: tuple[QueueFigures, ...] | None = None

    def show(self, queues: tuple[QueueFigures, ...]) -> None:
        """All queues of a round; those that are not among them are gone."""
        if queues == self._last:
            return
        self._last = queues
        self._named = {each.queue: self._named.get(each.queue, set()) for each in queues}
        for each in queues:
            told = (getattr(each, family) for family in AMOUNTS)
            self._named[each.queue].update(
                name for amounts in told for name, _ in amounts or () if name not in ("cpu", "memory")
            )
        for family in AMOUNTS:
            self._show_family(family, {each.queue: getattr(each, family) for each in queues})
        self._share.show({(each.queue,): each.share for each in queues if each.share is not None})
        self._weight.show({(each.queue,): each.weight for each in queues if each.weight is not None})
        self._overused.show({(each.queue,): each.overused for each in queues if each.overused is not None})

    def _show_family(self, family: str, queues: Mapping[str, Amounts | None]) -> None:
        cpu: Values = {}
        memory: Values = {}
        scalars: Values = {}
        for queue, amounts in queues.items():
            if amounts is None:
                continue
            of = dict(amounts)
            cpu[(queue,)] = _shown("cpu", of.get("cpu", 0))
            memory[(queue,)] = _shown("memory", of.get("memory", 0))
            for name in self._named[queue]:
                scalars[queue, name] = _shown(name, of.get(name, 0))
        self._cpu[family].show(cpu)
        self._memory[family].show(memory)
        self._scalars[family].show(scalars)


Values: TypeAlias = dict[Labels, float]


class Shown:
    """The series of one gauge: exactly those that were last given."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._values: Mapping[tuple[str, ...], float] = {}

    def show(self, values: Mapping[tuple[str, ...], float]) -> None:
        """Set what changed and remove what is not there any more."""
        for labels in self._values.keys() - values.keys():
            self._gauge.remove(*labels)
        for labels, value in values.items():
            if self._values.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._values = values


def _shown(name: str, amount: int) -> float:
    """Volcano's raw unit: milli-cpu, bytes, whole pods, milli of all else; no limit is the largest number."""
    if amount >= UNLIMITED:
        return sys.float_info.max
    in_bytes = name == EPHEMERAL_STORAGE or name.startswith(HUGEPAGES_PREFIX)
    return float(amount * 1000 if in_bytes else amount)
