"""How many pods of a job its own budget lets go: annotations `volcano.sh/jdb-min-available` and `jdb-max-unavailable`."""

from __future__ import annotations

import re

from vcray.api.names import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE
from vcray.core.tables import Status
from vcray.core.view import View

_PER_CENT = re.compile(r"\d+%")


def may_go(view: View, job: int) -> int:
    """Pods that may go now. min-available goes before max-unavailable; without a budget, or with fewer running than
    the minimum, one; per cents are of all tasks of the job, rounded up."""
    said = dict(view.snapshot.jobs.notes[job])
    count: list[int] = view.jobs.count[:, job].tolist()
    running, total = count[Status.RUNNING], sum(count)
    least = said.get(JDB_MIN_AVAILABLE, "")
    if least:
        minimum = _amount(least, total)
        return running - minimum if running >= minimum else 1
    most = said.get(JDB_MAX_UNAVAILABLE, "")
    if not most:
        return 1
    missing = total - count[Status.SUCCEEDED] - count[Status.FAILED] - running
    return max(0, _amount(most, total) - missing)


def _amount(text: str, total: int) -> int:
    """A whole number, or per cents of the total; 0 for anything else."""
    if _PER_CENT.fullmatch(text):
        return -(-int(text[:-1]) * total // 100)
    try:
        return int(text)
    except ValueError:
        return 0
