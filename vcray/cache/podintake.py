"""Takes a delta's pods into the columns: numbers translated, newest version kept, placements in flight laid over."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vcray.cache.assume import ASSUMED_S, Assumption, Assumptions
from vcray.cache.delta import FIELDS, Delta, Field
from vcray.cache.podcolumns import SHARD
from vcray.cache.state import State
from vcray.cache.store import Store
from vcray.core.arrays import Int
from vcray.core.decisions import Commit
from vcray.core.tables import MISSING, Status


class PodIntake:
    """Pods, and placements of them that the watch has not confirmed. `assumed_s`: how long those may stay."""

    def __init__(self, state: State, assumed_s: float = ASSUMED_S) -> None:
        self._state = state
        self._assumed_s = assumed_s
        self._seen: Store[None] = Store()
        self._assumptions = Assumptions()

    def take(self, delta: Delta) -> None:
        """Take in rows; the newest version wins."""
        for key, version in delta.gone:
            if self._seen.drop(key, version):
                self._remove(key)
        if delta.full:
            self._drop_missing(delta)
        if delta.keys:
            values = self._translated(delta)
            self._write(delta, values, self._admitted(delta, values))

    def _remove(self, key: str) -> None:
        self._assumptions.drop(key)
        self._state.remove_pod(key)

    def _drop_missing(self, delta: Delta) -> None:
        present = frozenset(delta.keys)
        for table in self._state.tables.values():
            rows = np.flatnonzero(table.used(SHARD) == delta.shard).tolist()
            for key in [table.keys[row] for row in rows]:
                if key not in present:
                    self._seen.move_away(key)
                    self._remove(key)

    def _translated(self, delta: Delta) -> Int:
        """The pod matrix in the merge's own numbers."""
        state = self._state
        values = delta.values.copy()
        strings = np.array([state.string(text) for text in delta.strings], np.int64)
        forms, new = state.resolver.forms.add(delta.forms)
        state.need(name for form in new for name, _ in form.requests)
        for name in (Field.JOB, Field.NODE, Field.NOMINATED, Field.OWNER):
            values[name] = strings[values[name]]
        distinct, inverse = np.unique(values[Field.ROLE], return_inverse=True)
        roles = [state.roles.number(delta.strings[number]) for number in distinct.tolist()]
        values[Field.ROLE] = np.array(roles, np.int64)[inverse]
        values[Field.FORM] = forms[values[Field.FORM]]
        values[Field.CLAIMS] = state.resolver.add_claims(delta.claims)[values[Field.CLAIMS]]
        number = state.resolver.labels.number
        values[Field.LABELS] = np.array([number(item) for item in delta.labels], np.int64)[
            values[Field.LABELS]
        ]
        return values

    def _admitted(self, delta: Delta, values: Int) -> list[int]:
        """Columns of the delta that are news; pods that become tasks, or cease to be, change their table."""
        tables = self._state.tables
        is_task: list[bool] = (self._state.job_row[values[Field.JOB]] != MISSING).tolist()
        versions: list[int] = values[Field.VERSION].tolist()
        assumed = len(self._assumptions) > 0
        admitted = []
        for column, key in enumerate(delta.keys):
            if not self._seen.put(key, versions[column], None):
                self._state.labels_left.append(int(values[Field.LABELS, column]))
                continue
            admitted.append(column)
            if assumed and key in self._assumptions:
                self._overlay(key, delta.uids[column], values, column)
            task = is_task[column]
            if key in tables[not task].row:
                tables[task].take(key, tables[not task])
        return admitted

    def _write(self, delta: Delta, values: Int, admitted: list[int]) -> None:
        state = self._state
        is_task = state.job_row[values[Field.JOB]] != MISSING
        for task, table in state.tables.items():
            columns = [column for column in admitted if is_task[column] == task]
            if not columns:
                continue
            rows = []
            for column in columns:
                key = delta.keys[column]
                row = table.row.get(key)
                if row is None:
                    row = table.add(key, delta.uids[column])
                else:
                    table.rename(row, delta.uids[column])
                rows.append(row)
                state.dirty[key] = None
            refs = state.resolver.labels.refs
            before = table.data[Field.LABELS, rows]
            before = before[before >= 0]
            np.add.at(refs, before, -1)
            np.add.at(refs, values[Field.LABELS, columns], 1)
            state.labels_left += before.tolist()
            table.data[:FIELDS, rows] = values[:, columns]
            table.data[SHARD, rows] = delta.shard
            state.frozen.pods_changed()

    # placements in flight

    def _overlay(self, key: str, uid: str, values: Int, column: int) -> None:
        """A pod with a placement in flight was told of anew: the placement goes on unless the watch knows better."""
        found = self._assumptions.get(key)
        assert found is not None
        waits = values[Field.STATUS, column] == Status.PENDING and values[Field.NODE, column] == 0
        if uid != found.uid or not waits:
            self._assumptions.drop(key)
            return
        hidden = values[:, column].copy()
        self._assumptions.put(Assumption(key, uid, found.node, found.deadline, hidden))
        values[:, column] = self._placed(hidden, found.node)

    def _placed(self, hidden: Int, node: str) -> Int:
        """The column of a waiting pod as if it were on its way to the node."""
        column = hidden.copy()
        column[Field.NODE] = self._state.string(node)
        column[Field.STATUS] = Status.BINDING
        column[Field.FORM] = self._state.resolver.forms.settled(int(hidden[Field.FORM]))
        column[Field.OWNER] = column[Field.CLAIMS] = 0
        return column

    def assume(self, commits: Iterable[Commit], now: float) -> None:
        """Count decided placements from now on. Pods that are gone, replaced or no longer waiting are passed over."""
        for commit in commits:
            for bind in commit.binds:
                found = self._state.find(bind.task)
                if found is None:
                    continue
                table, row = found
                if table.uids[row] != bind.uid or table.data[Field.STATUS, row] != Status.PENDING:
                    continue
                hidden = table.data[:FIELDS, row].copy()
                self._assumptions.put(
                    Assumption(bind.task, bind.uid, bind.node, now + self._assumed_s, hidden)
                )
                self._cover(bind.task, self._placed(hidden, bind.node))

    def forget(self, uids: Iterable[str]) -> None:
        """Placements that did not come to be: the pods wait again."""
        for uid in uids:
            found = self._assumptions.of_uid(uid)
            if found is not None:
                self._assumptions.drop(found.key)
                self._cover(found.key, found.hidden)

    def expire(self, now: float) -> tuple[str, ...]:
        """Give up placements whose time is over; UIDs of their pods."""
        overdue = tuple(item.uid for item in self._assumptions.overdue(now))
        self.forget(overdue)
        return overdue

    def _cover(self, key: str, column: Int) -> None:
        found = self._state.find(key)
        assert found is not None
        table, row = found
        table.data[:FIELDS, row] = column
        self._state.dirty[key] = None
        self._state.frozen.pods_changed()
