"""The coordinator's memory of time: when it started, and when each periodic work of a plugin last ran."""

from __future__ import annotations

from datetime import UTC, datetime

from vcray.core.decisions import Decisions
from vcray.core.timing import Timing


class Moments:
    """Lost in a crash, as Volcano's is: then periods begin anew."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._ran: dict[str, float] = {}

    def timing(self, now: float) -> Timing:
        """For a snapshot of that moment; local time is the process's."""
        local = datetime.fromtimestamp(now, UTC).astimezone().utcoffset()
        offset = 0 if local is None else int(local.total_seconds())
        return Timing(offset, self._started, tuple(sorted(self._ran.items())))

    def note(self, decisions: Decisions, now: float) -> None:
        """What ran in the round of that moment."""
        self._ran.update(dict.fromkeys(decisions.ran, now))
