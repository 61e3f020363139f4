"""What a snapshot says beside the cluster's objects: time's course, and the load of nodes as it was last measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from vcray.core.decisions import Decisions
from vcray.core.snapshot import Snapshot
from vcray.core.timing import Timing
from vcray.core.usage import UsageTable


class Moments:
    """When scheduling started and when each periodic work of a plugin last ran. Lost in a crash, as Volcano's is: then
    periods begin anew."""

    def __init__(self, started: float) -> None:
        self.usage: UsageTable | None = None
        self._started = started
        self._ran: dict[str, float] = {}

    def complete(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with these in it; local time is the process's."""
        local = datetime.fromtimestamp(snapshot.now, UTC).astimezone().utcoffset()
        offset = 0 if local is None else int(local.total_seconds())
        timing = Timing(offset, self._started, tuple(sorted(self._ran.items())))
        details = snapshot.details if self.usage is None else replace(snapshot.details, usage=self.usage)
        return replace(snapshot, timing=timing, details=details)

    def note(self, decisions: Decisions, now: float) -> None:
        """What ran in the round of that moment."""
        self._ran.update(dict.fromkeys(decisions.ran, now))
