"""Volcano's `overcommit`: let in no more groups than the cluster times a factor could run.

Budget = cluster total x factor - used. A group that was let in and has not placed its pods holds its `minResources` of it.
Unlike Volcano (volcano-sh/volcano#3670), an Inqueue group holds budget only against groups of its own or lower
priority, and no more than the budget of the nodes where its pods could ever run: a crowd that waits for one pool, or
waits at low priority, cannot shut the door on others. What a started (Running) group has not placed of its minimum
counts against everyone. Groups that are Completed hold nothing (volcano-sh/volcano#2633).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from vcray.core.arrays import Bool, Int
from vcray.core.hooks import Answer, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.selectors import lending, reachable
from vcray.core.space import PODS
from vcray.core.tables import ALLOCATED_STATUS, Phase, Status
from vcray.core.view import View


class OvercommitArgs(Args):
    """`factor`: below 1 counts as the default."""

    minimums: ClassVar[dict[str, float]] = {"overcommit-factor": 1}

    factor: float = Field(1.2, alias="overcommit-factor")


class Overcommit(Plugin[OvercommitArgs]):
    """A gate before pods exist. Session state: `idle_` the whole budget, `pools_` who waits for which nodes."""

    steady = True
    args_model = OvercommitArgs

    def open(self, view: View) -> None:
        """Budget of the cluster and what groups hold of it already."""
        self.reach_: dict[int, Bool] = {}
        self.pool_of_: dict[tuple[int, ...], _Pool] = {}
        self.pools_: dict[bytes, _Pool] = {}
        everywhere = np.ones(len(view.snapshot.nodes), dtype=bool)
        self.idle_ = self._budget(view, everywhere)
        held, waiting, started = _held_by_job(view)
        self.started_: list[int] = held[:, started].sum(axis=1).tolist()
        for shapes, priority, rows in _alike(view, waiting):
            self._pool(view, shapes).hold(priority, held[:, rows].sum(axis=1).tolist())

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """Does the whole minimum fit the budget beside what others hold against this group?"""
        jobs = view.snapshot.jobs
        if not jobs.min_resources_set[job]:
            return Answer(Vote.PERMIT)
        priority = int(jobs.priority[job])
        held: list[Sequence[float]] = [
            self.started_,
            *(pool.against(priority) for pool in self.pools_.values()),
        ]
        over = [
            view.space.names[row]
            for row, amount in enumerate(jobs.min_resources[:, job].tolist())
            if amount > 0 and row != PODS and sum(pool[row] for pool in held) + amount > self.idle_[row]
        ]
        if not over:
            return Answer(Vote.PERMIT)
        names = ", ".join(f"overused {name}" for name in over)
        return Answer(Vote.REJECT, f"resource in cluster is overused: {names}")

    def job_enqueued(self, view: View, job: int) -> None:
        """The group's minimum, without what its gated pods ask, is held from now on."""
        jobs = view.snapshot.jobs
        held = np.maximum(jobs.min_resources[:, job] - jobs.requested_gated[:, job], 0)
        self._pool(view, _pending_shapes(view, job)).hold(int(jobs.priority[job]), held.tolist())

    def _pool(self, view: View, shapes: tuple[int, ...]) -> _Pool:
        """The pool of groups whose pending pods have these shapes."""
        pool = self.pool_of_.get(shapes)
        if pool is None:
            where = self._where(view, shapes)
            nodes = where.tobytes()
            if nodes not in self.pools_:
                self.pools_[nodes] = _Pool(self._budget(view, where))
            pool = self.pool_of_[shapes] = self.pools_[nodes]
        return pool

    def _budget(self, view: View, where: Bool) -> list[float]:
        """Factor x total - used over some nodes; a dead or cordoned node counts with what runs on it."""
        nodes, factor = view.snapshot.nodes, self.args.factor if self.args.factor >= 1 else 1.2
        total = np.where(lending(nodes), nodes.allocatable, nodes.used)
        lent: Int = np.where(where, total, 0).sum(axis=1)
        used: Int = np.where(where, view.nodes.used, 0).sum(axis=1)
        budget: list[float] = (lent * factor - used).tolist()
        return budget

    def _where(self, view: View, shapes: tuple[int, ...]) -> Bool:
        """(N,) nodes where a pending pod of any of the shapes could ever run; all for a group that has no such pod."""
        nodes = view.snapshot.nodes
        where = np.full(len(nodes), not shapes)
        for shape in shapes:
            if shape not in self.reach_:
                fits = (nodes.allocatable >= view.shapes[shape].request[:, None]).all(axis=0)
                self.reach_[shape] = reachable(nodes, view.shapes[shape].spec) & fits
            where |= self.reach_[shape]
        return where


