"""The phase of a PodGroup at the end of a session, as a table: signs in order, the first that shows decides.

Rules are Volcano's, with three departures. A group is Completed only when no member waits or runs
(volcano-sh/volcano#5871). A Completed group whose pods are all gone stays so: admitted again it would hold its minResources
for ever (volcano-sh/volcano#2633). One that is released is Pending unless a pod of it was started: it holds nothing, and asks to be let
in when it wants room again (ray-project/kuberay#5183). docs/controllers.md shows and draws the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.tables import MISSING, Phase, Status
from vcray.core.view import View


class Sign(StrEnum):
    """What a group and its pods show, in the words of the documentation."""

    LOST = "its queue does not exist"
    IDLE = "it is released, and none of its pods was started"
    GONE = "it was Completed and has no pods any more"
    STUCK = "pods run, and it was called unschedulable in this session"
    OVER = "minMember pods were scheduled, and all have ended"
    READY = "minMember pods are scheduled"
    ADMITTED = "it was Inqueue"
    ELSE = "else"


TABLE: Final[tuple[tuple[Sign, Phase | None], ...]] = (
    (Sign.LOST, None),
    (Sign.IDLE, Phase.PENDING),
    (Sign.GONE, Phase.COMPLETED),
    (Sign.STUCK, Phase.UNKNOWN),
    (Sign.OVER, Phase.COMPLETED),
    (Sign.READY, Phase.RUNNING),
    (Sign.ADMITTED, Phase.INQUEUE),
    (Sign.ELSE, Phase.PENDING),
)
"""Sign -> phase; None keeps the phase that it has, at least Pending."""


def phases(view: View, stuck: Bool) -> Int:
    """(J,) Phase of each group by its pods; `stuck` (J,) tells who was called unschedulable in this session."""
    before = view.jobs.phase
    shown = _signs(view, stuck)
    kept = np.maximum(before, Phase.PENDING)
    phase: Int = np.full(len(before), Phase.PENDING, np.int64)
    for sign, then in reversed(TABLE):
        phase = np.where(shown[sign], kept if then is None else int(then), phase)
    return phase


def _signs(view: View, stuck: Bool) -> Mapping[Sign, Bool]:
    jobs, count, before = view.snapshot.jobs, view.jobs.count, view.jobs.phase
    completed = count[Status.SUCCEEDED] + count[Status.FAILED]
    scheduled = count[Status.RUNNING] + count[Status.BOUND] + completed + releasing_on_nodes(view)
    waiting = count[[Status.PENDING, Status.ALLOCATED, Status.PIPELINED, Status.BINDING]].sum(axis=0)
    ready: Bool = scheduled >= jobs.min_available
    return {
        Sign.LOST: jobs.queue == MISSING,
        Sign.IDLE: jobs.released & (scheduled == 0),
        Sign.GONE: (before == Phase.COMPLETED) & (count.sum(axis=0) == 0),
        Sign.STUCK: stuck & (count[Status.RUNNING] > 0),
        Sign.OVER: ready & (scheduled == completed) & (waiting == 0),
        Sign.READY: ready,
        Sign.ADMITTED: before == Phase.INQUEUE,
        Sign.ELSE: np.ones(len(jobs), dtype=np.bool_),
    }


def releasing_on_nodes(view: View) -> Int:
    """(J,) Pods of each job that are being deleted and still hold a node."""
    tasks = view.snapshot.tasks
    on_node = (view.status == Status.RELEASING) & (tasks.node != MISSING)
    return np.bincount(tasks.job[on_node], minlength=len(view.snapshot.jobs))
