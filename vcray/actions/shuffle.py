"""Volcano's `shuffle`: evicts what plugins want to be elsewhere (`victim_tasks`): nodes out of balance, rented hours that end.

Nobody claims the room here, so nothing has to fit; queues and gangs are not looked at.
"""

from __future__ import annotations

import numpy as np

from vcray.core.action import Action
from vcray.core.session import Session
from vcray.core.tables import MISSING, Status


class Shuffle(Action):
    """Evicts running tasks that some plugin of the first tier with an answer names."""

    def run(self, session: Session) -> None:
        """Ask once, evict each."""
        view, table = session.view, session.view.snapshot.tasks
        rows = np.flatnonzero((view.status == Status.RUNNING) & (table.node != MISSING))
        if not len(rows):
            return
        named = session.chains.verdicts.victim_tasks(view, rows)
        for task in sorted(rows[named].tolist(), key=table.names.__getitem__):
            session.ledger.evict(task, self.name)
