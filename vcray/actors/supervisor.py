"""Keeps an eye on the actors: their failures become metrics, one that keeps failing makes the process unhealthy.

Restarting an actor is the runtime's business (`Crash`); deciding that something is wrong for good is this module's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vcray.actors.runtime import Handle, Statistics, Time
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("supervisor")

PERIOD_S = 1.0
TOLERATED = 5
"""Periods in a row with new failures of one actor after which the process is unhealthy."""


class Supervisor:
    """Looks at each actor's statistics once a period."""

    def __init__(self, actors: Callable[[], Sequence[Handle]], time: Time, metrics: Metrics) -> None:
        self._actors = actors
        self._time = time
        self._metrics = metrics
        self._last: dict[str, Statistics] = {}
        self._failing: dict[str, int] = {}

    async def run(self) -> None:
        """Look, for ever."""
        while True:
            await self._time.sleep(PERIOD_S)
            self.look()

    def look(self) -> None:
        """One look at all actors."""
        for handle in self._actors():
            now = handle.statistics()
            before = self._last.get(now.name)
            self._metrics.actor_failures.labels(actor=now.name).set(now.failed)
            failing = before is not None and now.failed > before.failed
            self._failing[now.name] = self._failing.get(now.name, 0) + 1 if failing else 0
            if self._failing[now.name] == TOLERATED:
                log.error("actor keeps failing", actor=now.name, failed=now.failed, waiting=now.waiting)
            self._last[now.name] = now

    def health(self) -> str:
        """Empty when all is well, else one sentence."""
        bad = sorted(name for name, count in self._failing.items() if count >= TOLERATED)
        return f"failing for {TOLERATED} periods in a row: {', '.join(bad)}" if bad else ""
