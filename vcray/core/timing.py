"""What a round knows of time besides `now`, so that rules which repeat or go by the wall clock stay pure.

Nothing is kept in a process: who calls `decide` writes down what ran when (`Decisions.ran`) and gives it to the next round.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """`utc_offset`: seconds that the scheduler's local time is ahead of UTC; `started`: when (seconds) it began to schedule;
    `ran`: sorted pairs of a periodic work's name and when it last ran."""

    utc_offset: int = 0
    started: float = 0.0
    ran: tuple[tuple[str, float], ...] = ()

    def last(self, work: str) -> float | None:
        """When the work last ran; None for never since the start."""
        return dict(self.ran).get(work)


NO_TIMING = Timing()
