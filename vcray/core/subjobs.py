"""Sub-jobs: the parts of a job that are ready, or near each other, by themselves.

`spec.subGroupPolicy` of a PodGroup cuts its pods into sub-groups by labels: the first policy whose selector a pod meets and
whose keys all have values in its labels. All other pods are the default sub-job. Only jobs with policies or a topology have
sub-jobs here; for all others the job is its only part. A topology that is stated becomes a limit, the highest tier of a
HyperNode that may hold the part: a soft one allows the cluster's top, so "soft" is "as low as it gets".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from vcray.core.arrays import Bool, Int, Int8
from vcray.core.hypernodes import HyperNodes
from vcray.core.selectors import satisfies
from vcray.core.snapshot import Snapshot
from vcray.core.space import FIRST, PODS
from vcray.core.tables import (
    ALLOCATED_STATUS,
    MISSING,
    READY_STATUS,
    STATUSES,
    Closeness,
    Notes,
    ShapeSpec,
    Status,
    SubGroupPolicy,
)

_LONGEST: Final = 128
"""Longer values of a sub-group are named by their hash."""


@dataclass(slots=True, eq=False)
class SubJob:
    """A part of a job. `number`: its place among all of the snapshot; `name`: `<job>` or `<job>/<policy>-<values>`.

    policy: row of the job's policies, MISSING for the default part. least: tasks that make it ready. order: first value as a
    number, which orders parts. tasks (k,): rows; empty (k,): those that request nothing. near: a topology is stated; limit: the highest tier allowed, None when no tier is known.
    allocated, nominated: rows of the HyperNodes that hold it and that is promised, live; MISSING for none."""

    number: int
    job: int
    name: str
    policy: int
    least: int
    order: int
    priority: int
    tasks: Int
    empty: Bool
    near: bool
    limit: int | None
    allocated: int = MISSING
    nominated: int = MISSING


@dataclass(slots=True, eq=False)
class Parts:
    """A job with sub-jobs: `minimums` (policy row -> how many of its sub-groups must be ready), where above 0; `grouped`: it has
    policies; `near`, `limit`, `allocated` as in `SubJob`, for the job as a whole."""

    job: int
    subjobs: tuple[SubJob, ...]
    minimums: Mapping[int, int]
    grouped: bool
    near: bool
    limit: int | None
    allocated: int = MISSING

    @property
    def stays_near(self) -> bool:
        """Is a topology stated of the job or of one of its parts?"""
        return self.near or any(sub.near for sub in self.subjobs)

    @property
    def flat(self) -> bool:
        """Neither a known tier nor sub-groups: HyperNodes do not restrict where its pods go."""
        return not self.grouped and self.limit is None and all(sub.limit is None for sub in self.subjobs)


@dataclass(slots=True, eq=False)
class SubJobs:
    """All parts of a snapshot's jobs, by job and by number; `of_task` (P,) the part of each task, MISSING for none."""

    of_job: Mapping[int, Parts] = field(default_factory=dict)
    all: Sequence[SubJob] = ()
    of_task: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def of(self, task: int) -> SubJob | None:
        """The part that a task belongs to."""
        number = int(self.of_task[task]) if self.all else MISSING
        return None if number == MISSING else self.all[number]


def _mask(statuses: Sequence[Status]) -> Bool:
    mask: Bool = np.zeros(STATUSES, dtype=np.bool_)
    mask[list(statuses)] = True
    return mask


_READY, _ALLOCATED = _mask(READY_STATUS), _mask(ALLOCATED_STATUS)


def ready_tasks(status: Int8, sub: SubJob) -> int:
    """Tasks that hold a node or are done, and pending ones that request nothing (Volcano's IsReady)."""
    now = status[sub.tasks]
    return int((_READY[now] | (sub.empty & (now == Status.PENDING))).sum())


def promised_tasks(status: Int8, sub: SubJob) -> int:
    """Pipelined tasks."""
    return int((status[sub.tasks] == Status.PIPELINED).sum())


def find_subjobs(snapshot: Snapshot, tree: HyperNodes, tasks_of: Callable[[int], Int]) -> SubJobs:
    """The parts of all jobs that have a topology or policies, with what holds them already."""
    jobs = snapshot.jobs
    chosen = [
        job
        for job, (near, groups) in enumerate(zip(jobs.closeness, jobs.subgroups, strict=True))
        if near is not None or groups
    ]
    if not chosen:
        return SubJobs()
    found: list[SubJob] = []
    parts: dict[int, Parts] = {}
    table = snapshot.tasks
    of_task = np.full(len(table), MISSING, dtype=np.int64)
    holds = _ALLOCATED[table.status] & (table.node != MISSING)
    empty = np.array([requests_nothing(shape) for shape in snapshot.shapes], dtype=np.bool_)
    for job in chosen:
        made = parts[job] = _parts(snapshot, tree, job, tasks_of(job), len(found), empty)
        found += made.subjobs
        for sub in made.subjobs:
            of_task[sub.tasks] = sub.number
        if tree.ready:
            _recover(snapshot, tree, made, holds)
    return SubJobs(parts, found, of_task)


