"""Volcano's `allocate`: gangs first whole, then one task a turn.

A turn pops the first queue and its first job. Until the job is ready its tasks go as one batch, afterwards one a turn, so
that queues and jobs are weighed again between. What a turn takes off the worksheet is gone for the round, placed or not.
A gang that comes out neither ready nor promised is undone; one that is only promised keeps its room for the round.

Before all others come the jobs that pods were evicted for, as long as their room is there (`core/kept`), then gangs that had
started and lost pods (`core/holes`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from vcray.core import holes
from vcray.core.action import Action
from vcray.core.arrays import Int
from vcray.core.choose import Scope
from vcray.core.hopeless import Alike
from vcray.core.kept import Kept
from vcray.core.nearturn import NearTurn
from vcray.core.order import Turns, Worksheet
from vcray.core.plugin import Args
from vcray.core.session import Session
from vcray.core.tables import MISSING, Phase, Status
from vcray.core.turn import Turn


class AllocateArgs(Args):
    """Accepted without effect: Volcano's cache of refusals by node and role (masks are kept per shape), and how many nodes
    its agent scheduler proposes to a binder that may find them taken (here nobody else gives a node away meanwhile)."""

    cache: bool = Field(True, alias="predicateErrorCacheEnable")
    candidates: int = Field(3, alias="candidateNodeCount")


class Allocate(Action):
    """Gives nodes to pending tasks that request something."""

    steady = True
    args_model = AllocateArgs

    def run(self, session: Session) -> None:
        """Until every queue is dropped: overused, or without jobs that have tasks left."""
        rows, jobs = self._candidates(session)
        worksheet, jobs = self._worksheet(session, rows, jobs)
        alike = Alike(session, worksheet)
        through = self._kept_first(session, worksheet, alike, rows, jobs)
        through |= self._broken_first(session, worksheet, alike, [job for job in jobs if job not in through])
        turns = _turns(session, [job for job in jobs if job not in through])
        while (queue := turns.pop_queue()) is not None:
            if session.chains.queue_overused(session.view, queue):
                continue
            if self._turns_of(session, worksheet, alike, turns, queue):
                turns.push_queue(queue)
        if session.view.gates is not None:
            session.view.gates.lift(session)

    def _kept_first(
        self, session: Session, worksheet: Worksheet, alike: Alike, rows: Int, jobs: list[int]
    ) -> set[int]:
        """Turns of jobs that places are kept for; gives those that are through for the round, they or queue-mates."""
        through: set[int] = set()
        kept = Kept(session.placer, rows, jobs)
        if not kept.waiting:
            return through
        session.kept = kept
        for holder in kept.first(jobs, ranks=False):
            for unit in {worksheet.unit(task) for task in kept.tasks[holder]}:
                worksheet.lead(session.view, unit, set(kept.tasks[holder]))
        turns = _turns(session, kept.first(jobs, session.chains.verdicts.ranks))
        while (queue := turns.pop_queue()) is not None:
            if not kept.waits(queue) or session.chains.queue_overused(session.view, queue):
                continue
            job = turns.pop_job(queue)
            if job is None:
                continue
            if self._turn(session, worksheet, alike, job, queue):
                turns.push_job(job)
            else:
                through.add(job)
            kept.had_turn(job, job in through)
            turns.push_queue(queue)
        return through

    def _broken_first(
        self, session: Session, worksheet: Worksheet, alike: Alike, jobs: list[int]
    ) -> set[int]:
        """A turn for started gangs that lack pods, and then room for what they still lack; gives those that are through for the
        round, they or queue-mates."""
        through: set[int] = set()
        broken = holes.holes_of(session)
        if not broken:
            return through
        turns = _turns(session, holes.first(session.view, broken, jobs))
        while (queue := turns.pop_queue()) is not None:
            job = None if session.chains.queue_overused(session.view, queue) else turns.pop_job(queue)
            if job is None:
                continue
            if not self._turn(session, worksheet, alike, job, queue):
                through.add(job)
            turns.push_queue(queue)
        holes.keep(session, broken)
        return through

    def _turns_of(
        self, session: Session, worksheet: Worksheet, alike: Alike, turns: Turns, queue: int
    ) -> bool:
        """Turns of a queue's jobs until one changed something; False when the queue has no jobs left.

        While nothing is placed no queue's key moves, so the same queue would come first again."""
        ledger = session.ledger
        while (job := turns.pop_job(queue)) is not None:
            if alike.repeats(job):
                continue
            version = ledger.version
            comes_again = self._turn(session, worksheet, alike, job, queue)
            if comes_again:
                turns.push_job(job)
            if comes_again or ledger.version != version:
                return True
        return False

    @staticmethod
    def _turn(session: Session, worksheet: Worksheet, alike: Alike, job: int, queue: int) -> bool:
        """True when the job has tasks left and may come again."""
        watch, commits = session.watch, len(session.ledger.commits)
        if watch is None:
            return _job_turn(session, worksheet, alike, job, queue)
        watch("turn", job)
        comes_again = _job_turn(session, worksheet, alike, job, queue)
        if len(session.ledger.commits) > commits:
            watch("commit", job)
        return comes_again

    @staticmethod
    def _candidates(session: Session) -> tuple[Int, list[int]]:
        """Pending tasks that request something, of admitted jobs, and the valid ones of these jobs."""
        view, chains = session.view, session.chains
        jobs, tasks = view.snapshot.jobs, view.snapshot.tasks
        phase = view.jobs.phase
        owned = (jobs.queue != MISSING) & ~jobs.released
        if not session.policy.has_action("enqueue"):
            phase[owned & (phase <= Phase.PENDING)] = Phase.INQUEUE
        wanted = (view.status == Status.PENDING) & ~tasks.gated
        wanted &= (owned & (phase > Phase.PENDING))[tasks.job]
        rows = np.flatnonzero(wanted)
        rows = rows[~view.best_effort[tasks.shape[rows]]]
        jobs_of_rows = np.unique(tasks.job[rows]).tolist()
        return rows, [job for job in jobs_of_rows if chains.job_valid(view, job) is None]

    @staticmethod
    def _worksheet(session: Session, rows: Int, jobs: list[int]) -> tuple[Worksheet, list[int]]:
        """A unit for each job, or for each part of one that has parts; jobs with a topology only while HyperNodes form a forest."""
        view, chains = session.view, session.chains
        parts = view.subjobs
        if not parts.all:
            return Worksheet(view, chains, rows), jobs
        if not view.hypernodes.ready:
            jobs = [job for job in jobs if job not in parts.of_job or not parts.of_job[job].stays_near]
        count = len(view.snapshot.jobs)
        unit = np.where(parts.of_task == MISSING, view.snapshot.tasks.job, count + parts.of_task)
        return Worksheet(view, chains, rows, unit, count + len(parts.all)), jobs


