"""Gangs that were bound in part and never ran: make them whole first, else take them back.

A crash between two bindings of a gang, or a binding that the API server refused, leaves a gang bound below its minimum.
Its pods hold resources and cannot do their work, even where a kubelet has started them already. Truth is in the API server
alone, so no intent is stored: such a gang is recognised by its pods, and by its PodGroup never having been ready. A gang that
was whole once and lost pods since is none of recovery's business, nor is any where the policy does not hold gangs together.
Recovery asks the same `decide()` twice: with every other job's pending pods out of the way, then,
for gangs that are still below their minimum, it evicts what was bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from vcray.core.arrays import Bool, Int8
from vcray.core.decisions import Decisions, Evict
from vcray.core.policy import Policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.subjobs import requests_nothing
from vcray.core.tables import MISSING, GroupStatus, Phase, Status

REASON = "gang is bound below its minimum and cannot be completed"


_BEGUN = (Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)


def holds_gangs(policy: Policy) -> bool:
    """Does some plugin of the policy say when a job may be committed? Without one a job bound in part is no accident."""
    return any(
        hasattr(recipe.plugin, "job_ready") and recipe.config.enabled("enableJobReady")
        for tier in policy.tiers
        for recipe in tier
    )


def half_bound(snapshot: Snapshot) -> tuple[str, ...]:
    """Names of jobs that hold nodes with fewer pods than their minimum (the total or a role's) and never ran as a gang:
    no pod has ended, and either none runs or the PodGroup was never ready."""
    jobs = _half_bound(snapshot, _counts(snapshot))
    return tuple(sorted(snapshot.jobs.names[row] for row in np.flatnonzero(jobs)))


def complete(snapshot: Snapshot, policy: Policy, jobs: Iterable[str]) -> Decisions:
    """Decisions for the named jobs alone: the pending pods of all others do not take part. Only commits are kept."""
    wanted = set(jobs)
    rows = np.array([name in wanted for name in snapshot.jobs.names], dtype=np.bool_)
    tasks = snapshot.tasks
    taking_part = np.zeros(len(tasks), dtype=np.bool_)
    owned = tasks.job != MISSING
    taking_part[owned] = rows[tasks.job[owned]]
    restricted = replace(
        snapshot,
        tasks=replace(tasks, gated=tasks.gated | ~taking_part),
        jobs=replace(snapshot.jobs, status=tuple(map(_admitted, snapshot.jobs.status, rows.tolist()))),
    )
    decisions = decide(restricted, policy)
    kept = tuple(commit for commit in decisions.commits if commit.job in wanted)
    return Decisions(generation=decisions.generation, commits=kept)


def _admitted(status: GroupStatus, wanted: bool) -> GroupStatus:
    """A gang with a bound pod was let in, though a crash may have come before its phase was written: do not ask again,
    for what it holds by now counts against it."""
    waits = status.phase in (Phase.EMPTY, Phase.PENDING)
    return replace(status, phase=Phase.INQUEUE) if wanted and waits else status


def take_back(snapshot: Snapshot, jobs: Iterable[str]) -> tuple[Evict, ...]:
    """Evictions of all pods on nodes of the named jobs that are still bound in part."""
    wanted = set(jobs) & set(half_bound(snapshot))
    tasks = snapshot.tasks
    evictions = [
        Evict(tasks.names[row], tasks.uids[row], snapshot.jobs.names[tasks.job[row]], REASON)
        for row in np.flatnonzero(_held(tasks.status) & (tasks.job != MISSING))
        if snapshot.jobs.names[tasks.job[row]] in wanted
    ]
    return tuple(sorted(evictions, key=lambda evict: evict.task))


def _counts(snapshot: Snapshot) -> dict[Status, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    tasks = snapshot.tasks
    owned = tasks.job != MISSING
    return {
        status: np.bincount(tasks.job[owned & (tasks.status == status)], minlength=len(snapshot.jobs))
        for status in Status
    }


def _held(status: Int8) -> Bool:
    """(P,) pods on a node, started or not."""
    held: Bool = (status == Status.BOUND) | (status == Status.RUNNING)
    return held


def _half_bound(snapshot: Snapshot, counts: dict[Status, np.ndarray[tuple[int], np.dtype[np.int64]]]) -> Bool:
    held = counts[Status.BOUND] + counts[Status.RUNNING]
    ended = counts[Status.SUCCEEDED] + counts[Status.FAILED]
    in_flight = counts[Status.BINDING] + counts[Status.RELEASING]
    short = held + _pending_best_effort(snapshot) < snapshot.jobs.min_available
    for row, minimums in enumerate(snapshot.jobs.role_minimum):
        if minimums and held[row] and not short[row]:
            short[row] = _role_short(snapshot, row, minimums)
    ran = (counts[Status.RUNNING] > 0) & np.fromiter(map(_was_ready, snapshot.jobs.status), dtype=np.bool_)
    result: Bool = (held > 0) & short & (ended == 0) & (in_flight == 0) & ~ran
    return result


def _was_ready(status: GroupStatus) -> bool:
    """Has the gang been whole before? Its condition Scheduled stays when it no longer is."""
    return status.phase in _BEGUN or any(
        condition.type == "Scheduled" and condition.status == "True" for condition in status.conditions
    )


def _pending_best_effort(snapshot: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """(J,) pending pods that request nothing: Volcano counts them as ready."""
    empty = np.array([requests_nothing(shape) for shape in snapshot.shapes], dtype=np.bool_)
    tasks = snapshot.tasks
    if not len(tasks):
        return np.zeros(len(snapshot.jobs), dtype=np.int64)
    chosen = (tasks.job != MISSING) & (tasks.status == Status.PENDING) & empty[tasks.shape]
    return np.bincount(tasks.job[chosen], minlength=len(snapshot.jobs))


def _role_short(snapshot: Snapshot, job: int, minimums: tuple[tuple[int, int], ...]) -> bool:
    if snapshot.jobs.min_available[job] < sum(minimum for _, minimum in minimums):
        return False
    tasks = snapshot.tasks
    mine = tasks.role[(tasks.job == job) & _held(tasks.status)]
    return any(int((mine == role).sum()) < minimum for role, minimum in minimums)
