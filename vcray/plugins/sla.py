"""Volcano's `sla`: a job that has waited for its service level's time is let in and may keep promises.

The time is that of the PodGroup's annotation, else the plugin's argument, counted from the PodGroup's creation. Jobs with such a
time go first, the nearest deadline before the others.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from vcray.api.duration import DurationError, duration_seconds
from vcray.api.names import SLA_WAITING_TIME, SLA_WAITING_TIME_BARE
from vcray.core.arrays import FloatLike, IntLike
from vcray.core.hooks import Answer, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.tables import Notes, Phase
from vcray.core.view import View


class SlaArgs(Args):
    """The waiting time of jobs that name none, a Go duration; empty for none."""

    durations: ClassVar[tuple[str, ...]] = ("sla-waiting-time",)

    waiting_time: str = Field("", alias="sla-waiting-time")


class Sla(Plugin[SlaArgs]):
    """Deadlines of jobs."""

    steady = True
    args_model = SlaArgs

    def open(self, view: View) -> None:
        """`deadline_` (J,) seconds, infinite for jobs without."""
        jobs, general = view.snapshot.jobs, _seconds(self.args.waiting_time)
        waits = [_waiting_time(notes) or general for notes in jobs.notes]
        times = np.array([np.inf if wait is None else wait for wait in waits], dtype=np.float64)
        self.deadline_ = jobs.created + times
        self.late_ = self.deadline_ <= view.snapshot.now

    def job_order(self, view: View, jobs: IntLike) -> FloatLike:
        """The nearest deadline first, jobs without any last."""
        return self.deadline_[jobs] if isinstance(jobs, np.ndarray) else float(self.deadline_[jobs])

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """Permit once the time has run out, else no say."""
        return Answer(Vote.PERMIT if self.late_[job] else Vote.ABSTAIN)

    def job_pipelined(self, view: View, job: int) -> Vote:
        """Permit once the time has run out, else no say."""
        return Vote.PERMIT if self.late_[job] else Vote.ABSTAIN

    def wakes_at(self, view: View) -> float | None:
        """The next deadline of a job that is not over."""
        open_ = ~self.late_ & (view.jobs.phase != Phase.COMPLETED) & np.isfinite(self.deadline_)
        return float(self.deadline_[open_].min()) if open_.any() else None


def _waiting_time(notes: Notes) -> float | None:
    """What a PodGroup's annotations say; the prefixed one goes first if it holds."""
    said = dict(notes)
    return _seconds(said.get(SLA_WAITING_TIME, "")) or _seconds(said.get(SLA_WAITING_TIME_BARE, ""))


def _seconds(text: str) -> float | None:
    try:
        seconds = duration_seconds(text)
    except DurationError:
        return None
    return seconds if seconds > 0 else None
