"""Volcano's `gang`: the pods of a PodGroup start together or not at all.

A job is ready when enough of its tasks hold a node: `minMember` in all, and `minTaskMember` of each role. The role minimums
count only while their sum is within `minMember`; a smaller `minMember` says that the job can start with less, so it alone
decides (Volcano's CheckTaskReady). Best-effort tasks wait for backfill and count as ready, else allocate could
never finish the gangs that hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from operator import itemgetter
from typing import ClassVar

import numpy as np
from pydantic import Field

from vcray.api.times import seconds_of
from vcray.core.arrays import Bool, Int, IntLike
from vcray.core.groupphases import releasing_on_nodes
from vcray.core.hooks import Closing, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.subjobs import SubJob, promised_tasks, ready_tasks
from vcray.core.tables import ALLOCATED_STATUS, MISSING, READY_STATUS, GroupStatus, Phase, Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import View

_VALID = (*READY_STATUS, Status.PIPELINED, Status.PENDING)
_counts_valid = itemgetter(*_VALID)
_counts_promised = itemgetter(*READY_STATUS, Status.PIPELINED)
_SCHEDULED_ROWS = np.array((Status.RUNNING, Status.BOUND, Status.FAILED, Status.SUCCEEDED))
_counts_ready = itemgetter(*READY_STATUS)
_READY_ROWS = np.array(READY_STATUS)
_HOLDS_ROWS = np.array(ALLOCATED_STATUS)
_ANY = 2**31
"""More than any role has."""

_BEST_EFFORT = -1
"""Last entry of a role's counts: its pending tasks that request nothing."""


class GangArgs(Args):
    """`hole_s`: so many seconds a gang that lost pods has its room kept; 0 for never."""

    minimums: ClassVar[dict[str, float]] = {"holeSeconds": 0}

    hole_s: int = Field(300, alias="holeSeconds")


