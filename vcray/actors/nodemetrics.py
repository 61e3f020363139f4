"""Asks the metrics source now and then, and tells the coordinator what nodes really use.

A source that fails is logged and counted; scheduling goes on with what was measured before, until that is too old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from vcray.actors.messages import Measured
from vcray.actors.runtime import Handle, Time
from vcray.api.duration import DurationError, duration_seconds
from vcray.config.scheduler import load_scheduler_config
from vcray.core.usage import INTERVAL_S, UsageTable
from vcray.errors import ConfigError, VcrayError
from vcray.kube.nodemetrics import MetricsSource, SourceError, source_of
from vcray.kube.transport import Transport
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("nodemetrics")

Opener = Callable[[Mapping[str, str], Transport], MetricsSource | None]


class NodeMetrics:
    """Follows the section `metrics` of the configuration in force."""

    def __init__(
        self,
        cluster: Transport,
        coordinator: Callable[[], Handle],
        time: Time,
        metrics: Metrics,
        opener: Opener = source_of,
    ) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._time = time
        self._metrics = metrics
        self._opener = opener
        self._conf: Mapping[str, str] = {}
        self._changed = asyncio.Event()

    def follow(self, text: str) -> None:
        """A configuration is in force: look at its source from now on."""
        try:
            conf = load_scheduler_config(text).metrics
        except ConfigError:
            return
        if conf != self._conf:
            self._conf = conf
            self._changed.set()

    async def run(self) -> None:
        """Measure at once and then every interval, for ever."""
        while True:
            self._changed.clear()
            conf = self._conf
            try:
                source = self._opener(conf, self._cluster)
            except SourceError as error:
                log.warning("no node metrics", why=str(error))
                source = None
            if source is None:
                await self._changed.wait()
                continue
            try:
                await self._follow_source(source, interval_of(conf))
            finally:
                await source.close()

    async def _follow_source(self, source: MetricsSource, interval: float) -> None:
        """Until the configuration changes."""
        while not self._changed.is_set():
            await self._refresh(source, interval)
            await self._pause(interval)

    async def _refresh(self, source: MetricsSource, interval: float) -> None:
        try:
            found = await source.measure(self._time.now())
        except (SourceError, VcrayError) as error:
            log.warning(
                "node metrics could not be read; the last ones stay until they are too old", why=str(error)
            )
            self._metrics.node_metrics_refreshes.labels(result="failed").inc()
            return
        self._metrics.node_metrics_refreshes.labels(result="ok").inc()
        await self._coordinator().send(Measured(UsageTable(found.loads, interval, found.others_at)))

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the configuration changes."""
        waits = [
            asyncio.ensure_future(self._time.sleep(seconds)),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()


def interval_of(conf: Mapping[str, str]) -> float:
    """Seconds between two looks; 30 where the configuration says nothing that holds."""
    try:
        seconds = duration_seconds(conf.get("interval", ""))
    except DurationError:
        return INTERVAL_S
    return seconds if seconds > 0 else INTERVAL_S
