"""`vcray bench stuck`: what gangs that cannot fit cost, round after round.

A cluster with nearly no room and gangs of several shapes that wait for more. Measured is the processor time of `decide()` with
Volcano's Helm default configuration: the first round, rounds in which a status was written and nothing else changed, and
rounds in which a node lost more of its room; none of these can help a gang. Caches are carried from round to round as
the coordinator does.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, replace
from statistics import median

from vcray.bench.allocate import helm_policy, prepared
from vcray.core.policy import Policy
from vcray.core.session import Carry, decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import GroupStatus, Phase

ROOM = 400
"""Milli-cpu that are left on each node: less than any pod of `prepared` asks for."""


@dataclass(frozen=True, slots=True)
class StuckResult:
    """Milliseconds of processor time a round; `placed` must be 0. `quiet_ms`: a round after which nothing changed that could
    help, `without_ms`: the same round on a cluster without the gangs."""

    nodes: int
    gangs: int
    gang: int
    shapes: int
    placed: int
    first_ms: float
    round_ms: float
    quiet_ms: float
    without_ms: float


def full(nodes: int, gangs: int, gang: int, shapes: int) -> Snapshot:
    """Gangs that were admitted and wait on a cluster with `ROOM` on each node."""
    snapshot = prepared(nodes, gangs * gang, gang, shapes)
    table = snapshot.nodes
    used = table.allocatable.copy()
    used[0] -= ROOM
    used[2:] -= table.allocatable[2:] // 2
    waiting = (GroupStatus(Phase.INQUEUE, 0, 0, 0, ()),) * len(snapshot.jobs)
    return replace(
        snapshot,
        nodes=replace(table, used=used, requested=used, requested_floor=used[:2]),
        jobs=replace(snapshot.jobs, status=waiting),
    )


def run_stuck(nodes: int, gangs: int, gang: int, shapes: int, rounds: int = 5) -> StuckResult:
    """Measure. ValueError when a size is below 1 or the pods would not fit an empty cluster."""
    snapshot = full(nodes, gangs, gang, shapes)
    policy, carry = helm_policy(), Carry()
    decide(full(nodes, 1, 1, 1), policy)
    first, placed = _timed(snapshot, policy, carry)
    told = _answered(snapshot, policy)
    filling, quiet = [], []
    for number in range(rounds):
        told = _fuller(told, number)
        filling.append(_timed(told, policy, carry)[0])
        told = replace(told, generation=told.generation + 1)
        quiet.append(_timed(told, policy, carry)[0])
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
        without_ms=round(median(without[1:]), 1),
    )


def _timed(snapshot: Snapshot, policy: Policy, carry: Carry) -> tuple[float, int]:
    gc.collect()
    started = time.process_time()
    decisions = decide(snapshot, policy, carry)
    elapsed = (time.process_time() - started) * 1000
    return elapsed, sum(len(commit.binds) for commit in decisions.commits)


def _answered(snapshot: Snapshot, policy: Policy) -> Snapshot:
    """The snapshot after the first round's statuses were written."""
    decisions = decide(snapshot, policy)
    rows = {name: row for row, name in enumerate(snapshot.jobs.names)}
    status = list(snapshot.jobs.status)
    for update in decisions.groups:
        status[rows[update.job]] = update.status
    return replace(
        snapshot, generation=snapshot.generation + 1, jobs=replace(snapshot.jobs, status=tuple(status))
    )


def _fuller(snapshot: Snapshot, number: int) -> Snapshot:
    """A node has less room than before."""
    used = snapshot.nodes.used.copy()
    used[0, number % used.shape[1]] += 1
    nodes = replace(snapshot.nodes, used=used, requested=used, requested_floor=used[:2])
    return replace(snapshot, generation=snapshot.generation + 1, nodes=nodes)