def _turns(session: Session, jobs: list[int]) -> Turns:
    queues = np.unique(session.view.snapshot.jobs.queue[jobs]).tolist()
    return Turns(session.view, session.chains, jobs, queues)


def _job_turn(session: Session, worksheet: Worksheet, alike: Alike, job: int, queue: int) -> bool:
    parts = session.view.subjobs.of_job.get(job)
    if parts is None:
        return _flat_turn(session, Turn(session, worksheet, job, queue, unit=job), alike)
    first = len(session.view.snapshot.jobs)
    if not parts.flat:
        return NearTurn(session, worksheet, parts, queue, first).run()
    sub = parts.subjobs[0]
    scope = Scope(session.view.hypernodes.top, None, sub, sub.allocated)
    return _flat_turn(
        session, Turn(session, worksheet, job, queue, first + sub.number, sub, scope=scope), alike
    )


def _flat_turn(session: Session, turn: Turn, alike: Alike) -> bool:
    """Place, then commit, keep or undo; True when the job has tasks left and may come again."""
    job = turn.job
    if alike.known_to_fail(turn):
        return False
    mark = session.ledger.checkpoint()
    if turn.place(mark) or session.chains.job_ready(session.view, job):
        session.ledger.commit(job, session.ledger.allocated_since(mark))
        return turn.worksheet.left(turn.unit) > 0
    if not session.chains.job_pipelined(session.view, job):
        session.ledger.rollback(mark)
    return False
