"""Preemption that weighs several nodes against each other before it evicts anything (Volcano's topology-aware preemption).

On as many nodes as the limits say the claim is tried in the ledger and undone. Of those that would work, the one goes where the
least is lost: the lowest priority of the most valuable victim, then the lowest sum of priorities, then the fewest victims, then
those that started last. kube-scheduler chooses alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from vcray.core.candidates import Pool
from vcray.core.classes import Class
from vcray.core.hunt import Hunt
from vcray.core.session import Session
from vcray.core.victims import Claim, ClaimKind

NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nodes are weighed: `percentage` of all, within `least` and `most`."""

    percentage: int = 10
    least: int = 1
    most: int = 100

    def of(self, nodes: int) -> int:
        """For a cluster of so many nodes."""
        return max(1, min(nodes, self.most, max(self.least, nodes * self.percentage // 100)))


@dataclass(frozen=True, slots=True)
class _Plan:
    cost: tuple[int, int, int, int]
    node: int
    victims: tuple[int, ...]


class DryRuns(Hunt):
    """Claims of `preempt` that take the least damage instead of the best node."""

    def __init__(self, session: Session, limits: Limits) -> None:
        super().__init__(session, ClaimKind.PREEMPT, scored=True)
        self._limits = limits

    def _evict_among(self, claim: Claim, cls: Class, pool: Pool, others: bool, key: object) -> bool:
        ledger = self.session.ledger
        left = self._limits.of(len(self.session.view.snapshot.nodes))
        best: _Plan | None = None
        for found in self.yields(claim, cls, pool, others):
            mark = ledger.checkpoint()
            self.session.meter.attempts += 1
            if not self.take(claim, cls, found):
                continue
            victims = tuple(ledger.evicted_since(mark))
            ledger.rollback(mark)
            if not victims:
                continue
            plan = _Plan(self._cost(victims), found.node, victims)
            if best is None or plan.cost < best.cost:
                best = plan
            left -= 1
            if not left:
                break
        if best is None:
            return False
        return self.redo(claim, cls, best.node, ledger.checkpoint(), best.victims)

    def _cost(self, victims: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Smaller is better. A pod that states no priority has 0, one that never started counts as started now."""
        view = self.session.view
        table = view.snapshot.tasks
        priorities = [view.snapshot.pod_facts[int(table.facts[task])].priority or 0 for task in victims]
        highest = max(priorities)
        started = min(
            int(table.started[task]) or NEVER
            for task, priority in zip(victims, priorities, strict=True)
            if priority == highest
        )
        return highest, sum(priority + 2**31 for priority in priorities), len(victims), -started