class _Pool:
    """What groups that can run on the same nodes hold, by priority; never more than the budget of these nodes."""

    def __init__(self, budget: list[float]) -> None:
        self._budget = [max(amount, 0.0) for amount in budget]
        self._held: dict[int, list[int]] = {}
        self._against: dict[int, list[float]] = {}

    def hold(self, priority: int, amounts: list[int]) -> None:
        known = self._held.get(priority)
        self._held[priority] = (
            amounts if known is None else [a + b for a, b in zip(known, amounts, strict=True)]
        )
        self._against.clear()

    def against(self, priority: int) -> list[float]:
        """What counts against a group of that priority: holders of its own priority and above."""
        found = self._against.get(priority)
        if found is None:
            counted = [held for other, held in self._held.items() if other >= priority]
            sums = [sum(amounts) for amounts in zip(*counted, strict=True)] or [0] * len(self._budget)
            found = [min(a, b) for a, b in zip(sums, self._budget, strict=True)]
            self._against[priority] = found
        return found


def _held_by_job(view: View) -> tuple[Int, Int, Int]:
    """(R, J) what groups hold when the session opens, and the rows of those that do: Inqueue ones their minimum, Running
    ones that started what of their minimum is not placed; requests of gated pods left out."""
    jobs, live = view.snapshot.jobs, view.jobs
    minimum = np.where(jobs.min_resources_named, jobs.min_resources, 0)
    placed = live.count[list(ALLOCATED_STATUS)].sum(axis=0)
    started = (live.phase == int(Phase.RUNNING)) & (placed >= jobs.min_available)
    rest = np.where(started, np.maximum(minimum - live.allocated, 0), minimum)
    held: Int = np.maximum(rest - jobs.requested_gated, 0)
    known = jobs.queue >= 0
    waiting = known & (live.phase == int(Phase.INQUEUE)) & held.any(axis=0)
    return held, np.flatnonzero(waiting), np.flatnonzero(known & started)


def _alike(view: View, jobs: Int) -> Iterator[tuple[tuple[int, ...], int, list[int]]]:
    """(shapes of pending pods, priority, groups) of groups that wait for the same nodes at the same priority.

    Thousands of groups may wait; most have pods of one shape or none yet, so these are found by column."""
    tasks = view.snapshot.tasks
    pending = np.flatnonzero(view.status == int(Status.PENDING))
    none = len(view.shapes)
    low = np.full(len(view.snapshot.jobs), none, dtype=np.int64)
    high = np.full(len(view.snapshot.jobs), -1, dtype=np.int64)
    np.minimum.at(low, tasks.job[pending], tasks.shape[pending])
    np.maximum.at(high, tasks.job[pending], tasks.shape[pending])
    groups: dict[tuple[tuple[int, ...], int], list[int]] = {}
    columns = (low[jobs], high[jobs], view.snapshot.jobs.priority[jobs])
    for job, first, last, priority in zip(jobs.tolist(), *(c.tolist() for c in columns), strict=True):
        shapes = () if first == none else (first,) if first == last else _pending_shapes(view, job)
        groups.setdefault((shapes, priority), []).append(job)
    for (shapes, priority), members in groups.items():
        yield shapes, priority, members


def _pending_shapes(view: View, job: int) -> tuple[int, ...]:
    """Shapes of a group's pending pods, each once, in row order."""
    rows = view.tasks_of_job[job]
    pending = rows[view.status[rows] == int(Status.PENDING)]
    return tuple(sorted(set(view.snapshot.tasks.shape[pending].tolist())))