def _parts(snapshot: Snapshot, tree: HyperNodes, job: int, tasks: Int, first: int, empty: Bool) -> Parts:
    jobs, table = snapshot.jobs, snapshot.tasks
    policies, closeness = jobs.subgroups[job], jobs.closeness[job]
    limit = _limit(closeness, tree, tree.highest)
    members: dict[tuple[int, str, int], Int] = {(MISSING, jobs.names[job], 0): tasks} if len(tasks) else {}
    if policies:
        members = _members(snapshot, jobs.names[job], policies, tasks)
    subjobs: list[SubJob] = []
    for (policy, name, order), rows in sorted(members.items(), key=lambda item: item[0][1]):
        own = closeness if policy == MISSING else policies[policy].closeness
        grouped = tree.highest if limit is None else limit
        whole = int(jobs.min_available[job]) if not policies else 1
        subjobs.append(
            SubJob(
                number=first + len(subjobs),
                job=job,
                name=name,
                policy=policy,
                least=whole if policy == MISSING else policies[policy].size,
                order=order,
                priority=max(0, int(table.priority[rows].max())),
                tasks=rows,
                empty=empty[table.shape[rows]],
                near=own is not None,
                limit=limit if policy == MISSING else _limit(own, tree, grouped),
            )
        )
    minimums = {row: policy.least for row, policy in enumerate(policies) if policy.least > 0}
    return Parts(job, tuple(subjobs), minimums, bool(policies), closeness is not None, limit)


def _members(
    snapshot: Snapshot, job: str, policies: Sequence[SubGroupPolicy], tasks: Int
) -> dict[tuple[int, str, int], Int]:
    """Tasks by the part that their labels put them in; equal label sets are looked at once."""
    labels = snapshot.tasks.labels[tasks]
    found: dict[tuple[int, str, int], list[Int]] = {}
    for row in np.unique(labels).tolist():
        part = _group_of(job, policies, snapshot.label_sets[row])
        found.setdefault(part, []).append(tasks[labels == row])
    return {part: np.sort(np.concatenate(rows)) for part, rows in found.items()}


def requests_nothing(shape: ShapeSpec) -> bool:
    """Does a pod of the shape request nothing but its slot?"""
    return all(name == FIRST[PODS] or not amount for name, amount in shape.requests)


def _limit(closeness: Closeness | None, tree: HyperNodes, soft: int) -> int | None:
    """The highest tier allowed; a soft topology may go up to `soft`. None: nothing is stated, or a name that no tier has."""
    if closeness is None:
        return None
    if closeness.soft:
        return soft
    return closeness.tier if closeness.tier is not None else tree.tier_names.get(closeness.tier_name)


def _group_of(job: str, policies: Sequence[SubGroupPolicy], labels: Notes) -> tuple[int, str, int]:
    """Policy row, name and order of the part that a pod with these labels belongs to."""
    own = dict(labels)
    for row, policy in enumerate(policies):
        values = [own.get(key, "") for key in policy.keys]
        if values and all(values) and satisfies(policy.requirements, own):
            text = "-".join(values)
            if len(text) > _LONGEST:
                text = str(fnv32(text))
            return row, f"{job}/{policy.name}-{text}", _number(values[0])
    return MISSING, job, 0


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdecimal() else 0


def fnv32(text: str) -> int:
    """FNV-1 of 32 bits, as Volcano names sub-groups whose values are long."""
    value = 2166136261
    for byte in text.encode():
        value = (value * 16777619) % 2**32 ^ byte
    return value


def _recover(snapshot: Snapshot, tree: HyperNodes, parts: Parts, holds: Bool) -> None:
    """What holds the parts that have a topology: the lowest HyperNode over the nodes of their pods; the job's is above all, above
    all parts when it has one itself."""
    table = snapshot.tasks
    over = []
    for sub in parts.subjobs:
        held = sub.tasks[holds[sub.tasks]]
        if len(held) and (sub.near or parts.near):
            over.append(tree.covering(table.node[held].tolist()))
            sub.allocated = over[-1] if sub.near else MISSING
    parts.allocated = common(tree, over)


def common(tree: HyperNodes, rows: Iterable[int]) -> int:
    """The lowest common ancestor of some HyperNodes, MISSING for none."""
    held = MISSING
    for row in rows:
        held = tree.lca(held, row)
    return held
