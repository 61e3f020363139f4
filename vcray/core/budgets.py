"""PodDisruptionBudgets: how many pods of a kind may go, as their controller last counted."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.core.tables import Requirement


@dataclass(frozen=True, slots=True)
class Budget:
    """One PodDisruptionBudget, `name` with its namespace. `allowed`, `desired`, `expected` are status.disruptionsAllowed,
    desiredHealthy and expectedPods; `disrupted` are pods (namespace/name) that are on their way out and counted already."""

    name: str
    requirements: tuple[Requirement, ...]
    allowed: int
    desired: int = 0
    expected: int = 0
    disrupted: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """Where its pods are."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class BudgetTable:
    """All budgets in name order."""

    budgets: tuple[Budget, ...]
