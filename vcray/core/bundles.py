"""What running jobs can give, in bundles: pods above a job's minimum go one by one and leave it alive (safe); those that keep it
alive go together or not at all (whole), since what is left of a gang does no work.

Least damage first: safe bundles before whole ones, then by who is worth less, then by how much of what is needed a bundle frees
for each part of its job that is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Int
from vcray.core.candidates import deletion_costs, queue_ranks
from vcray.core.leaders import must_stay
from vcray.core.order import job_keys
from vcray.core.policy import Chains
from vcray.core.subjobs import SubJob, ready_tasks
from vcray.core.tables import MISSING, READY_STATUS, STATUSES, Status
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import View


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tasks (rows) of one job that go together (`safe`: or any of them alone), least valuable first."""

    job: int
    tasks: tuple[int, ...]
    safe: bool


class Bundles:
    """All bundles of some tasks for one claim, in the order in which they are given up."""

    def __init__(self, view: View, chains: Chains, claim: Claim, tasks: Int) -> None:
        self.view = view
        self.chains = chains
        self.claim = claim
        self._need = [(row, need) for row, need in enumerate(claim.request.tolist()) if need > 0]
        self._lost: dict[int, list[int]] = {}
        self._gains: dict[tuple[int, ...], float] = {}
        self._ending = any(facts.leaving for facts in view.snapshot.pod_facts)
        found = [bundle for job, rows in _by_job(view, tasks) for bundle in self._split(job, rows)]
        found = self._approved(self._sorted(found))
        self.all: list[Bundle] = self._sorted(found)

    def requests(self, bundle: Bundle) -> Int:
        """(R,) what a bundle holds."""
        shapes = self.view.snapshot.tasks.shape[list(bundle.tasks)]
        total: Int = self.view.requests[:, shapes].sum(axis=1)
        return total

    # ---- safe and whole ----

    def _split(self, job: int, rows: list[int]) -> list[Bundle]:
        """A job that is below its minimum already gives all it has as safe. One with pods on their way to nodes, which cannot go
        along, gives nothing as whole."""
        surplus = _Surplus(self.view, job, self._ending)
        if surplus.broken:
            return [Bundle(job, tuple(rows), True)]
        stay = must_stay(self.view, np.array(rows, dtype=np.int64))
        leads = dict.fromkeys(rows, False) if stay is None else dict(zip(rows, stay.tolist(), strict=True))
        safe = [task for task in rows if not leads[task] and surplus.take(task)]
        kept = set(safe)
        moving = bool(self.view.jobs.count[Status.BINDING, job])
        whole = [task for task in rows if task not in kept and not moving]
        parts = ((safe, True), (whole, False))
        return [Bundle(job, tuple(tasks), is_safe) for tasks, is_safe in parts if tasks]

    def _approved(self, found: Sequence[Bundle]) -> list[Bundle]:
        """What the plugins let go: safe bundles shrink, whole ones are taken out when one pod of them has to stay."""
        tasks = np.array([task for bundle in found for task in bundle.tasks], dtype=np.int64)
        if not len(tasks):
            return []
        table, jobs = self.view.snapshot.tasks, self.view.snapshot.jobs
        owner = table.job[tasks].astype(np.int64)
        candidates = Candidates(
            tasks,
            np.zeros(len(tasks), dtype=np.int64),
            owner,
            jobs.queue[owner].astype(np.int64),
            table.node[tasks].astype(np.int64),
            self.view.requests[:, table.shape[tasks]],
        )
        allowed = self.chains.verdicts.allowed(self.view, self.claim, candidates).tolist()
        kept, at = [], 0
        for bundle in found:
            mask = allowed[at : at + len(bundle.tasks)]
            at += len(bundle.tasks)
            if all(mask):
                kept.append(bundle)
            elif bundle.safe and any(mask):
                left = tuple(task for task, yes in zip(bundle.tasks, mask, strict=True) if yes)
                kept.append(Bundle(bundle.job, left, True))
        return kept

    # ---- order ----

    def _sorted(self, found: Sequence[Bundle]) -> list[Bundle]:
        names, uids = self.view.snapshot.jobs.names, self.view.snapshot.tasks.uids
        ordered = sorted(found, key=lambda b: (names[b.job], uids[b.tasks[0]], len(b.tasks)))
        worth, by_queue = self._worth(found), self.claim.kind is ClaimKind.GANG_RECLAIM
        if not by_queue:  # no two jobs are worth the same
            return sorted(ordered, key=lambda b: (not b.safe, worth[b.job]))
        return sorted(ordered, key=lambda b: (not b.safe, worth[b.job], -self._gain(b)))

    def _worth(self, found: Sequence[Bundle]) -> dict[int, int]:
        """Jobs -> place, who gives first: by job order from behind; across queues by the order of queues that give."""
        view, table = self.view, self.view.snapshot.jobs
        jobs = sorted({bundle.job for bundle in found}, key=table.names.__getitem__)
        if self.claim.kind is ClaimKind.GANG_RECLAIM:
            queues = sorted({int(table.queue[job]) for job in jobs})
            ranks = queue_ranks(view, self.chains, queues, self.claim.queue) if queues else {}
            return {job: ranks[int(table.queue[job])] for job in jobs}
        if not jobs:
            return {}
        keys = job_keys(view, self.chains, jobs)
        order = sorted(range(len(jobs)), key=keys.__getitem__, reverse=True)
        return {jobs[at]: place for place, at in enumerate(order)}

    def _gain(self, bundle: Bundle) -> float:
        """How much of what is needed it frees, for each part of what its job holds that is lost; endless for a safe one."""
        if bundle.safe:
            return float("inf")
        known = self._gains.get(bundle.tasks)
        if known is None:
            known = self._gains[bundle.tasks] = self._gain_of(bundle)
        return known

    def _gain_of(self, bundle: Bundle) -> float:
        frees = self._sum(bundle.tasks)
        lost = self._lost.get(bundle.job)
        if lost is None:
            lost = self._lost[bundle.job] = self._sum(self.view.tasks_of_job[bundle.job].tolist())
        share = cost = 0.0
        for row, need in self._need:
            share += min(frees[row], need) / need
            cost += lost[row] / need
        return share / cost if cost > 0 else float("inf")

    def _sum(self, tasks: Sequence[int]) -> list[int]:
        """Requests of tasks together."""
        shapes = Counter(self.view.snapshot.tasks.shape[list(tasks)].tolist())
        total = [0] * len(self.view.space)
        for shape, count in shapes.items():
            request = self.view.shapes[shape].req
            for row in self.view.shapes[shape].nonzero:
                total[row] += request[row] * count
        return total


