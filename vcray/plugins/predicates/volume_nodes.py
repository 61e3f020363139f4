"""Which nodes reach a volume, could have one made, or stand in its zone: sets of node rows for the terms of storage objects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from vcray.api.names import ZONE_LABELS
from vcray.core.arrays import Bool, Int
from vcray.core.selectors import requirement_mask, term_mask
from vcray.core.storage import ClaimRow, Storage, StorageClassRow, Volume
from vcray.core.tables import NodeTable, NodeTerm, Requirement

GA_LABEL = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}


class VolumeNodes:
    """Answers for one node table, each found once a session. Masks and row lists must not be written to."""

    def __init__(self, nodes: NodeTable, storage: Storage) -> None:
        self._nodes = nodes
        self._storage = storage
        self._all = np.arange(len(nodes))
        self._values: dict[str, dict[str, Int]] = {}
        self._rows: dict[tuple[NodeTerm, ...], Int] = {}
        self._masks: dict[Hashable, Bool] = {}

    def reaching(self, terms: tuple[NodeTerm, ...]) -> Int:
        """Rows of the nodes that meet any of the terms, ascending."""
        rows = self._rows.get(terms)
        if rows is None:
            parts = [self._term_rows(term) for term in terms]
            rows = parts[0] if len(parts) == 1 else np.unique(np.concatenate([*parts, np.zeros(0, np.int64)]))
            self._rows[terms] = rows
        return rows

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def rows(self, volume: Volume) -> Int:
        """Rows of the nodes that reach a volume, ascending."""
        return self._all if volume.nodes is None else self.reaching(volume.nodes)

    def reaches(self, volume: Volume, row: int) -> bool:
        """Does a node reach a volume?"""
        return volume.nodes is None or bool(self._reach(volume.nodes)[row])

    def _reach(self, terms: tuple[NodeTerm, ...]) -> Bool:
        return self._once(("reach", terms), lambda: self.mask(terms))

    def mask(self, terms: tuple[NodeTerm, ...] | None) -> Bool:
        """(N,) the same as a mask; None for all nodes."""
        out = np.zeros(len(self._nodes), dtype=bool)
        out[slice(None) if terms is None else self.reaching(terms)] = True
        return out

    def _term_rows(self, term: NodeTerm) -> Int:
        """Local volumes name one host in one expression: those are looked up, not searched for."""
        if len(term.requirements) == 1:
            (only,) = term.requirements
            if only.operator == "In" and not only.field:
                return self._having(only.key, only.values)
        return np.flatnonzero(term_mask(self._nodes, term))

    def _having(self, key: str, values: Sequence[str]) -> Int:
        by_value = self._values.get(key)
        if by_value is None:
            by_value = self._values[key] = self._by_value(key)
        parts = [by_value[value] for value in values if value in by_value]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate([*parts, np.zeros(0, np.int64)]))

    def _by_value(self, key: str) -> dict[str, Int]:
        labels = self._nodes.labels
        row = labels.keys.get(key)
        if row is None:
            return {}
        column = labels.column[row]
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(len(labels.values[row]) + 1))
        return {
            value: order[starts[number] : starts[number + 1]]
            for number, value in enumerate(labels.values[row])
        }

    def zoned(self, zones: tuple[tuple[str, tuple[str, ...]], ...]) -> Bool:
        """(N,) nodes in the zones and regions of a volume; one without any such label is everywhere."""
        return self._once(("zone", zones), lambda: self._zoned(zones))

    def _zoned(self, zones: tuple[tuple[str, tuple[str, ...]], ...]) -> Bool:
        labelled = np.zeros(len(self._nodes), dtype=bool)
        for label in ZONE_LABELS:
            labelled |= requirement_mask(self._nodes, Requirement(label, "Exists", ()))
        ok = np.ones(len(self._nodes), dtype=bool)
        for label, values in zones:
            inside = requirement_mask(self._nodes, Requirement(label, "In", values))
            if label in GA_LABEL:
                newer = requirement_mask(self._nodes, Requirement(GA_LABEL[label], "In", values))
                inside = inside | (
                    newer & requirement_mask(self._nodes, Requirement(label, "DoesNotExist", ()))
                )
            ok &= inside
        return ok | ~labelled

    def provisioned(self, found: StorageClassRow) -> Bool:
        """(N,) nodes for which the class lets volumes be made."""
        return self._once(("class", found.name), lambda: self._provisioned(found))

    def _provisioned(self, found: StorageClassRow) -> Bool:
        if not found.provisions:
            return np.zeros(len(self._nodes), dtype=bool)
        if not found.topologies:
            return np.ones(len(self._nodes), dtype=bool)
        ok = np.zeros(len(self._nodes), dtype=bool)
        for term in found.topologies:
            inside = np.full(len(self._nodes), bool(term))
            for label, values in term:
                inside &= requirement_mask(self._nodes, Requirement(label, "In", values))
            ok |= inside
        return ok

    def roomy(self, found: StorageClassRow, claim: ClaimRow) -> Bool:
        """(N,) nodes with enough free storage for the claim; all where the driver publishes nothing."""
        if found.provisioner not in self._storage.publishing:
            return self._once("everywhere", lambda: np.ones(len(self._nodes), dtype=bool))
        return self._once(("room", found.name, claim.size), lambda: self._roomy(found.name, claim.size))

    def _roomy(self, name: str, size: int) -> Bool:
        ok = np.zeros(len(self._nodes), dtype=bool)
        for capacity in self._storage.capacities.get(name, ()):
            if capacity.topology is None or capacity.largest is None or capacity.largest < size:
                continue
            inside = np.ones(len(self._nodes), dtype=bool)
            for requirement in capacity.topology:
                inside &= requirement_mask(self._nodes, requirement)
            ok |= inside
        return ok

    def only(self, name: str) -> Bool:
        """(N,) the node of that name."""
        out = np.zeros(len(self._nodes), dtype=bool)
        if name in self._nodes.names:
            out[self._nodes.names.index(name)] = True
        return out

    def _once(self, key: Hashable, make: Callable[[], Bool]) -> Bool:
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = make()
        return mask
