"""PodGroups as dense columns, and queues as a table made anew when one changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from vcray.cache.amounts import Amounts
from vcray.cache.interning import Interner, grown
from vcray.cache.rows import GroupRow, QueueRow
from vcray.core.arrays import Bool, Int
from vcray.core.space import ResourceSpace
from vcray.core.tables import MISSING, GroupStatus, JobTable, QueueTable

A = TypeVar("A", bound=npt.NDArray[np.generic])
T = TypeVar("T")

QUEUE, MIN_AVAILABLE, PRIORITY, CREATED, PREEMPTABLE, RESOURCES_SET, NEVER, RELEASED = range(8)
WIDTH = 8


class JobColumns:
    """PodGroups by row; rows move only to fill a gap."""

    def __init__(self, space: ResourceSpace) -> None:
        self.space = space
        self.keys: list[str] = []
        self.row: dict[str, int] = {}
        self.groups: list[GroupRow] = []
        self.data: Int = np.zeros((WIDTH, 64), np.int64)
        self.resources: Int = np.zeros((len(space), 64), np.int64)
        self.named: Int = np.zeros((len(space), 64), np.int64)
        self.role_minimum: list[tuple[tuple[int, int], ...]] = []
        self.status: list[GroupStatus] = []

    def __len__(self) -> int:
        return len(self.keys)

    def put(
        self, group: GroupRow, priority: int, queue: int, roles: Interner[str], never: bool = False
    ) -> int:
        """Write a group; `queue` numbers its queue's name; `never`: its class says preemptionPolicy Never. Its row."""
        row = self.row.get(group.key)
        if row is None:
            row = self.row[group.key] = len(self.keys)
            self.keys.append(group.key)
            self.groups.append(group)
            self.role_minimum.append(())
            self.status.append(group.status)
            self.data = grown(self.data, row)
            self.resources, self.named = grown(self.resources, row), grown(self.named, row)
        self.groups[row] = group
        self.status[row] = group.status
        self.role_minimum[row] = tuple((roles.number(role), minimum) for role, minimum in group.role_minimum)
        self.data[:, row] = (
            queue,
            group.min_available,
            priority,
            group.created,
            group.preemptable,
            group.min_resources is not None,
            never,
            group.released,
        )
        self.resources[:, row] = self.named[:, row] = 0
        for name, amount in group.min_resources or ():
            self.resources[self.space.rows[name], row] = amount
            self.named[self.space.rows[name], row] = 1
        return row

    def remove(self, key: str) -> tuple[int, str] | None:
        """Take a group out; the row that another one moved to, and its key."""
        row = self.row.pop(key)
        last = len(self.keys) - 1
        if row != last:
            for array in (self.data, self.resources, self.named):
                array[:, row] = array[:, last]
            self.row[self.keys[last]] = row
        _fill_gap(self.keys, row)
        _fill_gap(self.groups, row)
        _fill_gap(self.role_minimum, row)
        _fill_gap(self.status, row)
        return (row, self.keys[row]) if row != last else None

    def table(self, queue_row: Int, gated: Int) -> JobTable:
        """The frozen table; `queue_row` is the row of each numbered queue name, `gated` (R, J) sums of gated pods."""
        count = len(self.keys)
        data = self.data[:, :count]
        return JobTable(
            names=tuple(self.keys),
            uids=tuple([group.uid for group in self.groups]),
            queue=_fixed(queue_row[data[QUEUE]].astype(np.int32)),
            queue_names=tuple([group.queue for group in self.groups]),
            min_available=_fixed(data[MIN_AVAILABLE].astype(np.int32)),
            priority=_fixed(data[PRIORITY].astype(np.int32)),
            created=_fixed(data[CREATED].copy()),
            preemptable=_fixed(data[PREEMPTABLE].astype(np.bool_)),
            min_resources=_fixed(self.resources[:, :count].copy()),
            min_resources_set=_fixed(data[RESOURCES_SET].astype(np.bool_)),
            min_resources_named=_fixed(self.named[:, :count].astype(np.bool_)),
            role_minimum=tuple(self.role_minimum),
            status=tuple(self.status),
            resource_version=tuple([group.resource_version for group in self.groups]),
            requested_gated=_fixed(gated),
            notes=tuple([group.notes for group in self.groups]),
            closeness=tuple([group.closeness for group in self.groups]),
            subgroups=tuple([group.subgroups for group in self.groups]),
            quota_minimum=quota_minimums(self.groups),
            never_preempts=_fixed(data[NEVER].astype(np.bool_)),
            released=_fixed(data[RELEASED].astype(np.bool_)),
        )


def quota_minimums(groups: Sequence[GroupRow]) -> tuple[Amounts, ...]:
    """Amounts under names that only quotas know; empty when no group has one."""
    if not any(group.quota_minimum for group in groups):
        return ()
    return tuple(group.quota_minimum for group in groups)


def _fill_gap(items: list[T], row: int) -> None:
    """Let the last item take the place of one that goes."""
    last = items.pop()
    if row < len(items):
        items[row] = last


def _fixed(array: A) -> A:
    array.flags.writeable = False
    return array


def queue_table(queues: Mapping[str, QueueRow], space: ResourceSpace) -> QueueTable:
    """The frozen table of the queues, by name."""
    rows = sorted(queues.values(), key=lambda row: row.name)
    number = {row.name: place for place, row in enumerate(rows)}
    capability, capability_named = _named([dict(row.capability) for row in rows], space)
    deserved, deserved_named = _named([dict(row.deserved) for row in rows], space)
    guarantee, guarantee_named = _named([dict(row.guarantee) for row in rows], space)
    return QueueTable(
        names=tuple(number),
        uids=tuple(row.uid for row in rows),
        weight=_fixed(np.array([row.weight for row in rows], np.int32)),
        priority=_fixed(np.array([row.priority for row in rows], np.int32)),
        created=_fixed(np.array([row.created for row in rows], np.int64)),
        parent=_fixed(np.array([parent_of(row, number) for row in rows], np.int32)),
        state=_fixed(np.array([row.state for row in rows], np.int8)),
        reclaimable=_fixed(np.array([row.reclaimable for row in rows], np.bool_)),
        capability=capability,
        capability_named=capability_named,
        deserved=deserved,
        deserved_named=deserved_named,
        guarantee=guarantee,
        guarantee_named=guarantee_named,
        allocated=tuple(row.allocated for row in rows),
        resource_version=tuple(row.resource_version for row in rows),
        notes=tuple(row.notes for row in rows),
        affinity=tuple(row.affinity for row in rows) if any(row.affinity for row in rows) else (),
    )


def _named(columns: list[dict[str, int]], space: ResourceSpace) -> tuple[Int, Bool]:
    amounts = np.zeros((len(space), len(columns)), np.int64)
    named = np.zeros((len(space), len(columns)), np.bool_)
    for number, column in enumerate(columns):
        for name, amount in column.items():
            amounts[space.rows[name], number] = amount
            named[space.rows[name], number] = True
    return _fixed(amounts), _fixed(named)


def parent_of(queue: QueueRow, rows: Mapping[str, int]) -> int:
    """Row of the parent queue; one that names none hangs under root."""
    return MISSING if queue.name == "root" else rows.get(queue.parent or "root", MISSING)
