"""Volcano's `pdb`: no eviction takes more pods than their PodDisruptionBudgets allow.

Candidates are walked least valuable first; a pod that a budget selects uses up one of its disruptions, even where another rule
keeps that pod. Budgets start at `status.disruptionsAllowed`, less what was evicted since their controller counted: rounds
follow each other faster. The plugin vetoes, from whatever tier, so
that no action and no order of tiers breaks a budget.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.budgets import Budget
from vcray.core.plugin import Args, Plugin
from vcray.core.selectors import satisfies
from vcray.core.tables import Notes, Requirement, Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import View

OVER = (Status.SUCCEEDED, Status.FAILED)


class Pdb(Plugin[Args]):
    """Keeps PodDisruptionBudgets."""

    steady = True
    vetoes: ClassVar[bool] = True
    keeps: ClassVar[bool] = True

    def open(self, view: View) -> None:
        """Nothing is looked up until somebody asks for victims."""
        self.covers_: list[_Cover] | None = None
        self.labelled_: Bool | None = None

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """Candidates within their budgets, each node counted afresh."""
        return self._within(view, candidates.task, candidates)

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """As `preemptable`."""
        return self._within(view, candidates.task, candidates)

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """As `preemptable`; Volcano's gang actions pass budgets over."""
        return self._within(view, candidates.task, candidates)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: whoever claims."""
        return None

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        """Of the tasks that others want gone those within their budgets, least priority first, then by name."""
        table = view.snapshot.tasks
        order = sorted(
            range(len(tasks)), key=lambda i: (int(table.priority[tasks[i]]), table.names[int(tasks[i])])
        )
        rows = tasks[order]
        none = np.zeros(len(rows), dtype=np.int64)
        request = np.zeros((0, len(rows)), dtype=np.int64)
        walked = Candidates(rows, none, none, none, none, request)
        out = np.zeros(len(tasks), dtype=np.bool_)
        out[order] = self._within(view, rows, walked)
        return out

    def _within(self, view: View, tasks: Int, candidates: Candidates) -> Bool:
        """(k,) candidates that no budget refuses; a pod without labels is never taken, as in Volcano."""
        snapshot = view.snapshot
        if self.covers_ is None or self.labelled_ is None:
            sets, budgets = snapshot.label_sets, snapshot.details.budgets
            self.labelled_ = np.array([bool(labels) for labels in sets], dtype=np.bool_)
            index = _Index(sets) if budgets else None
            self.covers_ = (
                [_Cover(view, index, each) for each in budgets.budgets] if budgets and index else []
            )
        kept = self.labelled_[snapshot.tasks.labels[tasks]]
        covers = [cover for cover in self.covers_ if cover.selected[tasks].any()]
        if not covers or not len(tasks):
            return kept
        used = np.array([cover.selected[tasks] for cover in covers], dtype=np.int64)
        counts = candidates.running(np.zeros(len(tasks), dtype=np.int64), used, inclusive=True)
        allowed = np.array([[cover.left(view)] for cover in covers], dtype=np.int64)
        over = (used > 0) & (counts > allowed)
        within: Bool = kept & ~np.logical_or.reduce(over, axis=0)
        return within


class _Index:
    """Label sets by each pair in them."""

    def __init__(self, sets: tuple[Notes, ...]) -> None:
        self.sets = sets
        self._with: dict[tuple[str, str], list[int]] = {}
        for row, labels in enumerate(sets):
            for pair in labels:
                self._with.setdefault(pair, []).append(row)

    def selected(self, requirements: tuple[Requirement, ...]) -> Bool:
        """(L,) label sets that meet all requirements."""
        narrow = next((r for r in requirements if r.operator == "In"), None)
        rows = (
            range(len(self.sets))
            if narrow is None
            else [row for value in narrow.values for row in self._with.get((narrow.key, value), ())]
        )
        found = np.zeros(len(self.sets), dtype=np.bool_)
        found[[row for row in rows if satisfies(requirements, dict(self.sets[row]))]] = True
        return found


class _Cover:
    """A budget and the tasks it selects: `selected` (P,), those counted as on their way out already left out."""

    def __init__(self, view: View, index: _Index, budget: Budget) -> None:
        tasks, prefix = view.snapshot.tasks, f"{budget.namespace}/"
        rows = np.flatnonzero(index.selected(budget.requirements)[tasks.labels])
        rows = np.array([row for row in rows.tolist() if tasks.names[row].startswith(prefix)], dtype=np.int64)
        living = rows[~np.isin(tasks.status[rows], OVER)]
        gone = set(budget.disrupted)
        self.rows = np.array([row for row in rows.tolist() if tasks.names[row] not in gone], dtype=np.int64)
        self.selected = np.zeros(len(tasks), dtype=np.bool_)
        self.selected[self.rows] = True
        self.budget = budget
        self.whole = 0 < budget.expected <= len(living)

    def left(self, view: View) -> int:
        """Pods that may still go. When all pods of the budget are known here, those that run beyond what must stay; else
        what is allowed less all that are leaving, counted by the controller already or not."""
        now = view.status[self.rows]
        if self.whole:
            before = view.snapshot.tasks.status[self.rows]
            evicted = int(((now == Status.RELEASING) & (before != Status.RELEASING)).sum())
            running = int((now == Status.RUNNING).sum())
            return min(self.budget.allowed - evicted, running - self.budget.desired)
        return self.budget.allowed - int((now == Status.RELEASING).sum())
