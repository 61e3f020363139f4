"""Health, metrics over HTTP, gauges, and the configuration file that is followed."""

from __future__ import annotations

import logging

import aiohttp
import pytest

from vcray.actors.metrics_server import MetricsServer
from vcray.actors.runtime import Statistics
from vcray.actors.supervisor import TOLERATED, Supervisor
from vcray.actors.timekeeping import VirtualTime
from vcray.errors import ConfigError
from vcray.metrics import Metrics


@pytest.fixture(autouse=True)
def _heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever configured the log before, caplog hears it."""
    monkeypatch.setattr(logging.getLogger("vcray"), "propagate", True)


class FakeHandle:
    """A handle with statistics to set."""

    name = "binder"
    failed = 0

    def statistics(self) -> Statistics:
        return Statistics(self.name, handled=10, failed=self.failed, restarts=0, waiting=0)


def test_an_actor_that_keeps_failing_makes_the_process_unhealthy_and_recovers() -> None:
    handle = FakeHandle()
    supervisor = Supervisor(lambda: [handle], VirtualTime(), Metrics())  # type: ignore[list-item]

    for _ in range(TOLERATED + 1):
        assert supervisor.health() == ""
        handle.failed += 1
        supervisor.look()
    assert "binder" in supervisor.health()

    supervisor.look()
    assert supervisor.health() == ""


async def test_metrics_and_health_are_served_and_a_taken_port_is_one_sentence() -> None:
    metrics = Metrics()
    metrics.rounds.inc()
    why = ["", "binder fails"]
    server, second = (MetricsServer(metrics.expose, lambda: None, lambda: why[0]) for _ in range(2))
    await server.start("127.0.0.1", 0)

    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{server.port}/metrics") as answer:
            text = await answer.text()
        async with session.get(f"http://127.0.0.1:{server.port}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        why.reverse()
        async with session.get(f"http://127.0.0.1:{server.port}/healthz") as answer:
            assert (answer.status, await answer.text()) == (500, "binder fails")

    assert "vcray_rounds_total 1.0" in text
    with pytest.raises(ConfigError, match=r"VC0502 --metrics-port: cannot listen on 127\.0\.0\.1"):
        await second.start("127.0.0.1", server.port)
    await server.stop()
