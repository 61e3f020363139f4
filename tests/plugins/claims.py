"""A claim and its candidates in short form, for tests of victim hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.plugins.worlds import World
from vcray.core.arrays import Bool
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import View

Judge = Callable[[View, Claim, Candidates], "Bool | None"]


def claim_of(world: World, pod: str, kind: ClaimKind = ClaimKind.PREEMPT) -> Claim:
    """The claim of one pending pod."""
    task, tasks = world.task(pod), world.snapshot.tasks
    job = int(tasks.job[task])
    return Claim(kind, job, int(world.snapshot.jobs.queue[job]), (task,), world.shape(pod).request)


def candidates_of(world: World, *groups: Sequence[str]) -> Candidates:
    """Pods by name, a group for each list, in the given order."""
    tasks = np.array([world.task(name) for group in groups for name in group], dtype=np.int64)
    group = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    table = world.snapshot.tasks
    job = table.job[tasks].astype(np.int64)
    request = np.array([world.view.shapes[int(shape)].req for shape in table.shape[tasks]], dtype=np.int64)
    return Candidates(
        tasks,
        group,
        job,
        world.snapshot.jobs.queue[job].astype(np.int64),
        table.node[tasks].astype(np.int64),
        request.reshape(len(tasks), len(world.view.space)).T,
    )


def chosen(world: World, judge: Judge, claim: Claim, *groups: Sequence[str]) -> list[str] | None:
    """Names of the candidates that a hook allows, None when it abstains."""
    mask = judge(world.view, claim, candidates_of(world, *groups))
    if mask is None:
        return None
    names = [name for group in groups for name in group]
    return [name for name, allowed in zip(names, mask.tolist(), strict=True) if allowed]
