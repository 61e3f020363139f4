"""Numatopology: cpus of each node, and pods whose cpus were chosen here and not yet told by the node's exporter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.names import PINNED_CPUS
from vcray.api.quantity import thousandths
from vcray.cache.delta import Field
from vcray.cache.details.source import PODS, Kept, Source
from vcray.cache.podcolumns import HELD, LEAVING
from vcray.core.numa import CpuPlace, NumaNode, NumaTable, Pinned, cpu_set, cpu_text

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "Numatopology"
MOST_CPUS: Final = 1 << 16


class NumaRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a Numatopology."""

    name: str
    cpu_policy: str
    topology_policy: str
    places: tuple[tuple[int, int, int, int], ...]
    free: str
    reserved: int
    holders: tuple[tuple[str, tuple[str, ...]], ...]


def read_numa(data: JsonObject) -> NumaRow:
    """The row of an object. Raises ValueError or QuantityError for what cannot be read."""
    places = []
    for cpu, place in dig_object(data, "spec", "cpuDetail").items():
        numbers = (dig_int(place, "numa"), dig_int(place, "socket"), dig_int(place, "core"))
        if not 0 <= int(cpu) < MOST_CPUS:
            raise ValueError(f"cpuDetail: {cpu!r} is no cpu")
        places.append((int(cpu), *numbers))
    free = dig_str(data, "spec", "numares", "cpu", "allocatable")
    cpu_set(free)
    reserved = dig_object(data, "spec", "resReserved").get("cpu")
    holders = []
    for pod in dig_objects(data, "spec", "podAllocations"):
        sets = [dig_str(each, "allocations", "cpu") for each in dig_objects(pod, "containerAllocations")]
        for each in sets:
            cpu_set(each)
        holders.append((f"{dig_str(pod, 'namespace')}/{dig_str(pod, 'name')}", tuple(filter(None, sets))))
    return NumaRow(
        name=dig_str(data, "metadata", "name"),
        cpu_policy=dig_str(data, "spec", "policies", "CPUManagerPolicy"),
        topology_policy=dig_str(data, "spec", "policies", "TopologyManagerPolicy"),
        places=tuple(sorted(places)),
        free=free,
        reserved=thousandths(reserved) if isinstance(reserved, str | int | float) else 0,
        holders=tuple(sorted(holders)),
    )


def build(state: State) -> NumaTable | None:
    """All layouts; None when there are none."""
    rows = [row for row in state.knowledge.details.get(KIND, {}).values() if isinstance(row, NumaRow)]
    if not rows:
        return None
    return NumaTable(tuple(_node(row) for row in sorted(rows, key=lambda row: row.name)))


_MADE: Final[dict[str, tuple[NumaRow, NumaNode]]] = {}
_PLACES: Final[dict[tuple[tuple[int, int, int, int], ...], tuple[CpuPlace, ...]]] = {}
MOST: Final = 65536
"""Nodes and layouts that are remembered, so that a change of one node makes one node anew, and equal layouts are one object."""


def _node(row: NumaRow) -> NumaNode:
    known = _MADE.get(row.name)
    if known is not None and known[0] is row:
        return known[1]
    for memory in (_MADE, _PLACES):
        if len(memory) > MOST:
            memory.clear()
    made = _make(row)
    _MADE[row.name] = (row, made)
    return made


def _make(row: NumaRow) -> NumaNode:
    holders = []
    for pod, sets in row.holders:
        cpus = 0
        for each in sets:
            cpus |= cpu_set(each)
        holders.append((pod, cpu_text(cpus)))
    return NumaNode(
        row.name,
        row.cpu_policy,
        row.topology_policy,
        _PLACES.setdefault(row.places, tuple(CpuPlace(*place) for place in row.places)),
        row.free,
        row.reserved,
        tuple(holders),
    )


def build_pinned(state: State) -> tuple[Pinned, ...] | None:
    """Pods on nodes whose cpus were chosen by a scheduler, by name; None when there are none."""
    facts = {
        number: cpus
        for number, known in enumerate(state.facts.values)
        if known.notes and (cpus := _cpus(dict(known.notes).get(PINNED_CPUS, "")))
    }
    if not facts:
        return None
    found = []
    for table in state.tables.values():
        for row in state.rows_with(table, Field.FACTS, list(facts)):
            held = int(table.data[HELD, row])
            if held >= 0:
                node, leaving = state.strings.values[held], bool(table.data[LEAVING, row])
                found.append(Pinned(table.keys[row], node, leaving, facts[int(table.data[Field.FACTS, row])]))
    return tuple(sorted(found, key=lambda pinned: pinned.pod)) or None


def _cpus(text: str) -> str:
    """A set that anybody may have written; empty when it is no set."""
    try:
        cpu_set(text)
    except ValueError:
        return ""
    return text


KINDS: Final[Mapping[str, Kept]] = {KIND: Kept(NumaRow, read_numa)}
SOURCE: Final = Source("numa", KINDS, build)
PINNED: Final = Source("pinned", {}, build_pinned, (PODS,))
