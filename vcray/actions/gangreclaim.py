"""Volcano's `gangreclaim`: a starving gang of a queue that is short takes room from other queues, as a whole or not at all."""

from __future__ import annotations

from vcray.core.action import Action
from vcray.core.gangturns import GangArgs, run_gangs
from vcray.core.session import Session
from vcray.core.victims import ClaimKind


class GangReclaim(Action):
    """Evicts across queues for whole gangs, by what queues deserve."""

    args_model = GangArgs

    def run(self, session: Session) -> None:
        """One job a turn; queues are weighed again between."""
        args, _ = GangArgs.read(self.arguments, self.name)  # type: ignore[arg-type]
        run_gangs(session, ClaimKind.GANG_RECLAIM, args)
