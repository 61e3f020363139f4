"""Volcano's `enqueue`: admits pending PodGroups, so that their controllers may create pods.

Every pending group is asked once a round; one that is refused blocks nobody behind it.
"""

from __future__ import annotations

import numpy as np

from vcray.core.action import Action
from vcray.core.decisions import Event
from vcray.core.hooks import Vote
from vcray.core.order import Turns
from vcray.core.session import Session
from vcray.core.tables import MISSING, Phase


class Enqueue(Action):
    """Pending -> Inqueue, in queue and job order, as plugins permit."""

    steady = True

    def run(self, session: Session) -> None:
        """Groups without minResources are always admitted; the others by the plugins' votes. Released ones do not ask."""
        view, chains = session.view, session.chains
        jobs = view.snapshot.jobs
        owned = (jobs.queue != MISSING) & ~jobs.released
        waiting = np.flatnonzero(owned & (view.jobs.phase <= Phase.PENDING)).tolist()
        if not waiting:
            return
        turns = Turns(view, chains, waiting, np.unique(jobs.queue[owned]).tolist())
        while (queue := turns.pop_queue()) is not None:
            job = turns.pop_job(queue)
            if job is None:
                continue
            if self._admitted(session, job):
                for charge in chains.enqueueds:
                    charge(view, job)
                view.jobs.phase[job] = Phase.INQUEUE
            turns.push_queue(queue)

    @staticmethod
    def _admitted(session: Session, job: int) -> bool:
        jobs = session.view.snapshot.jobs
        if not jobs.min_resources_set[job]:
            return True
        answer = session.chains.job_enqueueable(session.view, job)
        if answer.vote is not Vote.REJECT:
            return True
        if answer.message:
            event = Event(
                "PodGroup", jobs.names[job], jobs.uids[job], "Normal", "Unschedulable", answer.message
            )
            session.record.events.append(event)
        return False
