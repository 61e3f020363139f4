"""Gangs that had started and lost pods come first, and the room of the lost pods is kept for them a while.

What is left of such a gang holds its nodes for nothing, so its new pods are worth more than any that would start something. Such
jobs (`KeepsHoles`) have a turn before all others, but for jobs of higher priority in their queues. What the gang still lacks
then, be it that only part of it fits or that the new pods are not there yet, is set aside where it fits now: amounts alone, on
the nodes that suit best, for this round. Without that the next pod that comes takes the hole, and a gang that lost two pods
never gets both places at one time (volcano-sh/volcano#5805).

Since when a gang lacks pods is read from the conditions of its PodGroup, so a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import numpy as np

from vcray.core.arrays import Bool, Int, Int32
from vcray.core.choose import Scope
from vcray.core.hooks import KeepsHoles
from vcray.core.order import ascending_tasks, job_keys
from vcray.core.selectors import lending
from vcray.core.session import Session
from vcray.core.tables import ALLOCATED_STATUS, MISSING, Phase, Status
from vcray.core.view import View

_HOLDS = np.array(ALLOCATED_STATUS)


def holes_of(session: Session) -> dict[int, float]:
    """Jobs (rows) for which room is kept -> until when (seconds)."""
    found: dict[int, float] = {}
    for plugin in session.chains.offering(KeepsHoles, "enableJobReady"):  # type: ignore[type-abstract]
        for job, until in plugin.holes(session.view).items():
            found[job] = max(until, found.get(job, until))
    return found


def first(view: View, holes: Iterable[int], jobs: Sequence[int]) -> list[int]:
    """Those of `jobs` that have a turn before the others: gangs with a hole, and those of higher priority in their queues."""
    table = view.snapshot.jobs
    own, rows = np.array(list(holes), dtype=np.int64), np.array(jobs, dtype=np.int64)
    least = np.full(len(view.snapshot.queues), np.iinfo(np.int64).max)
    np.minimum.at(least, table.queue[own], table.priority[own])
    chosen = np.isin(rows, own) | (table.priority[rows] > least[table.queue[rows]])
    found: list[int] = rows[chosen].tolist()
    return found


def keep(session: Session, holes: Container[int]) -> None:
    """Set aside what gangs with a hole still lack, in the order of jobs; nothing for one that has lost all by now."""
    view, chains = session.view, session.chains
    live = (view.jobs.phase > Phase.PENDING) & (view.jobs.count[_HOLDS].sum(axis=0) > 0)
    jobs = [job for job in np.flatnonzero(live).tolist() if job in holes]
    for _, job in sorted(zip(job_keys(view, chains, jobs), jobs, strict=True)):
        if not chains.job_ready(view, job) and not chains.job_pipelined(view, job):
            _set_aside(session, job)


def _set_aside(session: Session, job: int) -> None:
    """Room for the pods that wait, as far as their queue lets them in, then for those that are not there yet: of these no queue
    knows, and shares may follow demand."""
    view, chains, table = session.view, session.chains, session.view.snapshot.tasks
    queue = int(view.snapshot.jobs.queue[job])
    inside, scope = _scope(view, job)
    if not inside:
        return
    waiting = _waiting(session, job)
    need = chains.gang_need(view, job, waiting)
    overused = chains.queue_overused(view, queue)
    for task in waiting[:need].tolist():
        shape = view.shapes[int(table.shape[task])]
        if not overused and chains.queue_allows(view, queue, shape, 1):
            for node in session.placer.vacant(job, shape, task, scope):
                session.ledger.set_aside(job, shape, node)
    if need > len(waiting):
        _for_those_to_come(session, job, need - len(waiting), None if scope is None else scope.rows)


def _waiting(session: Session, job: int) -> Int:
    """The job's pods that could be placed, in order."""
    view, table = session.view, session.view.snapshot.tasks
    rows = view.tasks_of_job[job]
    waits = (view.status[rows] == Status.PENDING) & ~table.gated[rows] & ~view.best_effort[table.shape[rows]]
    return ascending_tasks(view, session.chains, rows[waits], table.job[rows[waits]])


def _for_those_to_come(session: Session, job: int, count: int, inside: Int | None) -> None:
    """Where failed pods of the job are, then on other nodes like those of its pods. What such a pod asks of nodes is not known
    before it is there; amounts are those of a pod that is."""
    view, table = session.view, session.view.snapshot.tasks
    rows = view.tasks_of_job[job]
    held = rows[np.isin(view.status[rows], _HOLDS)]
    shape = view.shapes[int(table.shape[_example(session, job, held)])]
    allowed = _alike(view, table.node[held])
    if inside is not None:
        allowed &= np.isin(np.arange(len(allowed)), inside)
    failed = rows[(view.status[rows] == Status.FAILED) & (table.node[rows] != MISSING)].tolist()
    for _ in range(count):
        able = allowed.copy()
        for r in shape.nonzero:
            able &= np.minimum(view.nodes.idle[r], view.nodes.future[r]) >= shape.req[r]
        if not able.any():
            return
        theirs = [int(table.node[task]) for task in sorted(failed, key=table.names.__getitem__)]
        node = next((node for node in theirs if able[node]), None)
        if node is None:
            node = int(np.where(able, view.snapshot.nodes.tie, -1).argmax())
        session.ledger.set_aside(job, shape, node)


def _alike(view: View, nodes: Int32) -> Bool:
    """(N,) nodes in service with no other taints than those of the given ones."""
    table = view.snapshot.nodes
    known = table.tainted[:, nodes[nodes != MISSING]].any(axis=1)
    keeps_out = np.array([taint.effect != "PreferNoSchedule" for taint in table.taints], dtype=np.bool_)
    in_service: Bool = lending(table)
    return in_service & ~table.tainted[keeps_out & ~known].any(axis=0)


def _example(session: Session, job: int, held: Int) -> int:
    """The least valuable pod of the job that holds a node, of a role that is short where roles have minimums."""
    view, table = session.view, session.view.snapshot.tasks
    roles = table.role[held]
    short = [
        role
        for role, least in view.snapshot.jobs.role_minimum[job]
        if least > int((roles == role).sum()) and (roles == role).any()
    ]
    if short:
        held = held[np.isin(roles, short)]
    return int(ascending_tasks(view, session.chains, held, table.job[held])[-1])


def _scope(view: View, job: int) -> tuple[bool, Scope | None]:
    """Where the job's pods may go. False: nobody can tell, since its sub-groups go to parts of their own, or its tier is left."""
    tree, parts = view.hypernodes, view.subjobs.of_job.get(job)
    if parts is None:
        return True, None
    sub = parts.subjobs[0]
    if parts.flat:
        return True, Scope(tree.top, None, sub, sub.allocated)
    if parts.grouped or parts.limit is None or sub.allocated == MISSING or not tree.ready:
        return False, None
    around = tree.around(sub.allocated, parts.limit)
    if not around:
        return False, None
    rows = None if around[0] == tree.top else tree.rows(around[0])
    return True, Scope(around[0], rows, sub, sub.allocated)
