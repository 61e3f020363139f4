"""Volcano's `backfill`: pods that request nothing go wherever plugins let them.

Neither room nor quota is looked at. Once a job is ready after such a placement, all its allocated tasks leave: here gangs
that mix in best-effort pods complete. One that fits nowhere does not stop the others.

What a pod that was evicted in this round holds (its slot, host ports, neighbourhood) filters take for free, as it will be once the
pod is gone. Its node is therefore only promised: a later round sees the pod ending, and binds when nothing is in the way.

A pod of a job or sub-group whose topology is hard stays within the HyperNode where its mates may be.

Room that was made by evictions goes to those whom it was made for first (`core/kept`), also to those that an `allocate` which is
still to come will place.
"""

from __future__ import annotations

from collections.abc import Set
from functools import reduce
from typing import NamedTuple

import numpy as np
from pydantic import Field

from vcray.core.action import Action
from vcray.core.arrays import Int
from vcray.core.choose import Scope
from vcray.core.hypernodes import HyperNodes
from vcray.core.kept import nominees
from vcray.core.mates import lets_all
from vcray.core.order import Turns, Worksheet
from vcray.core.plugin import Args
from vcray.core.reasons import no_hypernode
from vcray.core.session import Session
from vcray.core.tables import MISSING, Phase, Status
from vcray.core.view import View


class BackfillArgs(Args):
    """Volcano's cache of refusals by node and role is accepted, without effect: masks are kept per shape."""

    cache: bool = Field(True, alias="predicateErrorCacheEnable")


class Backfill(Action):
    """Places best-effort tasks, one by one, in the order of queues, jobs and tasks as they stood at its start."""

    steady = True
    args_model = BackfillArgs

    def run(self, session: Session) -> None:
        """Collect first, then place."""
        found = self._collect(session)
        kept = nominees(session.placer) if found else {}
        found.sort(key=lambda pair: pair[1] not in kept)
        left = {session.ledger.node[task] for task, _ in session.ledger.evictions()}
        spared = set(kept.values()) if "allocate" in session.to_come else set()
        first = _Nodes(_without(session, left), None)
        others = _Nodes(_without(session, left | spared), _without(session, spared))
        for job, task in found:
            self._place(session, job, task, first if task in kept else others)

    @staticmethod
    def _collect(session: Session) -> list[tuple[int, int]]:
        view, chains = session.view, session.chains
        jobs, tasks = view.snapshot.jobs, view.snapshot.tasks
        open_jobs = (jobs.queue != MISSING) & (view.jobs.phase > Phase.PENDING)
        wanted = (
            np.isin(view.status, (Status.PENDING, Status.PIPELINED)) & ~tasks.gated & open_jobs[tasks.job]
        )
        rows = np.flatnonzero(wanted)
        rows = rows[view.best_effort[tasks.shape[rows]]]
        if not len(rows):
            return []
        candidates = np.unique(tasks.job[rows]).tolist()
        chosen = [job for job in candidates if chains.job_valid(view, job) is None]
        rows = rows[np.isin(tasks.job[rows], chosen)]
        sheet = Worksheet(view, chains, rows)
        turns = Turns(view, chains, chosen, np.unique(jobs.queue[chosen]).tolist())
        found = []
        while (queue := turns.pop_queue()) is not None:
            while (job := turns.pop_job(queue)) is not None:
                found += [(job, task) for task in sheet.remaining(job).tolist()]
        return found

    @staticmethod
    def _place(session: Session, job: int, task: int, nodes: _Nodes) -> None:
        """Bind the task to the best of the settled nodes, else keep its promise or make one on those that are free for it."""
        view, ledger, placer = session.view, session.ledger, session.placer
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        mark, promised = ledger.checkpoint(), view.status[task] == Status.PIPELINED
        if promised:
            ledger.withdraw(task)
        near = _near(session, task)
        if placer.place(job, shape, [task], _scope(session, nodes.settled, near)):
            if session.chains.job_ready(view, job):
                rows = view.tasks_of_job[job]
                ledger.commit(job, rows[view.status[rows] == Status.ALLOCATED].tolist())
        elif promised:
            ledger.rollback(mark)
        elif nodes.settled is None or not placer.promise(job, shape, task, _scope(session, nodes.free, near)):
            session.record.refused[task] = _why(session, job, task, near)
        if near is not None and ledger.node[task] != MISSING:
            _joins(view, task, ledger.node[task])


class _Nodes(NamedTuple):
    """Rows of the nodes that a pod may be bound to, and of those that it may be promised; None: all."""

    settled: Int | None
    free: Int | None


def _without(session: Session, nodes: Set[int]) -> Int | None:
    """Rows of all nodes but these; None: all."""
    if not nodes:
        return None
    rows = np.arange(len(session.view.snapshot.nodes))
    return rows[~np.isin(rows, sorted(nodes))]


def _scope(session: Session, rows: Int | None, near: Int | None) -> Scope | None:
    if near is not None:
        rows = near if rows is None else np.intersect1d(rows, near)
    return None if rows is None else Scope(session.view.hypernodes.top, rows)


def _near(session: Session, task: int) -> Int | None:
    """Rows of the nodes where a hard topology, of the task's job and of its sub-group, lets it be; None: everywhere.

    The first pod of a part goes into a HyperNode where its mates find slots, and nodes that let them in, if there is one."""
    view, tree = session.view, session.view.hypernodes
    parts, sub = view.subjobs.of_job.get(int(view.snapshot.tasks.job[task])), view.subjobs.of(task)
    if parts is None or sub is None or not session.chains.parts.domains:
        return None
    allowed: list[Int] = []
    better: list[Int] = []
    for part, subjobs in ((parts, parts.subjobs), (sub, (sub,))):
        if part.limit is None or part.limit >= tree.highest:
            continue
        around = tree.around(part.allocated, part.limit)
        pending = np.concatenate([mates.tasks for mates in subjobs])
        pending = pending[view.status[pending] == Status.PENDING]
        good = [row for row in around if part.allocated != MISSING or lets_all(session, pending, row)]
        allowed.append(_rows_of(tree, around))
        better.append(_rows_of(tree, good or around))
    if not allowed:
        return None
    rows: Int = reduce(np.intersect1d, better)
    return rows if len(rows) else reduce(np.intersect1d, allowed)


def _rows_of(tree: HyperNodes, hypernodes: list[int]) -> Int:
    return np.unique(np.concatenate([*map(tree.rows, hypernodes), np.zeros(0, dtype=np.int64)]))


def _why(session: Session, job: int, task: int, near: Int | None) -> str:
    """Why a task was given no node."""
    view, placer = session.view, session.placer
    shape = view.shapes[int(view.snapshot.tasks.shape[task])]
    if near is None:
        return placer.explain(job, shape)
    if not len(near):
        sub, limit = view.subjobs.of(task), view.subjobs.of_job[job].limit
        return no_hypernode(limit if sub is None or sub.limit is None else sub.limit)
    return placer.explain(job, shape, Scope(view.hypernodes.covering(near.tolist()), near))


def _joins(view: View, task: int, node: int) -> None:
    """The HyperNode over the mates of a task grows as far as the node that it was given."""
    tree, sub = view.hypernodes, view.subjobs.of(task)
    parts = view.subjobs.of_job[int(view.snapshot.tasks.job[task])]
    here = tree.covering([node])
    if sub is not None and sub.near:
        sub.allocated = tree.lca(sub.allocated, here)
    parts.allocated = tree.lca(parts.allocated, here)
