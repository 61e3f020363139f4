"""Takes a delta's pods into the columns: numbers translated, newest version kept, placements in flight laid over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from vcray.api.devices import is_pod_note
from vcray.cache.assume import ASSUMED_S, Assumption, Assumptions
from vcray.cache.delta import FIELDS, Delta, Field
from vcray.cache.departures import STAYS, Departures
from vcray.cache.podcolumns import SHARD, PodColumns
from vcray.cache.promises import PROMISES
from vcray.cache.state import State
from vcray.cache.store import Tombstones
from vcray.cache.unanswered import Unanswered
from vcray.core.arrays import Int
from vcray.core.decisions import Commit, Evict, Preparation
from vcray.core.tables import MISSING, Notes, Status


class PodIntake:
    """Pods, and placements of them that the watch has not confirmed. `assumed_s`: how long those may stay."""

    def __init__(self, state: State, assumed_s: float = ASSUMED_S) -> None:
        self._state = state
        self._assumed_s = assumed_s
        self._tombstones = Tombstones()
        self._assumptions = Assumptions()
        self._departures = Departures()
        self.unanswered = Unanswered()

    def take(self, delta: Delta) -> None:
        """Take in rows; the newest version wins."""
        for key, version in delta.gone:
            found = self._state.find(key)
            known = found is not None and int(found[0].data[Field.VERSION, found[1]])
            if known and version and version < known:
                continue
            self._tombstones.put(key, version)
            self._remove(key)
        if delta.full:
            self._drop_missing(delta)
        if delta.keys:
            values = self._translated(delta)
            admitted = self._admitted(delta, values)
            if len(self._departures):
                for column in admitted:
                    status = int(values[Field.STATUS, column])
                    if self._departures.told(delta.keys[column], delta.uids[column], status):
                        values[Field.STATUS, column] = Status.RELEASING
            if len(self._assumptions):
                for column in admitted:
                    self._overlay(delta.keys[column], delta.uids[column], values, column)
            self._write(delta, values, admitted)

    def withdraw(self, keys: Iterable[str]) -> None:
        """Take out pods that never were."""
        for key in keys:
            self._remove(key)

    def _remove(self, key: str) -> None:
        self._assumptions.drop(key)
        self._departures.drop(key)
        found = self._state.find(key) if len(self._state.promises) else None
        if found is not None and self._state.promises.drop(found[0].uids[found[1]]):
            self._state.frozen.details.changed(PROMISES)
        self._state.remove_pod(key)

    def _drop_missing(self, delta: Delta) -> None:
        present = frozenset(delta.keys)
        for table in self._state.tables.values():
            rows = np.flatnonzero(table.used(SHARD) == delta.shard).tolist()
            for key in [table.keys[row] for row in rows]:
                if key not in present:
                    self._remove(key)

    def _translated(self, delta: Delta) -> Int:
        """The pod matrix in the merge's own numbers."""
        state = self._state
        resolver = state.resolver
        values = delta.values.copy()
        strings = state.string_numbers(delta.strings)
        forms, new = resolver.forms.add(delta.forms)
        state.need(name for form in new for name, _ in form.requests)
        for name in (Field.JOB, Field.NODE, Field.NOMINATED, Field.OWNER):
            values[name] = strings[values[name]]
        distinct, inverse = np.unique(values[Field.ROLE], return_inverse=True)
        roles = state.roles.numbers(delta.strings[number] for number in distinct.tolist())
        values[Field.ROLE] = roles[inverse]
        values[Field.FORM] = forms[values[Field.FORM]]
        claims = resolver.add_claims(delta.claims)
        state.need(resolver.attached(claims.tolist()))
        values[Field.CLAIMS] = claims[values[Field.CLAIMS]]
        values[Field.FACTS] = state.facts.numbers(delta.facts)[values[Field.FACTS]]
        values[Field.LABELS] = resolver.labels.numbers(delta.labels)[values[Field.LABELS]]
        return values

    def _admitted(self, delta: Delta, values: Int) -> list[int]:
        """Columns of the delta that are news; the others' label sets may be nobody's."""
        versions = values[Field.VERSION]
        old = np.full(len(delta.keys), -1, np.int64)
        missing = list(range(len(delta.keys)))
        for table in self._state.tables.values():
            rows = [table.row.get(delta.keys[column]) for column in missing]
            known = [column for column, row in zip(missing, rows, strict=True) if row is not None]
            old[known] = table.data[Field.VERSION, [row for row in rows if row is not None]]
            missing = [column for column, row in zip(missing, rows, strict=True) if row is None]
        stale = (versions != 0) & (versions < old)
        for column in missing if len(self._tombstones) else ():
            stale[column] = self._tombstones.covers(delta.keys[column], int(versions[column]))
        self._state.labels_left += values[Field.LABELS, stale].tolist()
        admitted: list[int] = np.flatnonzero(~stale).tolist()
        return admitted

    def _write(self, delta: Delta, values: Int, admitted: list[int]) -> None:
        state = self._state
        is_task: list[bool] = (state.job_row[values[Field.JOB]] != MISSING).tolist()
        shares = {task: [column for column in admitted if is_task[column] == task] for task in (True, False)}
        for task, columns in shares.items():  # all moves first: they shift rows
            here, there = state.tables[task], state.tables[not task]
            for column in columns if len(there) else ():
                if delta.keys[column] in there.row:
                    here.take(delta.keys[column], there)
        for task, columns in shares.items():
            if columns:
                self._write_table(state.tables[task], delta, values, columns)

    def _write_table(self, table: PodColumns, delta: Delta, values: Int, columns: list[int]) -> None:
        state = self._state
        rows = table.rows_for(
            [delta.keys[column] for column in columns], [delta.uids[column] for column in columns]
        )
        refs = state.resolver.labels.refs
        before = table.data[Field.LABELS, rows]
        before = before[before >= 0]
        np.add.at(refs, before, -1)
        np.add.at(refs, values[Field.LABELS, columns], 1)
        state.labels_left += before[refs[before] == 0].tolist()
        table.data[:FIELDS, rows] = values if len(columns) == values.shape[1] else values[:, columns]
        table.data[SHARD, rows] = delta.shard
        state.written[table is state.tables[True]] = rows
        state.frozen.pods_changed()

    # placements in flight

    def hidden(self) -> list[Int]:
        """Columns that lie under placements in flight."""
        return self._assumptions.hidden()

    def _overlay(self, key: str, uid: str, values: Int, column: int) -> None:
        """A pod with a placement in flight was told of anew: the placement goes on unless the watch knows better."""
        found = self._assumptions.get(key)
        if found is None:
            return
        waits = values[Field.STATUS, column] == Status.PENDING and values[Field.NODE, column] == 0
        if uid != found.uid or not waits:
            self._assumptions.drop(key)
            return
        hidden = values[:, column].copy()
        self._assumptions.put(replace(found, hidden=hidden))
        values[:, column] = self._placed(hidden, found.node, found.notes)

    def _placed(self, hidden: Int, node: str, notes: Notes) -> Int:
        """The column of a waiting pod as if it were on its way to the node."""
        column = hidden.copy()
        column[Field.NODE] = self._state.string(node)
        column[Field.STATUS] = Status.BINDING
        column[Field.FORM] = self._state.resolver.forms.settled(int(hidden[Field.FORM]))
        column[Field.OWNER] = 0
        if notes:
            column[Field.FACTS] = self._noted(int(hidden[Field.FACTS]), notes)
        return column

    def _noted(self, facts: int, notes: Notes) -> int:
        """The number of a pod's facts with annotations that its binding brings, those that are read of pods."""
        known = self._state.facts.values[facts]
        merged = {**dict(known.notes), **{key: value for key, value in notes if is_pod_note(key)}}
        return self._state.facts.number(replace(known, notes=tuple(sorted(merged.items()))))

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
                patience = self._assumed_s + (bind.before.timeout_s if bind.before else 0)
                self._assumptions.put(
                    Assumption(bind.task, bind.uid, bind.node, patience, now + patience, hidden, bind.notes)
                )
                if bind.before is not None:
                    self._promise(bind.uid, bind.before)
                self._cover(bind.task, self._placed(hidden, bind.node, bind.notes))

    def assume_gone(self, evictions: Iterable[Evict], now: float) -> None:
        """Count decided evictions from now on: their pods are Releasing. Pods that do not stay anyway are passed over."""
        for evict in evictions:
            found = self._state.find(evict.task)
            if found is None:
                continue
            table, row = found
            status = int(table.data[Field.STATUS, row])
            if table.uids[row] == evict.uid and status in STAYS:
                self._departures.put(evict.task, evict.uid, now + self._assumed_s, status)
                self._set_status(evict.task, Status.RELEASING)

    def _promise(self, uid: str, before: Preparation) -> None:
        self._state.promises.put(uid, before)
        self._state.frozen.details.changed(PROMISES)

    def forget(self, uids: Iterable[str]) -> None:
        """Placements and evictions that did not come to be: the pods wait again, or stay."""
        for uid in uids:
            stays = self._departures.take(uid)
            if stays is not None:
                self._set_status(*stays)
            if self._state.promises.drop(uid):
                self._state.frozen.details.changed(PROMISES)
            found = self._assumptions.of_uid(uid)
            if found is not None:
                self._assumptions.drop(found.key)
                self._cover(found.key, found.hidden)

    def answered(self, uids: Iterable[str], now: float) -> None:
        """The binder has done what it could: the time in which the watch must confirm it begins."""
        for uid in uids:
            self._assumptions.renew(uid, now)
            self._departures.renew(uid, now + self._assumed_s)

    def expire(self, now: float) -> tuple[str, ...]:
        """Give up placements and evictions whose time is over and that are not with the binder; UIDs of their pods."""
        late = [item.uid for item in self._assumptions.overdue(now)] + self._departures.overdue(now)
        overdue = tuple(uid for uid in late if uid not in self.unanswered.uids)
        self.forget(overdue)
        return overdue

    def _cover(self, key: str, column: Int) -> None:
        found = self._state.find(key)
        assert found is not None
        table, row = found
        table.data[:FIELDS, row] = column
        self._state.dirty[key] = None
        self._state.frozen.pods_changed()

    def _set_status(self, key: str, status: int) -> None:
        found = self._state.find(key)
        assert found is not None
        table, row = found
        column = table.data[:FIELDS, row].copy()
        column[Field.STATUS] = status
        self._cover(key, column)
