"""Volcano's `gangpreempt`: a starving gang takes room from less valuable jobs of its own queue, as a whole or not at all.

Unlike `preempt` it counts for all members together, knows HyperNodes, and prefers pods that others can lose without stopping.
"""

from __future__ import annotations

from vcray.core.action import Action
from vcray.core.gangturns import GangArgs, run_gangs
from vcray.core.session import Session
from vcray.core.victims import ClaimKind


class GangPreempt(Action):
    """Evicts within a queue for whole gangs, by priority."""

    args_model = GangArgs

    def run(self, session: Session) -> None:
        """Queue by queue, one attempt a job."""
        args, _ = GangArgs.read(self.arguments, self.name)  # type: ignore[arg-type]
        run_gangs(session, ClaimKind.GANG_PREEMPT, args)
