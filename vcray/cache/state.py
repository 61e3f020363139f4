"""All that the merge holds, and the few steps that its parts share.

Names are numbered once (`strings`); `node_column` and `job_row` say what a number is as a node or as a PodGroup, MISSING
if it is none. Changes mark pods dirty by key, since rows move; `Merge` settles what is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from vcray.cache.delta import Field
from vcray.cache.freeze import Frozen
from vcray.cache.groups import AGENT_JOB
from vcray.cache.interning import Interner, grown
from vcray.cache.jobcolumns import JobColumns
from vcray.cache.knowledge import Knowledge
from vcray.cache.nodecolumns import NodeColumns
from vcray.cache.podcolumns import HELD, LEAVING, SHAPE, SPREAD, PodColumns
from vcray.cache.promises import Promises
from vcray.cache.resolver import Moves, Resolver
from vcray.cache.rows import GroupRow
from vcray.cache.sums import NodeSums, Placed
from vcray.core.arrays import Int
from vcray.core.space import ResourceSpace
from vcray.core.tables import MISSING, PodFacts

FIRST_STRINGS: Final = ("", AGENT_JOB)
"""Strings whose numbers never change: 0 and `podcolumns.AGENT`."""


class State:
    """Tables of a cluster. `tables[True]` are the pods of known PodGroups, `tables[False]` all others."""

    def __init__(self) -> None:
        self.space = ResourceSpace.of(())
        self.knowledge = Knowledge()
        self.nodes = NodeColumns()
        self.tables = {True: PodColumns(), False: PodColumns()}
        self.strings: Interner[str] = Interner(FIRST_STRINGS)
        self.roles: Interner[str] = Interner([""])
        self.facts: Interner[PodFacts] = Interner([PodFacts()])
        self.jobs = JobColumns(self.space)
        self.resolver = Resolver(self.knowledge, self.space, self.nodes.image_nodes)
        self.sums = NodeSums(len(self.space), 0)
        self.node_column: Int = np.full(64, MISSING, np.int64)
        self.job_row: Int = np.full(64, MISSING, np.int64)
        self.frozen = Frozen()
        self.dirty: dict[str, None] = {}
        self.written: dict[bool, Int] = {}
        """Rows just written, which are dirty too; none may move between the writing and the settling."""
        self.moves = Moves()
        self.labels_left: list[int] = []
        """Label sets that lost pods."""
        self.new_resources: set[str] = set()
        self.renumber = False
        """A node came or went."""
        self.volumes_changed: dict[str, None] = {}
        """Nodes whose CSINode changed."""
        self.promises = Promises()

    def string(self, text: str) -> int:
        """The number of a name."""
        number = self.strings.number(text)
        self.node_column = grown(self.node_column, number, MISSING)
        self.job_row = grown(self.job_row, number, MISSING)
        return number

    def string_numbers(self, texts: Iterable[str]) -> Int:
        """The numbers of several names."""
        numbers = self.strings.numbers(texts)
        self.node_column = grown(self.node_column, len(self.strings), MISSING)
        self.job_row = grown(self.job_row, len(self.strings), MISSING)
        return numbers

    def find(self, key: str) -> tuple[PodColumns, int] | None:
        """Table and row of a pod."""
        for table in self.tables.values():
            row = table.row.get(key)
            if row is not None:
                return table, row
        return None

    def need(self, names: Iterable[str]) -> None:
        """These resources must have rows."""
        rows = self.space.rows
        self.new_resources.update(name for name in names if name not in rows)

    def rows_with(self, table: PodColumns, column: int, numbers: Sequence[int]) -> list[int]:
        """Rows of a table that have one of these numbers in a column."""
        mask = np.zeros(max(numbers) + 1, np.bool_)
        mask[list(numbers)] = True
        values = table.used(column)
        rows: list[int] = np.flatnonzero(
            (values < len(mask)) & mask[np.minimum(values, len(mask) - 1)]
        ).tolist()
        return rows

    def mark(self, column: int, numbers: Sequence[int]) -> None:
        """Pods with one of these numbers in a column must be looked at again."""
        if numbers:
            for table in self.tables.values():
                self.dirty.update((table.keys[row], None) for row in self.rows_with(table, column, numbers))

    def put_group(self, group: GroupRow) -> None:
        """Write a PodGroup's row."""
        if self.new_resources:
            return  # the restart that they cause writes all PodGroups anew
        queue = self.string(group.queue)
        never = self.knowledge.never_preempts(group)
        row = self.jobs.put(group, self.knowledge.job_priority(group), queue, self.roles, never)
        self.job_row[self.string(group.key)] = row
        self.frozen.jobs = None

    def remove_pod(self, key: str) -> None:
        """Take a pod out of its table and its sums."""
        found = self.find(key)
        if found is None:
            return
        table, row = found
        shape, held, leaving = (int(table.data[field, row]) for field in (SHAPE, HELD, LEAVING))
        labels = int(table.data[Field.LABELS, row])
        if held >= 0:
            self.moves.gone.append((held, shape, leaving))
        if shape >= 0:
            self.resolver.shapes.refs[shape] -= 1
            self.moves.touched.append(shape)
        self.resolver.labels.refs[labels] -= 1
        self.labels_left.append(labels)
        table.remove(key)
        self.dirty.pop(key, None)
        self.frozen.pods_changed()

    def restart(self, space: ResourceSpace) -> None:
        """Forget all that is derived; pods, nodes and the rest stay as columns and rows."""
        self.space = space
        self.new_resources = set()
        self.resolver.restart(space)
        self.moves = Moves()
        self.jobs = JobColumns(space)
        self.job_row[:] = MISSING
        for group in self.knowledge.groups.values():
            self.put_group(group)
        for table in self.tables.values():
            size = len(table)
            table.data[SHAPE, :size] = table.data[HELD, :size] = -1
            table.data[LEAVING, :size] = table.data[SPREAD, :size] = 0
        self.renumber = True
        self.frozen = Frozen()

    def number_nodes(self) -> None:
        """Give nodes their columns and sum up anew what is on them."""
        self.renumber = False
        self.nodes.number()
        self.node_column[:] = MISSING
        for name, column in self.nodes.column.items():
            self.node_column[self.string(name)] = column

    def placed(self, held: Int, shape: Int, leaving: Int) -> Placed:
        """Pods by node column; those on nodes that are no more left out."""
        column = self.node_column[held]
        known = column >= 0
        return column[known], shape[known], leaving[known] != 0

    def all_placed(self, table: PodColumns) -> Placed:
        """All pods of a table that are in node sums."""
        rows = np.flatnonzero(table.used(HELD) >= 0)
        return self.placed(*(table.data[field, rows] for field in (HELD, SHAPE, LEAVING)))
