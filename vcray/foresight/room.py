"""How many pods that somebody wants would find a place if they came now: decided on a snapshot with them in it, nothing is written.

A pod that a round would place, on what is free or on what it may clear by the policy, has a place. A wanted pod takes none from a
pod that waits already, nor from one that was promised its place a moment ago and has not been made yet.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from vcray.cache.supposed import Supposed, Wanted
from vcray.core.arrays import Bool
from vcray.core.decisions import Decisions
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Status

TRIES: Final = 3
"""How often fewer pods are tried, where too many took the place of others."""

_HOLDING: Final = (Status.BINDING, Status.BOUND, Status.RUNNING)
_THERE: Final = (*_HOLDING, Status.PENDING, Status.UNKNOWN)

Places: TypeAlias = tuple[int | None, ...]
"""For each kind of pods how many have a place, those that hold one among them; None where no such gang is known."""

Trial: TypeAlias = Generator[tuple[Supposed, ...], tuple[Snapshot, Decisions], Places]
"""Yields pods to suppose, and is sent the snapshot with them and what a round decides on it."""


def exist(snapshot: Snapshot, wanted: Wanted) -> int | None:
    """Pods of this kind that are there and stay; None where their gang is not known."""
    return None if wanted.job not in snapshot.jobs.names else int(_of(snapshot, wanted, _THERE).sum())


def missing(snapshot: Snapshot, wanted: Wanted) -> int:
    """Pods of this kind that are wanted and are not there; 0 where their gang is not known."""
    there = exist(snapshot, wanted)
    return 0 if there is None else max(0, wanted.count - there)


def room(snapshot: Snapshot, wanted: Sequence[Wanted], promised: Sequence[Wanted]) -> Trial:
    """Places of all kinds wanted; `promised` pods come before them where they are not there yet. Of a task that is asked about
    twice only the first question is answered.

    A job stops at its first pod that finds no place, so its kinds are tried one after the other, those of different jobs together."""
    first = {(each.job, each.role): each for each in reversed(wanted)}
    known = [each for each in first.values() if exist(snapshot, each) is not None][::-1]
    before = [(each, missing(snapshot, each)) for each in promised]
    found: _Round | None = None
    for stage in _stages(known):
        found, new = yield from _tried(snapshot, stage, before)
        before += zip(stage, new, strict=True)
    return tuple(
        found.places_of(each) if found is not None and any(each is one for one in known) else None
        for each in wanted
    )


def _stages(known: Sequence[Wanted]) -> list[list[Wanted]]:
    """The first kind of each job, the second of each, and so on."""
    out: list[list[Wanted]] = []
    for each in known:
        free = next((stage for stage in out if all(one.job != each.job for one in stage)), None)
        if free is None:
            out.append([each])
        else:
            free.append(each)
    return out


def _tried(
    snapshot: Snapshot, stage: Sequence[Wanted], before: Sequence[Supposed]
) -> Generator[tuple[Supposed, ...], tuple[Snapshot, Decisions], tuple[_Round, list[int]]]:
    """A round with as many pods of these kinds as take nobody's place, and how many of each are new."""
    asked = [missing(snapshot, each) for each in stage]
    without: _Round | None = None
    for _ in range(TRIES):
        found = _Round(*(yield (*before, *zip(stage, asked, strict=True))))
        new = [found.new_of(each, count) for each, count in zip(stage, asked, strict=True)]
        left = found.left_out(stage) if any(asked) else frozenset()
        if left and without is None:
            without = _Round(*(yield tuple(before)))
        lost = 0 if without is None else len(left & without.placed)
        if not lost:
            return found, new
        asked = _fewer(new, lost)
    assert without is not None
    return without, [0] * len(stage)


@dataclass(frozen=True, slots=True)
class _Round:
    """What was decided with some pods supposed."""

    snapshot: Snapshot
    decisions: Decisions

    @property
    def placed(self) -> frozenset[str]:
        """Pods that it gives a place."""
        binds = (bind.task for commit in self.decisions.commits for bind in commit.binds)
        return frozenset([*binds, *(task for task, _ in self.decisions.pipelined)])

    def left_out(self, known: Sequence[Wanted]) -> frozenset[str]:
        """Pods of others that wait and get none."""
        tasks = self.snapshot.tasks
        others: Bool = tasks.status == Status.PENDING
        for each in known:
            others &= ~_of(self.snapshot, each, (Status.PENDING,))
        return frozenset(tasks.names[row] for row in np.flatnonzero(others).tolist()) - self.placed

    def places_of(self, wanted: Wanted) -> int:
        """Pods of a kind that hold a place or get one."""
        waiting = np.flatnonzero(_of(self.snapshot, wanted, (Status.PENDING,))).tolist()
        names, placed = self.snapshot.tasks.names, self.placed
        held = int(_of(self.snapshot, wanted, _HOLDING).sum())
        return held + sum(names[row] in placed for row in waiting)

    def new_of(self, wanted: Wanted, supposed: int) -> int:
        """Pods of a kind beyond those there are that get a place."""
        there = exist(self.snapshot, wanted) or 0
        return min(supposed, max(0, self.places_of(wanted) - (there - supposed)))


def _fewer(asked: list[int], by: int) -> list[int]:
    """So many less, the last kind first."""
    out = list(asked)
    for index in reversed(range(len(out))):
        less = min(out[index], by)
        out[index] -= less
        by -= less
    return out


def _of(snapshot: Snapshot, wanted: Wanted, statuses: Sequence[Status]) -> Bool:
    """(P,) pods of a kind with one of these statuses."""
    tasks, jobs = snapshot.tasks, snapshot.jobs.names
    job = jobs.index(wanted.job) if wanted.job in jobs else MISSING - 1
    role = snapshot.roles.index(wanted.role) if wanted.role in snapshot.roles else MISSING - 1
    chosen: Bool = (tasks.job == job) & (tasks.role == role) & np.isin(tasks.status, statuses)
    return chosen
