"""PodDisruptionBudgets, for the plugin `pdb`.

As in policy/v1 an absent selector selects nothing and an empty one every pod of the namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.wire import Selector
from vcray.cache.details.source import Kept, Source
from vcray.cache.labels import requirements_of
from vcray.cache.translate import number, section, text
from vcray.core.budgets import Budget, BudgetTable
from vcray.core.tables import Requirement

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "PodDisruptionBudget"


class BudgetRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a PodDisruptionBudget."""

    name: str
    requirements: tuple[Requirement, ...]
    allowed: int
    desired: int
    expected: int
    disrupted: tuple[str, ...]


def read_budget(data: JsonObject) -> BudgetRow:
    """The row of an object. Raises ValueError for a selector that cannot be read."""
    metadata, status = section(data, "metadata"), section(data, "status")
    selector = section(data, "spec").get("selector")
    try:
        requirements = requirements_of(None if selector is None else msgspec.convert(selector, Selector))
    except msgspec.ValidationError as error:
        raise ValueError(f"selector: {error}") from error
    namespace = text(metadata, "namespace")
    return BudgetRow(
        name=f"{namespace}/{text(metadata, 'name')}",
        requirements=requirements,
        allowed=number(status, "disruptionsAllowed"),
        desired=number(status, "desiredHealthy"),
        expected=number(status, "expectedPods"),
        disrupted=tuple(sorted(f"{namespace}/{pod}" for pod in section(status, "disruptedPods"))),
    )


def build(state: State) -> BudgetTable | None:
    """All budgets; None when there are none."""
    rows = [row for row in state.knowledge.details.get(KIND, {}).values() if isinstance(row, BudgetRow)]
    if not rows:
        return None
    return BudgetTable(
        tuple(
            Budget(row.name, row.requirements, row.allowed, row.desired, row.expected, row.disrupted)
            for row in sorted(rows, key=lambda row: row.name)
        )
    )


SOURCE: Final = Source("budgets", {KIND: Kept(BudgetRow, read_budget)}, build)
