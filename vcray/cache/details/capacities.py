"""status.capacity of nodes, where it is more than what pods may have: measured per cents are of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from vcray.api.names import CPU, MEMORY
from vcray.cache.details.source import NODES, Source
from vcray.cache.rows import NodeRow
from vcray.core.usage import Capacities

if TYPE_CHECKING:
    from vcray.cache.state import State

Known = dict[str, tuple[NodeRow, tuple[int, int] | None]]

_known: WeakKeyDictionary[State, Known] = WeakKeyDictionary()
"""What was found of each node row, so that only rows that changed are looked at."""


def build(state: State) -> Capacities | None:
    """Of nodes whose capacity is not their allocatable; None when there are none."""
    known, rows = _known.get(state, {}), state.nodes.rows
    now: Known = {}
    for name, row in rows.items():
        before = known.get(name)
        now[name] = before if before is not None and before[0] is row else (row, _capacity(row))
    _known[state] = now
    found = tuple(sorted((name, each) for name, (_, each) in now.items() if each is not None))
    return Capacities(found) if found else None


def _capacity(row: NodeRow) -> tuple[int, int] | None:
    allocatable = dict(row.allocatable)
    same = ((0, 0), (allocatable.get(CPU, 0), allocatable.get(MEMORY, 0)))
    return None if row.capacity in same else row.capacity


SOURCE: Final = Source("capacities", {}, build, (NODES,))
