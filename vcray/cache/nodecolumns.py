"""Node objects as columns: what does not depend on pods. Order of nodes is by name.

Rebuilt part by part: a change of one node's amounts writes one column, a change of labels or taints rebuilds that table, a
node that comes or goes rebuilds all. Heartbeats never get here, since equal rows are not sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vcray.cache.amounts import Amounts
from vcray.cache.rows import NodeRow
from vcray.core.arrays import Bool, Int, Int32
from vcray.core.snapshot import tie_ranks
from vcray.core.space import ResourceSpace
from vcray.core.tables import MISSING, LabelColumns, Notes, Taint


@dataclass(frozen=True, slots=True)
class NodeStatics:
    """Frozen columns of all nodes, handed out as they are."""

    names: tuple[str, ...]
    allocatable: Int
    kube_allocatable: Int
    ready: Bool
    unschedulable: Bool
    taints: tuple[Taint, ...]
    tainted: Bool
    labels: LabelColumns
    notes: tuple[Notes, ...]


IMAGE_SETS = 64
"""Sets of images for which the answer is kept."""


class NodeColumns:
    """Node rows by name and what is made of them."""

    def __init__(self) -> None:
        self.rows: dict[str, NodeRow] = {}
        self.column: dict[str, int] = {}
        self.image_nodes: dict[str, dict[str, int]] = {}
        """Image name -> node name -> bytes."""
        self._ordered: list[NodeRow] = []
        self._changed: dict[str, None] = {}
        self._statics: NodeStatics | None = None
        self._ties: tuple[int, tuple[str, ...], Int] | None = None
        self._images: dict[str, tuple[Int32, Int]] = {}
        self._image_sets: dict[frozenset[str], dict[str, tuple[Int32, Int]]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def put(self, row: NodeRow) -> list[str]:
        """Keep a row; images that some node has now and none had before, or the reverse."""
        before = self.rows.get(row.name)
        images = dict.fromkeys(image for item in (before, row) if item for image, _ in item.images)
        known = {image for image in images if image in self.image_nodes}
        if before is None:
            self._statics = None
        else:
            self._forget_images(before)
        for image, size in row.images:
            self.image_nodes.setdefault(image, {})[row.name] = size
        self.rows[row.name] = row
        self._changed[row.name] = None
        self._images, self._image_sets = {}, {}
        return [image for image in images if (image in known) != (image in self.image_nodes)]

    def drop(self, name: str) -> list[str]:
        """Forget a node; images that only it had."""
        row = self.rows.pop(name)
        self._statics = None
        self._images, self._image_sets = {}, {}
        self._forget_images(row)
        return [image for image, _ in row.images if image not in self.image_nodes]

    def _forget_images(self, row: NodeRow) -> None:
        for image, _ in row.images:
            nodes = self.image_nodes[image]
            del nodes[row.name]
            if not nodes:
                del self.image_nodes[image]

    def number(self) -> None:
        """Give nodes their columns anew after one came or went, or the resources changed."""
        self._statics = None
        self._images, self._image_sets = {}, {}
        self._ordered = sorted(self.rows.values(), key=lambda row: row.name)
        self.column = {row.name: number for number, row in enumerate(self._ordered)}

    def statics(self, space: ResourceSpace) -> NodeStatics:
        """The columns as of now; the same object as before when no node changed."""
        known = self._statics
        if known is None:
            self._changed = {}
            self._statics = self._build(space)
        elif self._changed:
            changed, self._changed = self._changed, {}
            self._statics = self._update(known, list(changed), space)
        assert self._statics is not None
        return self._statics

    def _build(self, space: ResourceSpace) -> NodeStatics:
        rows = self._ordered = [self.rows[row.name] for row in self._ordered]
        taints, tainted = _taints(rows)
        return NodeStatics(
            names=tuple(row.name for row in rows),
            allocatable=_amounts([row.allocatable for row in rows], space),
            kube_allocatable=_amounts([row.kube_allocatable for row in rows], space),
            ready=_flags([row.ready for row in rows]),
            unschedulable=_flags([row.unschedulable for row in rows]),
            taints=taints,
            tainted=tainted,
            labels=_labels(rows),
            notes=tuple(row.notes for row in rows),
        )

    def _update(self, known: NodeStatics, changed: list[str], space: ResourceSpace) -> NodeStatics:
        allocatable, kube = known.allocatable.copy(), known.kube_allocatable.copy()
        ready, unschedulable = known.ready.copy(), known.unschedulable.copy()
        taints = labels = notes = False
        for name in changed:
            number = self.column[name]
            before, row = self._ordered[number], self.rows[name]
            self._ordered[number] = row
            allocatable[:, number] = space.vector(dict(row.allocatable))
            kube[:, number] = space.vector(dict(row.kube_allocatable))
            ready[number], unschedulable[number] = row.ready, row.unschedulable
            taints |= before.taints != row.taints
            labels |= before.labels != row.labels
            notes |= before.notes != row.notes
        for array in (allocatable, kube, ready, unschedulable):
            array.flags.writeable = False
        taint_table = _taints(self._ordered) if taints else (known.taints, known.tainted)
        return NodeStatics(
            names=known.names,
            allocatable=allocatable,
            kube_allocatable=kube,
            ready=ready,
            unschedulable=unschedulable,
            taints=taint_table[0],
            tainted=taint_table[1],
            labels=_labels(self._ordered) if labels else known.labels,
            notes=tuple(row.notes for row in self._ordered) if notes else known.notes,
        )

    def ties(self, seed: int, names: tuple[str, ...]) -> Int:
        """Tie ranks; kept while seed and nodes stay."""
        if self._ties is None or self._ties[0] != seed or self._ties[1] != names:
            ranks = tie_ranks(seed, names)
            ranks.flags.writeable = False
            self._ties = (seed, names, ranks)
        return self._ties[2]

    def images(self, wanted: frozenset[str]) -> dict[str, tuple[Int32, Int]]:
        """For each of these images the columns of the nodes that have it and its size there.

        The same object as before while no node changes: what rests on it then still holds."""
        known = self._image_sets.get(wanted)
        if known is not None:
            return known
        if len(self._image_sets) >= IMAGE_SETS:
            self._image_sets.clear()
        found = self._image_sets[wanted] = {}
        for image in sorted(wanted):
            if image not in self._images:
                pairs = sorted((self.column[name], size) for name, size in self.image_nodes[image].items())
                table = np.array(pairs, np.int64).reshape(len(pairs), 2)
                nodes, sizes = table[:, 0].astype(np.int32), table[:, 1].copy()
                nodes.flags.writeable = sizes.flags.writeable = False
                self._images[image] = (nodes, sizes)
            found[image] = self._images[image]
        return found


def _amounts(columns: list[Amounts], space: ResourceSpace) -> Int:
    """(R, N) amounts, equal columns made once."""
    distinct = {amounts: number for number, amounts in enumerate(dict.fromkeys(columns))}
    table = np.zeros((len(space), max(1, len(distinct))), np.int64)
    for amounts, number in distinct.items():
        table[:, number] = space.vector(dict(amounts))
    out: Int = table[:, [distinct[amounts] for amounts in columns]]
    out.flags.writeable = False
    return out


def _flags(values: list[bool]) -> Bool:
    array = np.array(values, np.bool_)
    array.flags.writeable = False
    return array


def _taints(rows: list[NodeRow]) -> tuple[tuple[Taint, ...], Bool]:
    taints = tuple(
        sorted(
            {taint for row in rows for taint in row.taints},
            key=lambda item: (item.key, item.value, item.effect),
        )
    )
    number = {taint: row for row, taint in enumerate(taints)}
    tainted = np.zeros((len(taints), len(rows)), np.bool_)
    for column, row in enumerate(rows):
        for taint in row.taints:
            tainted[number[taint], column] = True
    tainted.flags.writeable = False
    return taints, tainted


def _labels(rows: list[NodeRow]) -> LabelColumns:
    values: dict[str, dict[str, int]] = {}
    flat: list[tuple[str, int, int]] = []
    for column, row in enumerate(rows):
        for key, value in row.labels:
            known = values.setdefault(key, {})
            flat.append((key, column, known.setdefault(value, len(known))))
    keys = {key: number for number, key in enumerate(sorted(values))}
    table = np.full((len(keys), len(rows)), MISSING, np.int32)
    for key, column, value_number in flat:
        table[keys[key], column] = value_number
    table.flags.writeable = False
    return LabelColumns(keys, tuple(tuple(values[key]) for key in keys), table)
