"""What pods and jobs say of being taken away: their budgets, `volcano.sh/jdb-min-available` and `jdb-max-unavailable`, and
whether they may be revoked, `volcano.sh/revocable-zone`."""

from __future__ import annotations

import re

from vcray.api.names import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE, PREEMPTABLE, REVOCABLE_ZONE
from vcray.core.tables import Notes, Status
from vcray.core.view import View

_PER_CENT = re.compile(r"\d+%")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


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


def revocable(notes: Notes) -> bool:
    """May a pod or job run on nodes that others will want back? Its zone is `*`, or it says no zone, but that it may be
    evicted."""
    said = dict(notes)
    if REVOCABLE_ZONE in said:
        return said[REVOCABLE_ZONE] == "*"
    return said.get(PREEMPTABLE) in _TRUE


def _amount(text: str, total: int) -> int:
    """A whole number, or per cents of the total; 0 for anything else."""
    if _PER_CENT.fullmatch(text):
        return -(-int(text[:-1]) * total // 100)
    try:
        return int(text)
    except ValueError:
        return 0
