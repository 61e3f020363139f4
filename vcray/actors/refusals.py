"""Jobs whose bindings the API server refuses, and how long each has to wait before it is tried again.

Kubernetes may refuse a binding for good (admission, a pod of that name on its way out). The first two refusals are
answered at once: the gang is completed, then taken back. From then on a job waits ever longer, so that it cannot keep
scheduler and server busy for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from vcray.actors.messages import Outcome

TRIES_AT_ONCE = 2
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 10.0
"""Well below the time for which a gang may be seen bound in part, and for which a placement may be unconfirmed."""

REMEMBERED = 10_000
"""Jobs remembered, the oldest forgotten first."""


class Refusals:
    """Refusals in a row, by job."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def note(self, outcomes: Iterable[Outcome]) -> dict[str, float]:
        """Take in what became of bindings; the seconds that each refused job must wait now."""
        by_job: dict[str, set[str]] = {}
        for outcome in outcomes:
            by_job.setdefault(outcome.job, set()).add(outcome.result)
        waits = {}
        for job, results in by_job.items():
            if "refused" in results:
                count = self._count.pop(job, 0) + 1
                self._count[job] = count
                waits[job] = _wait(count)
            elif results == {"bound"}:
                self._count.pop(job, None)
        while len(self._count) > REMEMBERED:
            del self._count[next(iter(self._count))]
        return waits

    def hopeless(self, job: str) -> bool:
        """Has completing the job been tried in vain?"""
        return self._count.get(job, 0) >= TRIES_AT_ONCE


def _wait(count: int) -> float:
    extra = count - TRIES_AT_ONCE - 1
    return 0.0 if extra < 0 else min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(extra, 10))
