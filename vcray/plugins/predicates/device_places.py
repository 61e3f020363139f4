"""Which devices each node reaches, pool by pool: those of its own slices first, then those that several nodes reach; pools with
devices that must be waited for come last.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vcray.core.arrays import Bool
from vcray.core.claims_dra import Device, DeviceId, DeviceTable, Slice
from vcray.core.selectors import term_mask
from vcray.core.tables import NodeTable, NodeTerm
from vcray.plugins.predicates.device_choice import Unit


class DevicePlaces:
    """Devices by node row. Pools with slices missing, or with a name that stands twice, are left out until they are whole."""

    def __init__(self, nodes: NodeTable, table: DeviceTable) -> None:
        self._nodes = nodes
        self._row = {name: row for row, name in enumerate(nodes.names)}
        self._own: dict[int, list[Unit]] = {}
        self._wide: list[tuple[Bool, Unit]] = []
        self._home: dict[DeviceId, int] = {}
        self._units: dict[int, tuple[Unit, ...]] = {}
        self._masks: dict[tuple[NodeTerm, ...], Bool] = {}
        self.device: dict[DeviceId, Device] = {}
        self.slices = tuple(_current(table.slices))
        self._slow = {
            (each.driver, each.pool)
            for each in self.slices
            if any(device.conditions for device in each.devices)
        }
        for each in self.slices:
            for device in each.devices:
                self._add(each, device)

    def _add(self, each: Slice, device: Device) -> None:
        unit = Unit(DeviceId(each.driver, each.pool, device.name), device, each)
        self.device[unit.id] = device
        node, terms, everywhere = (
            (device.node, device.terms, device.everywhere)
            if each.each
            else (each.node, each.terms, each.everywhere)
        )
        if node:
            if node in self._row:
                self._own.setdefault(self._row[node], []).append(unit)
                self._home[unit.id] = self._row[node]
        elif everywhere:
            self._wide.append((np.ones(len(self._nodes), dtype=bool), unit))
        elif terms is not None:
            self._wide.append((self.mask(terms), unit))

    def mask(self, terms: tuple[NodeTerm, ...] | None) -> Bool:
        """(N,) nodes that meet any of the terms; None for all."""
        if terms is None:
            return np.ones(len(self._nodes), dtype=bool)
        found = self._masks.get(terms)
        if found is None:
            found = np.zeros(len(self._nodes), dtype=bool)
            for term in terms:
                found |= term_mask(self._nodes, term)
            self._masks[terms] = found
        return found

    def of(self, node: int) -> tuple[Unit, ...]:
        """Devices that the node reaches, in the order in which they are tried."""
        found = self._units.get(node)
        if found is None:
            wide = (unit for mask, unit in self._wide if mask[node])
            units = (*self._own.get(node, ()), *wide)
            if self._slow:
                units = tuple(sorted(units, key=lambda unit: (unit.id.driver, unit.id.pool) in self._slow))
            found = self._units[node] = units
        return found

    def home(self, id: DeviceId) -> int | None:
        """The row of the one node that reaches a device; None when it may be several."""
        return self._home.get(id)


def _current(slices: Iterable[Slice]) -> Iterable[Slice]:
    """Slices of the newest generation of each whole pool, in order."""
    pools: dict[tuple[str, str], list[Slice]] = {}
    for each in slices:
        pools.setdefault((each.driver, each.pool), []).append(each)
    for _, found in sorted(pools.items()):
        newest = max(each.generation for each in found)
        current = [each for each in found if each.generation == newest]
        names = [device.name for each in current for device in each.devices]
        if len(current) >= max(each.count for each in current) and len(names) == len(set(names)):
            yield from current
