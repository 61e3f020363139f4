"""`vcray bench stuck`: what gangs that cannot fit cost, round after round.

A cluster with nearly no room and gangs of several shapes that wait for more. Measured is the processor time of `decide()` with
Volcano's Helm default configuration: the first round, rounds in which a node lost more of its room, rounds in which a
PodGroup was written and nothing else changed, and rounds in which a pod that has its node began to run; none of these can help a gang.
Caches are carried from round to round as the coordinator does.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from vcray.bench.allocate import helm_policy, prepared
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy
from vcray.core.session import Carry, decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import GroupStatus, Phase, Status

ROOM = 400
"""Milli-cpu that are left on each node: less than any pod of `prepared` asks for."""


@dataclass(frozen=True, slots=True)
class StuckResult:
    """Milliseconds of processor time a round; `placed` must be 0. `round_ms`: a node has less room; `quiet_ms`: a PodGroup
    was written; `start_ms`: a pod began to run; `without_ms`: a whole round on a cluster without the gangs."""

    nodes: int
    gangs: int
    gang: int
    shapes: int
    placed: int
    first_ms: float
    round_ms: float
    quiet_ms: float
    start_ms: float
    without_ms: float


def full(nodes: int, gangs: int, gang: int, shapes: int) -> Snapshot:
    """A gang that has its nodes, and others that were admitted and wait, on a cluster with `ROOM` on each node."""
    snapshot = prepared(nodes, (gangs + 1) * gang, gang, shapes)
    table, tasks = snapshot.nodes, snapshot.tasks
    status, node = tasks.status.copy(), tasks.node.copy()
    bound = np.flatnonzero(tasks.job == 0)
    status[bound], node[bound] = Status.BOUND, np.arange(len(bound)) % nodes
    used = table.allocatable.copy()
    used[0] -= ROOM
    used[2:] -= table.allocatable[2:] // 2
    waiting = (GroupStatus(Phase.INQUEUE, 0, 0, 0, ()),) * len(snapshot.jobs)
    return replace(
        snapshot,
        nodes=replace(table, used=used, requested=used, requested_floor=used[:2]),
        tasks=replace(tasks, status=status, node=node),
        jobs=replace(snapshot.jobs, status=waiting),
    )


def run_stuck(nodes: int, gangs: int, gang: int, shapes: int, rounds: int = 5) -> StuckResult:
    """Measure. ValueError when a size is below 1 or the pods would not fit an empty cluster."""
    snapshot = full(nodes, gangs, gang, shapes)
    policy, carry = helm_policy(), Carry()
    decide(full(nodes, 1, 1, 1), policy)
    first, decisions = _timed(snapshot, policy, carry)
    placed = sum(len(commit.binds) for commit in decisions.commits)
    told = answered(snapshot, decisions)
    filling, quiet, starting = [], [], []
    for number in range(rounds):
        told = fuller(told, number)
        filling.append(_timed(told, policy, carry)[0])
        told = rewritten(told, number)
        quiet.append(_timed(told, policy, carry)[0])
        told = started(told, number)
        elapsed, decisions = _timed(told, policy, carry)
        starting.append(elapsed)
        told = answered(told, decisions)
    alone = full(nodes, 1, 1, 1)
    other = Carry()
    without = [_timed(replace(alone, generation=number), policy, other)[0] for number in range(rounds + 1)]
    return StuckResult(
        nodes=nodes,
        gangs=gangs,
        gang=gang,
        shapes=shapes,
        placed=placed,
        first_ms=round(first, 1),
        round_ms=round(median(filling), 1),
        quiet_ms=round(median(quiet), 1),
        start_ms=round(median(starting), 1),
        without_ms=round(median(without[1:]), 1),
    )


def _timed(snapshot: Snapshot, policy: Policy, carry: Carry) -> tuple[float, Decisions]:
    gc.collect()
    started = time.process_time()
    decisions = decide(snapshot, policy, carry)
    return (time.process_time() - started) * 1000, decisions


def answered(snapshot: Snapshot, decisions: Decisions) -> Snapshot:
    """The snapshot after a round's statuses were written."""
    rows = {name: row for row, name in enumerate(snapshot.jobs.names)}
    status = list(snapshot.jobs.status)
    for update in decisions.groups:
        status[rows[update.job]] = update.status
    return replace(
        snapshot, generation=snapshot.generation + 1, jobs=replace(snapshot.jobs, status=tuple(status))
    )


def rewritten(snapshot: Snapshot, number: int) -> Snapshot:
    """Somebody wrote a PodGroup of those that wait, in a way that matters to nobody; the tables are new ones, as from a cache."""
    jobs = snapshot.jobs
    versions = list(jobs.resource_version)
    versions[1 + number % (len(versions) - 1)] = f"again-{number}"
    return replace(
        snapshot,
        generation=snapshot.generation + 1,
        nodes=replace(snapshot.nodes, used=snapshot.nodes.used.copy()),
        jobs=replace(jobs, resource_version=tuple(versions)),
    )


def started(snapshot: Snapshot, number: int) -> Snapshot:
    """A pod of the first gang runs now, or no longer does."""
    tasks = snapshot.tasks
    status = tasks.status.copy()
    row = np.flatnonzero(tasks.job == 0)[number % int((tasks.job == 0).sum())]
    status[row] = Status.BOUND if status[row] == Status.RUNNING else Status.RUNNING
    return replace(snapshot, generation=snapshot.generation + 1, tasks=replace(tasks, status=status))


def fuller(snapshot: Snapshot, number: int) -> Snapshot:
    """A node has less room than before."""
    used = snapshot.nodes.used.copy()
    used[0, number % used.shape[1]] += 1
    nodes = replace(snapshot.nodes, used=used, requested=used, requested_floor=used[:2])
    return replace(snapshot, generation=snapshot.generation + 1, nodes=nodes)
