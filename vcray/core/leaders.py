"""Pods that lead their gang: its other pods do no work without them (a Ray head, the host of a rendezvous), so they go last.

Told by the highest task priority there is, which also has them placed first.
"""

from __future__ import annotations

import numpy as np

from vcray.api.names import LEADING
from vcray.core.arrays import Bool, Int
from vcray.core.tables import ALLOCATED_STATUS
from vcray.core.view import View


def must_stay(view: View, tasks: Int) -> Bool | None:
    """(k,) Does a task (row) lead a job of which others hold nodes? None where no task leads."""
    table = view.snapshot.tasks
    stay: Bool = table.priority[tasks] == LEADING
    if not stay.any():
        return None
    for job in np.unique(table.job[tasks[stay]]).tolist():
        rows = view.tasks_of_job[job]
        others = (table.priority[rows] != LEADING) & np.isin(view.status[rows], ALLOCATED_STATUS)
        if not others.any():
            stay = stay & (table.job[tasks] != job)
    return stay