class _Surplus:
    """How many pods a job can lose: in all, of each role, of sub-groups."""

    def __init__(self, view: View, job: int, ending: bool) -> None:
        self.view = view
        jobs = view.snapshot.jobs
        count = view.jobs.count[:, job].tolist()
        ready = sum([count[status] for status in READY_STATUS])
        least = int(jobs.min_available[job])
        self.left = ready - least - (_ending(view, job) if ending else 0)
        self.broken = self.left < 0
        minimums = jobs.role_minimum[job]
        counted = least >= sum(minimum for _, minimum in minimums)
        self.roles = {
            role: self._of_role(job, role) - minimum for role, minimum in minimums if counted and minimum
        }
        self.parts = view.subjobs.of_job.get(job)
        self.groups: dict[int, int] = {}
        self.lost: set[int] = set()
        self.ready: set[int] = set()
        if self.parts is not None and self.parts.grouped:
            whole = [sub for sub in self.parts.subjobs if ready_tasks(view.status, sub) >= sub.least]
            self.ready = {sub.number for sub in whole}
            for policy, minimum in self.parts.minimums.items():
                self.groups[policy] = sum(sub.policy == policy for sub in whole) - minimum

    def _of_role(self, job: int, role: int) -> int:
        count = self.view.jobs.role_count[job, role]
        return sum(count[status] for status in READY_STATUS) + count[STATUSES]

    def take(self, task: int) -> bool:
        """Can this one go too? Then it counts as gone."""
        role = int(self.view.snapshot.tasks.role[task])
        if self.left <= 0 or self.roles.get(role, 1) <= 0:
            return False
        sub = self._part(task)
        if sub is not None:
            if sub.number in self.ready and sub.number not in self.lost:
                if self.groups.get(sub.policy, 1) <= 0:
                    return False
                if sub.policy in self.groups:
                    self.groups[sub.policy] -= 1
            self.lost.add(sub.number)
        self.left -= 1
        if role in self.roles:
            self.roles[role] -= 1
        return True

    def _part(self, task: int) -> SubJob | None:
        if self.parts is None or not self.parts.grouped:
            return None
        return self.view.subjobs.of(task)


def _ending(view: View, job: int) -> int:
    """Tasks that ended well but are being deleted: they are on their way out too."""
    rows = view.tasks_of_job[job]
    facts = view.snapshot.pod_facts
    done = rows[view.status[rows] == Status.SUCCEEDED]
    return sum(facts[row].leaving for row in view.snapshot.tasks.facts[done].tolist())


def _by_job(view: View, tasks: Int) -> list[tuple[int, list[int]]]:
    """Tasks by job, inside a job by rising task priority, then what it costs to delete them, then uid."""
    table, costs = view.snapshot.tasks, deletion_costs(view)
    groups: dict[int, list[int]] = {}
    for task, job in zip(tasks.tolist(), table.job[tasks].tolist(), strict=True):
        groups.setdefault(job, []).append(task)
    priority, uids = table.priority, table.uids

    def paid(task: int) -> int:
        return 0 if costs is None else int(costs[task])

    return [
        (job, sorted(rows, key=lambda task: (int(priority[task]), paid(task), uids[task])))
        for job, rows in groups.items()
        if job != MISSING
    ]