class Gang(Plugin[GangArgs]):
    """All-or-nothing start, orders of unready jobs first, and the conditions Scheduled and Unschedulable.

    Session state: `broken_`, gangs that had started and lack pods when it opens -> since when (seconds), None for just now."""

    steady = True
    by_counts = True
    args_model = GangArgs

    def open(self, view: View) -> None:
        """Find the gangs that hold nodes with fewer pods than they can run with."""
        jobs = view.snapshot.jobs
        holds = view.jobs.count[_HOLDS_ROWS].sum(axis=0) > 0
        short = np.flatnonzero(holds & (jobs.queue != MISSING) & (_all_ready(view) < jobs.min_available))
        self.broken_ = {
            job: _short_since(status) for job in short.tolist() if _had_started(status := jobs.status[job])
        }

    def job_valid(self, view: View, job: int) -> str | None:
        """Too few pods of a role, or too few in all; pods that are ending or failed do not count."""
        jobs = view.snapshot.jobs
        if jobs.role_minimum[job] and _roles_short(view, job, _VALID, best_effort=False):
            return "Not enough valid pods of each task for gang-scheduling"
        if _groups_short(view, job, None):
            return "Not enough sub-groups of pods for gang-scheduling"
        counts: tuple[int, ...] = _counts_valid(view.jobs.count[:, job].tolist())
        valid, least = sum(counts), int(jobs.min_available[job])
        if valid < least:
            return f"Not enough valid tasks for gang-scheduling, valid: {valid}, min: {least}"
        return None

    def gang_need(self, view: View, job: int, tasks: Int) -> int:
        """Length of the shortest prefix of `tasks` that makes the job ready; more than there are when none does."""
        need = int(view.snapshot.jobs.min_available[job]) - _ready(view, job)
        short = _roles_short(view, job, READY_STATUS)
        if not short:
            return max(need, 1)
        taken = 0
        for taken, role in enumerate(view.snapshot.tasks.role[tasks].tolist(), start=1):
            if role in short:
                short[role] -= 1
                if not short[role]:
                    del short[role]
            if not short:
                return max(need, taken)
        return max(need, taken + sum(short.values()))

    def job_ready(self, view: View, job: int) -> bool:
        """Enough tasks hold a node, in all and of each role."""
        least = int(view.snapshot.jobs.min_available[job])
        return (
            _ready(view, job) >= least
            and not _roles_short(view, job, READY_STATUS)
            and not _groups_short(view, job, False)
        )

    def holes(self, view: View) -> Mapping[int, float]:
        """Room is kept for `holeSeconds` from when the gang was first seen short."""
        now, keep = view.snapshot.now, self.args.hole_s
        if not keep:
            return {}
        until = {job: (now if since is None else since) + keep for job, since in self.broken_.items()}
        return {job: moment for job, moment in until.items() if moment > now}

    def wakes_at(self, view: View) -> float | None:
        """When the next hole is given up. One that was seen first in this session is none yet: its PodGroup will say so."""
        known = (since for since in self.broken_.values() if since is not None)
        ends = [since + self.args.hole_s for since in known] if self.args.hole_s else []
        return min((end for end in ends if end > view.snapshot.now), default=None)

    def job_pipelined(self, view: View, job: int) -> Vote:
        """Permit when tasks that hold a node or a promise are enough, else reject; never abstains."""
        least = int(view.snapshot.jobs.min_available[job])
        held = _ready(view, job) + int(view.jobs.count[Status.PIPELINED, job])
        enough = held >= least and not _roles_short(view, job, (*READY_STATUS, Status.PIPELINED))
        enough = enough and not _groups_short(view, job, True)
        return Vote.PERMIT if enough else Vote.REJECT

    def subjob_ready(self, view: View, subjob: SubJob) -> bool:
        """Enough tasks of the sub-group hold a node."""
        return ready_tasks(view.status, subjob) >= subjob.least

    def subjob_need(self, view: View, subjob: SubJob, tasks: Int) -> int:
        """How many more tasks make the sub-group ready."""
        return max(1, subjob.least - ready_tasks(view.status, subjob))

    def subjob_pipelined(self, view: View, subjob: SubJob) -> Vote:
        """Permit when tasks that hold a node or a promise are enough, else reject; never abstains."""
        held = ready_tasks(view.status, subjob) + promised_tasks(view.status, subjob)
        return Vote.PERMIT if held >= subjob.least else Vote.REJECT

    def subjob_order(self, view: View, subjob: SubJob) -> float:
        """Sub-groups that are not ready first."""
        return float(ready_tasks(view.status, subjob) >= subjob.least)

    def job_starving(self, view: View, job: int) -> bool:
        """Below `minMember` even with promised tasks; role minimums and best-effort tasks are not looked at."""
        held: tuple[int, ...] = _counts_promised(view.jobs.count[:, job].tolist())
        return sum(held) < int(view.snapshot.jobs.min_available[job])

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        """1 for a job with `minMember` pods, 0 for one below, -1 for one that is below but had started: what it holds is of no use
        meanwhile (volcano-sh/volcano#5805). Role minimums are not looked at."""
        if isinstance(jobs, np.ndarray):
            ready = (
                view.jobs.count[_READY_ROWS[:, None], jobs].sum(axis=0) + view.jobs.pending_best_effort[jobs]
            )
            order = np.asarray(ready >= view.snapshot.jobs.min_available[jobs], dtype=np.int64)
            if self.broken_:
                order[np.isin(jobs, list(self.broken_)) & (order == 0)] = -1
            return order
        if _ready(view, jobs) >= int(view.snapshot.jobs.min_available[jobs]):
            return 1
        return -1 if jobs in self.broken_ else 0

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """A job gives as many as it has ready tasks above `minMember`, and of each role above its minimum, the least valuable.

        Tasks that ended well but are being deleted are on their way out too (volcano-sh/volcano#394)."""
        spare = view.jobs.count[_READY_ROWS[:, None], candidates.job].sum(axis=0)
        spare -= view.snapshot.jobs.min_available[candidates.job]
        leaving = _leaving(view)
        if leaving is not None:
            spare -= leaving[candidates.job]
        able = _above_roles(view, candidates)
        if able is None:
            given: Bool = candidates.rank(candidates.job) < spare
        else:
            before = candidates.running(candidates.job, able[None].astype(np.int64), inclusive=False)[0]
            given = able & (before < spare)
        return given

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """As `preemptable`."""
        return self.preemptable(view, claim, candidates)

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """All: the actions that ask this know which part of a gang breaks it."""
        return np.ones(len(candidates), dtype=np.bool_)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: whoever claims."""
        return None

    def close(self, view: View, closing: Closing) -> None:
        """Condition Scheduled or Unschedulable of each job that has tasks and a queue, by the task count alone.

        A job that misses only a role minimum therefore says Scheduled, as in Volcano."""
        least, total = view.snapshot.jobs.min_available, view.jobs.count.sum(axis=0)
        told = (total > 0) & (view.snapshot.jobs.queue != MISSING)
        ready = _all_ready(view) >= least
        for job in np.flatnonzero(told & ready).tolist():
            closing.condition(job, "Scheduled", "tasks in gang are ready to be scheduled", "")
        short, totals = (least - _holding(view)).tolist(), total.tolist()
        for job in np.flatnonzero(told & ~ready & ~_only_ending(view)).tolist():
            closing.condition(
                job,
                "Unschedulable",
                "NotEnoughResources",
                f"{short[job] - closing.undone(job)}/{totals[job]} tasks in gang unschedulable: "
                f"{closing.fit_error(job)}",
            )


def _had_started(status: GroupStatus) -> bool:
    """Was the gang whole before? Its condition Scheduled stays when it no longer is."""
    return status.phase in (Phase.RUNNING, Phase.UNKNOWN) or any(
        condition.type == "Scheduled" and condition.status == "True" for condition in status.conditions
    )


def _short_since(status: GroupStatus) -> float | None:
    """When the gang came to lack pods, by its PodGroup; None while that still says that it is whole."""
    since = {condition.type: condition.since for condition in status.conditions}
    short = since.get("Unschedulable", "")
    return seconds_of(short) if short >= since.get("Scheduled", "") else None


def _leaving(view: View) -> Int | None:
    """(J,) succeeded tasks that are being deleted; None when there are none."""
    facts = [facts.leaving for facts in view.snapshot.pod_facts]
    if not any(facts):
        return None
    tasks = view.snapshot.tasks
    ending = (view.status == Status.SUCCEEDED) & np.array(facts, dtype=np.bool_)[tasks.facts]
    return np.bincount(tasks.job[ending], minlength=len(view.snapshot.jobs))


def _ready(view: View, job: int) -> int:
    """Tasks that hold a node or are done, and pending best-effort ones (Volcano's IsReady)."""
    holding: tuple[int, ...] = _counts_ready(view.jobs.count[:, job].tolist())
    return sum(holding) + int(view.jobs.pending_best_effort[job])


def _all_ready(view: View) -> Int:
    """(J,) `_ready` of every job."""
    return view.jobs.pending_best_effort + _holding(view)


def _holding(view: View) -> Int:
    """(J,) tasks of every job that hold a node or are done."""
    holding: Int = view.jobs.count[_READY_ROWS].sum(axis=0)
    return holding


def _roles_short(
    view: View, job: int, statuses: tuple[Status, ...], best_effort: bool = True
) -> dict[int, int]:
    """Role -> how many tasks it lacks; empty when none does or when `minMember` is below the sum of the minimums."""
    minimums = view.snapshot.jobs.role_minimum[job]
    if not minimums or int(view.snapshot.jobs.min_available[job]) < sum(least for _, least in minimums):
        return {}
    short: dict[int, int] = {}
    for role, least in minimums:
        count = view.jobs.role_count[job, role]
        have = sum(count[status] for status in statuses) + (count[_BEST_EFFORT] if best_effort else 0)
        if have < least:
            short[role] = least - have
    return short


def _above_roles(view: View, candidates: Candidates) -> Bool | None:
    """(k,) is there one more of the role than its minimum, once those before it are gone? None where no role has a minimum
    that counts."""
    if not view.jobs.role_count or not len(candidates):
        return None
    jobs, width = view.snapshot.jobs, len(view.snapshot.roles)
    keys, of = np.unique(
        candidates.job * width + view.snapshot.tasks.role[candidates.task], return_inverse=True
    )
    spare = np.full(len(keys), _ANY)
    known: dict[int, dict[int, int]] = {}
    for place, (job, role) in enumerate(map(divmod, keys.tolist(), repeat(width))):
        if job not in known:
            minimums = jobs.role_minimum[job]
            counted = int(jobs.min_available[job]) >= sum(least for _, least in minimums)
            known[job] = dict(minimums) if counted else {}
        least = known[job].get(role, 0)
        if least:
            spare[place] = sum(_counts_ready(view.jobs.role_count[job, role])) - least
    if (spare == _ANY).all():
        return None
    able: Bool = candidates.rank(of) < spare[of]
    return able


def _groups_short(view: View, job: int, promised: bool | None) -> bool:
    """Are there fewer sub-groups of some policy than it wants ready? `promised`: promises count too; None: existing is enough."""
    parts = view.subjobs.of_job.get(job)
    if parts is None:
        return False
    for policy, least in parts.minimums.items():
        count = 0
        for sub in parts.subjobs:
            if sub.policy == policy:
                held = 0 if promised is None else ready_tasks(view.status, sub)
                held += promised_tasks(view.status, sub) if promised else 0
                count += promised is None or held >= sub.least
        if count < least:
            return True
    return False


def _only_ending(view: View) -> Bool:
    """(J,) The gang, of which no task waits, is short only because some of its running pods are ending: nothing is said of it meanwhile."""
    jobs, count = view.snapshot.jobs, view.jobs.count
    releasing = releasing_on_nodes(view)
    waiting = count[Status.PENDING] + count[Status.PIPELINED]
    scheduled = count[_SCHEDULED_ROWS].sum(axis=0)
    found: Bool = (waiting == 0) & (releasing > 0) & (scheduled + releasing >= jobs.min_available)
    return found
